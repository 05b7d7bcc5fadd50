// Proves array text against what PostgreSQL 15 prints, each malformed form, and a round trip:
// random nested arrays are written as array_out writes them and must come back as the JSON they
// were made of.
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "json/escape.h"
#include "json/tests/json_checker.h"
#include "postgres/value_kind.h"

namespace cdc::postgres {
namespace {

std::string render(ValueKind element, std::string_view text, char delimiter = ',') {
  json::TextBuffer out;
  render_value({.kind = ValueKind::kArray, .element = element, .delimiter = delimiter}, text, out);
  std::string value(out.view());
  EXPECT_TRUE(json::JsonChecker::is_line(value)) << value;
  return value;
}

TEST(RenderArray, NumbersBooleansAndNulls) {
  EXPECT_EQ(render(ValueKind::kNumber, "{1,2,NULL}"), "[1,2,null]");
  EXPECT_EQ(render(ValueKind::kNumber, "{}"), "[]");
  EXPECT_EQ(render(ValueKind::kNumber, "{-1}"), "[-1]");
  EXPECT_EQ(render(ValueKind::kNumber, "{1.50,NaN,-Infinity,1e-05}"),
            "[1.50,\"NaN\",\"-Infinity\",1e-05]");
  EXPECT_EQ(render(ValueKind::kNumberText, "{1,NULL}"), "[\"1\",null]");
  EXPECT_EQ(render(ValueKind::kBoolean, "{t,f,NULL}"), "[true,false,null]");
  EXPECT_EQ(render(ValueKind::kNumber, "{12345678901234567890,1234567,1,12345678}"),
            "[12345678901234567890,1234567,1,12345678]");
}

TEST(RenderArray, EachDepthUpToPostgresBound) {
  EXPECT_EQ(render(ValueKind::kNumber, "{{1,2},{3,NULL}}"), "[[1,2],[3,null]]");
  EXPECT_EQ(render(ValueKind::kNumber, "{{{{{{1}}}}}}"), "[[[[[[1]]]]]]");
  EXPECT_EQ(render(ValueKind::kNumber, "{{{{{{{1}}}}}}}"), "\"{{{{{{{1}}}}}}}\"");
  EXPECT_EQ(render(ValueKind::kNumber, std::string(100'000, '{')),
            '"' + std::string(100'000, '{') + '"');
}

TEST(RenderArray, LowerBoundsAreDropped) {
  EXPECT_EQ(render(ValueKind::kNumber, "[2:4]={1,2,3}"), "[1,2,3]");
  EXPECT_EQ(render(ValueKind::kNumber, "[0:1][-2:-1]={{1,2},{3,4}}"), "[[1,2],[3,4]]");
  for (const std::string_view text : {"[2:4]",
                                      "[2:4]=",
                                      "[2:4]={1",
                                      "[2:4]{1}",
                                      "[a:4]={1}",
                                      "[2]={1}",
                                      "[2:]={1}",
                                      "[2:4={1}",
                                      "[",
                                      "[]={1}",
                                      "=[1]"}) {
    EXPECT_EQ(render(ValueKind::kNumber, text), json::quote(text));
  }
}

TEST(RenderArray, QuotedText) {
  EXPECT_EQ(render(ValueKind::kText, R"({a,"b c","d\"e","f\\g","","NULL","null",NULL,"{","a,b"})"),
            R"(["a","b c","d\"e","f\\g","","NULL","null",null,"{","a,b"])");
  EXPECT_EQ(render(ValueKind::kText, "{\"a\nb\"}"), "[\"a\\nb\"]");
  EXPECT_EQ(render(ValueKind::kText, R"({"\\\\\"","\\"})"), R"(["\\\\\"","\\"])");
  EXPECT_EQ(render(ValueKind::kText, R"({"\\x00ff"})"), R"(["\\x00ff"])");
  EXPECT_EQ(render(ValueKind::kText, R"x({"(1,\"a b\")"})x"), R"x(["(1,\"a b\")"])x");
  EXPECT_EQ(render(ValueKind::kText, "{\xC3\xA4,\"\xC3\xB6 \xC3\xBC\"}"),
            "[\"\xC3\xA4\",\"\xC3\xB6 \xC3\xBC\"]");
  EXPECT_EQ(render(ValueKind::kText, "{\xE4,\"\xF6 \\\"\xFC\"}"),
            "[\"\xEF\xBF\xBD\",\"\xEF\xBF\xBD \\\"\xEF\xBF\xBD\"]");
}

TEST(RenderArray, TimestampsAndDocuments) {
  EXPECT_EQ(render(ValueKind::kTimestamp, "{\"2026-01-02 03:04:05\",infinity}"),
            "[\"2026-01-02T03:04:05\",\"infinity\"]");
  EXPECT_EQ(render(ValueKind::kTimestampTz, "{\"2026-01-02 03:04:05+00\",NULL}"),
            "[\"2026-01-02T03:04:05Z\",null]");
  EXPECT_EQ(render(ValueKind::kJson, R"({"{\"a\": \"x\\\"y\"}","null","[1, 2]",1,"\"s\"",true})"),
            R"([{"a": "x\"y"},null,[1, 2],1,"s",true])");
  EXPECT_EQ(render(ValueKind::kJson, "{\"{\n}\"}"), "[{ }]");
  EXPECT_EQ(render(ValueKind::kJson, "{\"[\\\"\n\\\"]\"}"), "[\"[\\\"\\n\\\"]\"]");
  EXPECT_EQ(render(ValueKind::kJson, "{\"\",{},\"{\"}"), "[\"\",[],\"{\"]");
}

TEST(RenderArray, ElementsThatAreNotOfTheirKindAreStrings) {
  EXPECT_EQ(render(ValueKind::kNumber, "{1x,\"2\",\"NULL\",\"\\3\"}"), "[\"1x\",2,\"NULL\",\"3\"]");
  EXPECT_EQ(render(ValueKind::kBoolean, "{true}"), "[\"true\"]");
  EXPECT_EQ(render(ValueKind::kTimestamp, "{\"2026-01-02 03:04:05\\\"\"}"),
            "[\"2026-01-02 03:04:05\\\"\"]");
}

TEST(RenderArray, DelimiterIsTheElementTypes) {
  EXPECT_EQ(render(ValueKind::kText, "{(1,1),(0,0);(2,2),(0,0)}", ';'),
            "[\"(1,1),(0,0)\",\"(2,2),(0,0)\"]");
  EXPECT_EQ(render(ValueKind::kNumber, "{1;2}", ';'), "[1,2]");
  EXPECT_EQ(render(ValueKind::kNumber, "{1,2}", ';'), "[\"1,2\"]");
}

TEST(RenderArray, MalformedTextStaysWhole) {
  for (const std::string_view text :
       {"",       "1",    "{",      "}",        "{1",       "{1,",    "{1,}",   "{,1}",
        "{,}",    "{1}}", "{{1}",   "{1}x",     "x{1}",     "{1 }",   "{ 1}",   "{1, 2}",
        "{\"",    "{\"a", "{\"a\\", "{\"a\"b}", "{a\"b\"}", "{a\\b}", "{1}{2}", "{{1}{2}}",
        "{1{2}}", " {1}", "{1} ",   "{a\nb}",   "1 2 3"}) {
    EXPECT_EQ(render(ValueKind::kText, text), json::quote(text));
    EXPECT_EQ(render(ValueKind::kNumber, text), json::quote(text));
    EXPECT_EQ(render(ValueKind::kJson, text), json::quote(text));
  }
}

TEST(RenderArray, NothingOfAMalformedArrayRemains) {
  json::TextBuffer out;
  out.append("kept");
  render_value({.kind = ValueKind::kArray, .element = ValueKind::kNumber}, "{1,2,3", out);
  EXPECT_EQ(out.view(), "kept\"{1,2,3\"");
}

// A random array, as PostgreSQL prints it and as JSON.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  void generate(ValueKind element) {
    text_.clear();
    json_.clear();
    array(element, 1 + below(6));
  }

  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] const std::string& json() const { return json_; }

 private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

  void array(ValueKind element, unsigned depth) {
    text_ += '{';
    json_ += '[';
    const unsigned size = depth > 1 ? 1 + below(3) : 1 + below(6);
    for (unsigned i = 0; i < size; ++i) {
      if (i > 0) {
        text_ += ',';
        json_ += ',';
      }
      if (depth > 1) {
        array(element, depth - 1);
      } else {
        one(element);
      }
    }
    text_ += '}';
    json_ += ']';
  }

  void one(ValueKind kind) {
    if (below(6) == 0) {
      text_ += "NULL";
      json_ += "null";
      return;
    }
    if (kind == ValueKind::kNumber) {
      const std::string number = this->number();
      element(number);
      json_ += number;
    } else if (kind == ValueKind::kJson) {
      const std::string value = document(3);
      element(value);
      json_ += value;
    } else {
      const std::string value = words();
      element(value);
      json_ += json::quote(value);
    }
  }

  std::string number() {
    std::string out = below(2) == 0 ? "-" : "";
    out += static_cast<char>('1' + below(9));
    for (unsigned i = below(20); i > 0; --i) {
      out += static_cast<char>('0' + below(10));
    }
    return below(3) == 0 ? out + ".50" : out;
  }

  std::string words() {
    static constexpr std::string_view kPieces[] = {"a",
                                                   "NULL",
                                                   "null",
                                                   "\"",
                                                   "\\",
                                                   "{",
                                                   "}",
                                                   ",",
                                                   " ",
                                                   "\n",
                                                   "\t",
                                                   ";",
                                                   "[1:2]=",
                                                   "\v",
                                                   "\xC3\xA9",
                                                   "\xF0\x9F\x98\x80",
                                                   "longer words here"};
    std::string out;
    for (unsigned i = below(6); i > 0; --i) {
      out += kPieces[below(std::size(kPieces))];
    }
    return out;
  }

  std::string document(unsigned depth) {
    switch (below(depth > 0 ? 6 : 3)) {
      case 0:
        return number();
      case 1:
        return json::quote(words());
      case 2:
        return "null";
      case 3:
        return "[" + document(depth - 1) + ", " + document(depth - 1) + "]";
      default:
        return "{" + json::quote(words()) + ": " + document(depth - 1) + "}";
    }
  }

  // As array_out decides and escapes.
  void element(const std::string& value) {
    const bool spells_null = value.size() == 4 && (value == "NULL" || value == "null");
    if (!value.empty() && !spells_null &&
        value.find_first_of("{}\",\\ \t\n\v\f\r") == std::string::npos) {
      text_ += value;
      return;
    }
    text_ += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
      }
      text_ += c;
    }
    text_ += '"';
  }

  std::mt19937 random_;
  std::string text_;
  std::string json_;
};

TEST(RenderArray, GeneratedArraysComeBack) {
  Generator generator(20260102);
  for (int round = 0; round < 2'000; ++round) {
    for (const ValueKind kind : {ValueKind::kNumber, ValueKind::kText, ValueKind::kJson}) {
      generator.generate(kind);
      ASSERT_EQ(render(kind, generator.text()), generator.json()) << generator.text();
    }
  }
}

}  // namespace
}  // namespace cdc::postgres
