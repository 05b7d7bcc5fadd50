// Proves the JSON of single values against a table of what PostgreSQL 15 prints, with the texts
// that are near to a form but not of it, and what a `where` condition sees of the same values.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/format.h"
#include "json/tests/json_checker.h"
#include "postgres/value_kind.h"

namespace cdc::postgres {
namespace {

std::string render(ValueType type, std::string_view text) {
  json::TextBuffer out;
  out.append("before");
  render_value(type, text, out);
  EXPECT_EQ(out.view().substr(0, 6), "before");
  const std::string value(out.view(6));
  EXPECT_TRUE(json::JsonChecker::is_line(value)) << value;
  return value;
}

std::string render(ValueKind kind, std::string_view text) {
  return render(ValueType{.kind = kind}, text);
}

std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

TEST(RenderNumber, KeepsEachDigit) {
  for (const std::string_view text : {"0",
                                      "-0",
                                      "7",
                                      "-32768",
                                      "12345678",
                                      "123456789",
                                      "2147483647",
                                      "-9223372036854775808",
                                      "9223372036854775807",
                                      "1.50",
                                      "0.00001",
                                      "-0.5",
                                      "1000000000000000000000000000000",
                                      "1e+20",
                                      "1e-05",
                                      "0.1",
                                      "3.4028235e+38",
                                      "1e-45",
                                      "5e-324",
                                      "1e+15",
                                      "1.7976931348623157e+308",
                                      "0.0000000000000000000001"}) {
    EXPECT_EQ(render(ValueKind::kNumber, text), text);
  }
}

TEST(RenderNumber, LongestNumericPassesVerbatim) {
  const std::string whole = "-9" + std::string(131'071, '1');
  const std::string both = whole + "." + std::string(16'383, '7');
  EXPECT_EQ(render(ValueKind::kNumber, whole), whole);
  EXPECT_EQ(render(ValueKind::kNumber, both), both);
  EXPECT_EQ(render(ValueKind::kNumber, both + "x"), in_quotes(both + "x"));
}

TEST(RenderNumber, WhatIsNoJsonNumberIsAString) {
  for (const std::string_view text : {"NaN",       "Infinity",
                                      "-Infinity", "",
                                      "-",         "+1",
                                      "01",        "-01",
                                      "00000000",  "012345678901234567",
                                      "1.",        ".5",
                                      "1.e5",      "1e",
                                      "1e+",       "1e5.5",
                                      "0x10",      "1_000",
                                      " 1",        "1 ",
                                      "1,5",       "1-1",
                                      "--1",       "1.5.5",
                                      "12a",       "1234567a",
                                      "12345678a", "123456789012345:",
                                      "1234567/"}) {
    EXPECT_EQ(render(ValueKind::kNumber, text), in_quotes(text));
  }
  EXPECT_EQ(render(ValueKind::kNumber, "1\n"), "\"1\\n\"");
}

TEST(RenderNumber, EveryLengthOfDigitsWithEveryByteWrong) {
  for (std::size_t size = 1; size <= 40; ++size) {
    std::string digits(size, '0');
    for (std::size_t i = 0; i < size; ++i) {
      digits[i] = static_cast<char>('1' + i % 9);
    }
    ASSERT_EQ(render(ValueKind::kNumber, digits), digits);
    ASSERT_EQ(render(ValueKind::kNumber, "-" + digits), "-" + digits);
    ASSERT_EQ(render(ValueKind::kNumber, "0." + digits), "0." + digits);
    ASSERT_EQ(render(ValueKind::kNumber, "1e-" + digits), "1e-" + digits);
    for (std::size_t place = 0; place < size; ++place) {
      for (const char wrong : {'/', ':', 'p', '\x10', '\x7F', '\xB0'}) {
        std::string text = digits;
        text[place] = wrong;
        ASSERT_EQ(render(ValueKind::kNumber, text).front(), '"') << text;
      }
    }
  }
}

TEST(RenderNumber, AsTextWhenTheOptionsSaySo) {
  EXPECT_EQ(render(ValueKind::kNumberText, "9223372036854775807"), "\"9223372036854775807\"");
  EXPECT_EQ(render(ValueKind::kNumberText, "1.50"), "\"1.50\"");
}

TEST(RenderBoolean, TrueFalseAndAnythingElse) {
  EXPECT_EQ(render(ValueKind::kBoolean, "t"), "true");
  EXPECT_EQ(render(ValueKind::kBoolean, "f"), "false");
  EXPECT_EQ(render(ValueKind::kBoolean, "true"), "\"true\"");
  EXPECT_EQ(render(ValueKind::kBoolean, ""), "\"\"");
  EXPECT_EQ(render(ValueKind::kBooleanText, "t"), "\"t\"");
}

TEST(RenderText, KeepsPostgresText) {
  for (const std::string_view text : {"",
                                      "plain",
                                      "2026-01-02",
                                      "03:04:05.6",
                                      "1 year 2 mons 3 days 04:05:06.7",
                                      "$12.34",
                                      "0101",
                                      "abc  ",
                                      "(1,a)",
                                      "[1,5)"}) {
    EXPECT_EQ(render(ValueKind::kText, text), in_quotes(text));
  }
  EXPECT_EQ(render(ValueKind::kText, "(1,\"a b\")"), "\"(1,\\\"a b\\\")\"");
  EXPECT_EQ(render(ValueKind::kText, "\\x00ff"), "\"\\\\x00ff\"");
  EXPECT_EQ(render(ValueKind::kText, "a\r\n\"\t\xC3\xA9"), "\"a\\r\\n\\\"\\t\xC3\xA9\"");
  EXPECT_EQ(render(ValueKind::kText, "\xE9t\xE9"), "\"\xEF\xBF\xBDt\xEF\xBF\xBD\"");
}

struct Case {
  std::string_view text;
  std::string_view json;
};

TEST(RenderTimestamp, Iso8601WithoutZone) {
  for (const auto& [text, json] : {
           Case{"2026-01-02 03:04:05", "2026-01-02T03:04:05"},
           Case{"2026-01-02 03:04:05.6", "2026-01-02T03:04:05.6"},
           Case{"2026-01-02 03:04:05.123456", "2026-01-02T03:04:05.123456"},
           Case{"0001-01-01 00:00:00", "0001-01-01T00:00:00"},
           Case{"10000-01-01 00:00:00", "10000-01-01T00:00:00"},
           Case{"294276-12-31 23:59:59.999999", "294276-12-31T23:59:59.999999"},
           Case{"infinity", "infinity"},
           Case{"-infinity", "-infinity"},
           Case{"0044-03-15 12:00:00 BC", "0044-03-15 12:00:00 BC"},
           Case{"4713-01-01 00:00:00.5 BC", "4713-01-01 00:00:00.5 BC"},
       }) {
    EXPECT_EQ(render(ValueKind::kTimestamp, text), in_quotes(json));
  }
}

TEST(RenderTimestampTz, UtcEndsInZAndOtherOffsetsStay) {
  for (const auto& [text, json] : {
           Case{"2026-01-02 03:04:05+00", "2026-01-02T03:04:05Z"},
           Case{"2026-01-02 03:04:05.6+00", "2026-01-02T03:04:05.6Z"},
           Case{"294276-12-31 23:59:59.999999+00", "294276-12-31T23:59:59.999999Z"},
           Case{"2026-01-02 08:34:05+05:30", "2026-01-02T08:34:05+05:30"},
           Case{"2026-01-02 00:04:05-03", "2026-01-02T00:04:05-03"},
           Case{"1900-01-02 03:23:37+00:19:32", "1900-01-02T03:23:37+00:19:32"},
           Case{"infinity", "infinity"},
           Case{"-infinity", "-infinity"},
           Case{"0044-03-15 12:00:00+00 BC", "0044-03-15 12:00:00+00 BC"},
           Case{"0044-03-15 17:53:28+05:53:28 BC", "0044-03-15 17:53:28+05:53:28 BC"},
       }) {
    EXPECT_EQ(render(ValueKind::kTimestampTz, text), in_quotes(json));
  }
}

TEST(RenderTimestamp, OtherFormsStayText) {
  for (const std::string_view text : {"",
                                      "2026",
                                      "2026-01-02",
                                      "2026-01-02 03:04",
                                      "2026-01-02T03:04:05",
                                      "2026-01-02 03:04:05.",
                                      "2026-01-02 03:04:05.6 ",
                                      "2026-01-02 03:04:05+00",
                                      "226-01-02 03:04:05",
                                      "02/01/2026 03:04:05",
                                      "Fri Jan 02 03:04:05 2026",
                                      "2026-01-02 03:04:0x",
                                      "2026-01-02 03:04:05,6",
                                      "2026-1-02 03:04:055"}) {
    EXPECT_EQ(render(ValueKind::kTimestamp, text), in_quotes(text));
  }
  for (const std::string_view text : {"2026-01-02 03:04:05",
                                      "2026-01-02 03:04:05+",
                                      "2026-01-02 03:04:05+0",
                                      "2026-01-02 03:04:05+000",
                                      "2026-01-02 03:04:05+00:0",
                                      "2026-01-02 03:04:05 UTC",
                                      "2026-01-02 03:04:05+05:30:",
                                      "2026-01-02 03:04:05+05.30",
                                      "2026-01-02 03:04:05+05:30:15:45",
                                      "2026-01-02 03:04:05*00"}) {
    EXPECT_EQ(render(ValueKind::kTimestampTz, text), in_quotes(text));
  }
}

TEST(RenderTimestamp, EachByteOfTheFormCounts) {
  const std::string good = "2026-01-02 03:04:05";
  for (std::size_t place = 0; place < good.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      const bool digit = good[place] >= '0' && good[place] <= '9';
      const bool fits = digit ? c >= '0' && c <= '9' : c == good[place];
      std::string text = good;
      text[place] = c;
      const bool taken = render(ValueKind::kTimestamp, text).find('T') != std::string::npos;
      ASSERT_EQ(taken, fits || c == 'T') << place << " " << byte;
    }
  }
}

TEST(RenderJson, EmbedsTheDocumentAsItIs) {
  for (const std::string_view text : {"{\"a\": 1.50, \"b\": 2}",
                                      "{\"a\":1,\"a\":2}",
                                      "[]",
                                      "{}",
                                      "[[], {}, [{}]]",
                                      "null",
                                      "true",
                                      "false",
                                      "-1e5",
                                      "\"x\"",
                                      " \t1 ",
                                      "\"\\u0000\\ud800\\/\"",
                                      "[123456789012345678901234567890.5]",
                                      "{\"\": {\"\": {\"\": [1, \"\xC3\xA9\\\"\\\\\"]}}}"}) {
    EXPECT_EQ(render(ValueKind::kJson, text), text);
  }
}

TEST(RenderJson, LineBreaksBetweenTokensBecomeSpaces) {
  EXPECT_EQ(render(ValueKind::kJson, "{\n  \"a\":\t1,\r\n\"b\" \n:\n[\n]\n}\n"),
            "{   \"a\":\t1,  \"b\"  : [ ] } ");
  EXPECT_EQ(render(ValueKind::kJson, "\n\"a\\nb\"\r"), " \"a\\nb\" ");
}

TEST(RenderJson, WhatIsNoDocumentIsAString) {
  EXPECT_EQ(render(ValueKind::kJson, ""), "\"\"");
  EXPECT_EQ(render(ValueKind::kJson, "{\"a\": 1"), "\"{\\\"a\\\": 1\"");
  for (const std::string_view text :
       {" ",   "{",    "[",   "]",   "[1,]",      "[,1]", "[1 2]", "{1:2}", "{a:1}",
        "[}",  "[1]]", "1 1", "nul", "truefalse", "NaN",  "01",    "1.",    "-",
        "[1}", "+1",   "tru", "t",   "f",         "n",    "nulls", "[1],",  "'a'"}) {
    EXPECT_EQ(render(ValueKind::kJson, text), in_quotes(text));
  }
  for (const std::string_view text : {"{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "\"",
                                      "\"\\",
                                      "\"\\u12",
                                      "\"\\u12g4\"",
                                      "\"\\x\"",
                                      "\"a\nb\"",
                                      "\"a\tb\"",
                                      "{\"a\" 1}",
                                      "{\"a\":1 \"b\":2}"}) {
    EXPECT_EQ(render(ValueKind::kJson, text).substr(0, 1), "\"");
    EXPECT_NE(render(ValueKind::kJson, text), text);
  }
  EXPECT_EQ(render(ValueKind::kJson, std::string_view("1\0", 2)), "\"1\\u0000\"");
  EXPECT_EQ(render(ValueKind::kJson, std::string_view("\"a\0b\"", 5)), "\"\\\"a\\u0000b\\\"\"");
}

TEST(RenderJson, BrokenUtf8InsideStringsIsReplaced) {
  EXPECT_EQ(render(ValueKind::kJson, "{\"\xE9t\xE9\": [\"\xC3\"]}"),
            "{\"\xEF\xBF\xBDt\xEF\xBF\xBD\": [\"\xEF\xBF\xBD\"]}");
  std::string text = "[\"" + std::string(100'000, '\xFF') + "\"]";
  std::string want = "[\"";
  for (int i = 0; i < 100'000; ++i) {
    want += "\xEF\xBF\xBD";
  }
  EXPECT_EQ(render(ValueKind::kJson, text), want + "\"]");
  EXPECT_EQ(render(ValueKind::kJson, "\xC3\xA9"), "\"\xC3\xA9\"");
}

TEST(RenderJson, NestingIsBoundedByTheTextAlone) {
  constexpr std::size_t kDeep = 300'000;
  std::string text;
  std::string end;
  for (std::size_t i = 0; i < kDeep; ++i) {
    const bool object = i % 3 == 0;
    text += object ? "{\"k\":" : "[";
    end += object ? '}' : ']';
  }
  text += "1" + std::string(end.rbegin(), end.rend());
  EXPECT_EQ(render(ValueKind::kJson, text), text);
  text[text.size() - kDeep / 2] ^= ']' ^ '}';
  EXPECT_EQ(render(ValueKind::kJson, text).front(), '"');
}

TEST(RenderJson, StringsOfEveryLengthAroundTheBlocks) {
  for (std::size_t size = 0; size < 70; ++size) {
    const std::string body(size, 'x');
    const std::string good = cdc::format("[\"{0}\",\"{0}\\\"\"]", body);
    ASSERT_EQ(render(ValueKind::kJson, good), good);
    ASSERT_EQ(render(ValueKind::kJson, "\"" + body).front(), '"');
    ASSERT_NE(render(ValueKind::kJson, "\"" + body), "\"" + body);
  }
}

TEST(OperandOf, SeesWhatTheRenderingOptionsHide) {
  using Kind = expr::Operand::Kind;
  const auto kind_of = [](ValueKind kind, std::string_view text) {
    const expr::Operand operand = operand_of({.kind = kind}, text);
    EXPECT_EQ(operand.text, text);
    return operand.kind;
  };
  for (const ValueKind kind : {ValueKind::kNumber, ValueKind::kNumberText}) {
    for (const std::string_view text : {"1", "-1.50", "1e+20", "NaN", "Infinity", "-Infinity"}) {
      EXPECT_EQ(kind_of(kind, text), Kind::kNumber) << text;
    }
    EXPECT_EQ(kind_of(kind, "one"), Kind::kText);
  }
  for (const ValueKind kind : {ValueKind::kBoolean, ValueKind::kBooleanText}) {
    EXPECT_EQ(kind_of(kind, "t"), Kind::kBoolean);
    EXPECT_EQ(kind_of(kind, "f"), Kind::kBoolean);
    EXPECT_EQ(kind_of(kind, "x"), Kind::kText);
  }
  for (const ValueKind kind : {ValueKind::kText,
                               ValueKind::kJson,
                               ValueKind::kTimestamp,
                               ValueKind::kTimestampTz,
                               ValueKind::kArray}) {
    EXPECT_EQ(kind_of(kind, "1"), Kind::kText);
  }
}

}  // namespace
}  // namespace cdc::postgres
