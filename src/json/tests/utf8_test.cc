// Proves the check of UTF-8 against a decoder written from the definition, over every sequence of
// one to three bytes and the edges of four, and the mended string against a byte-wise model that
// replaces maximal subparts, for random bytes at every length around the sixteen-byte blocks.
#include "json/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "json/escape.h"
#include "json/tests/json_checker.h"

namespace cdc::json {
namespace {

std::string any_string(std::string_view text) {
  TextBuffer buffer;
  append_any_string(buffer, text);
  return std::string(buffer.view());
}

bool all_valid(std::string_view text) {
  return valid_utf8_prefix(text) == text.size();
}

std::string bytes_of(std::uint32_t value, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
  }
  return out;
}

// True when some continuation of `part` is one well-formed character that is longer than it.
bool is_beginning(const std::string& part) {
  constexpr std::array<std::string_view, 7> kTails = {
      "\x80", "\x80\x80", "\x80\x80\x80", "\xA0", "\xA0\x80", "\x90\x80", "\x90\x80\x80"};
  return std::ranges::any_of(kTails, [&part](std::string_view tail) {
    const std::string whole = part + std::string(tail);
    const auto lead = static_cast<std::uint8_t>(whole[0]);
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    return whole.size() == length && JsonChecker::is_utf8(whole);
  });
}

// The definition of Unicode 3.9: each maximal subpart becomes one U+FFFD.
std::string mended(const std::string& text) {
  std::string out;
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t take = 0;
    for (std::size_t length = 1; length <= 4 && i + length <= text.size() && take == 0; ++length) {
      if (JsonChecker::is_utf8(std::string_view(text).substr(i, length))) {
        take = length;
      }
    }
    if (take > 0) {
      out += text.substr(i, take);
      i += take;
      continue;
    }
    std::size_t subpart = 1;
    while (i + subpart < text.size() && is_beginning(text.substr(i, subpart + 1))) {
      ++subpart;
    }
    out += kReplacementCharacter;
    i += subpart;
  }
  return out;
}

TEST(Utf8, EverySequenceOfUpToThreeBytes) {
  for (std::size_t count = 1; count <= 3; ++count) {
    for (std::uint32_t value = 0; value < (1U << (8 * count)); ++value) {
      if (count == 3 && (value & 0xFFU) < 0xE0) {
        continue;  // a shorter sequence and then another, which the loops before have seen
      }
      const std::string text = bytes_of(value, count);
      ASSERT_EQ(all_valid(text), JsonChecker::is_utf8(text)) << std::hex << value;
    }
  }
}

TEST(Utf8, FourByteSequencesAtTheirEdges) {
  for (std::uint32_t lead = 0xEF; lead <= 0xFF; ++lead) {
    for (std::uint32_t second = 0; second <= 0xFF; ++second) {
      for (const std::uint32_t third : {0x7FU, 0x80U, 0xBFU, 0xC0U}) {
        for (const std::uint32_t fourth : {0x00U, 0x7FU, 0x80U, 0xBFU, 0xC0U, 0xFFU}) {
          const std::string text = bytes_of(lead | second << 8U | third << 16U | fourth << 24U, 4);
          ASSERT_EQ(all_valid(text), JsonChecker::is_utf8(text));
          ASSERT_EQ(any_string(text), quote(mended(text)));
        }
      }
    }
  }
}

TEST(Utf8, PrefixEndsBetweenCharacters) {
  const std::string text = "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80 and then some ASCII";
  ASSERT_TRUE(all_valid(text));
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string_view cut = std::string_view(text).substr(0, size);
    const std::size_t prefix = valid_utf8_prefix(cut);
    EXPECT_TRUE(JsonChecker::is_utf8(cut.substr(0, prefix)));
    EXPECT_LT(size - prefix, 4U);
    if (prefix < size) {
      EXPECT_EQ(broken_utf8_length(cut.substr(prefix)), size - prefix);
    }
  }
}

TEST(Utf8, BrokenSequencesBecomeReplacementCharacters) {
  EXPECT_EQ(any_string("a\xFFz"), "\"a\xEF\xBF\xBDz\"");
  EXPECT_EQ(any_string("\xC3"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(any_string("\xE2\x82"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(any_string("\xED\xA0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
  EXPECT_EQ(any_string("\xF0\x9F\x98\"\n"), "\"\xEF\xBF\xBD\\\"\\n\"");
  TextBuffer buffer;
  append_utf8(buffer, "{\"a\": \"\xE9t\xE9\"}");
  EXPECT_EQ(buffer.view(), "{\"a\": \"\xEF\xBF\xBDt\xEF\xBF\xBD\"}");
}

TEST(Utf8, ValidTextIsEscapedAsEscapeDoes) {
  for (std::size_t size = 0; size < 70; ++size) {
    for (std::size_t place = 0; place < size; ++place) {
      for (const std::string one :
           {"\"", "\\", "\n", "\x1F", "\x7F", "\xC3\xA9", "\xF0\x9F\x98\x80"}) {
        std::string text(size, 'x');
        text.replace(place, 1, one);
        ASSERT_EQ(any_string(text), quote(text)) << size << " " << place;
      }
    }
    ASSERT_EQ(any_string(std::string(size, 'y')), quote(std::string(size, 'y')));
  }
}

TEST(Utf8, AnyBytesGiveTheModelsString) {
  std::mt19937 random(20260101);
  const std::string alphabet =
      "ab\"\\\n\x01\x7F\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xED\xA0\xFF\xC0";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    const std::size_t size = random() % 40;
    const bool any = round % 2 == 0;
    for (std::size_t i = 0; i < size; ++i) {
      text.push_back(any ? static_cast<char>(random() & 0xFFU)
                         : alphabet[random() % alphabet.size()]);
    }
    const std::string json = any_string(text);
    ASSERT_EQ(json, quote(mended(text)));
    ASSERT_TRUE(JsonChecker::is_line(json));
  }
}

TEST(Utf8, LargeTextGrowsTheBufferByAboutItsSize) {
  std::string text(8U << 20U, 'a');
  text[17] = '\n';
  TextBuffer buffer;
  append_any_string(buffer, text);
  EXPECT_EQ(buffer.view(), quote(text));
  EXPECT_LT(buffer.capacity(), 2 * text.size());
}

TEST(Utf8, AppendAnyLeavesTheQuotesToTheCaller) {
  TextBuffer buffer;
  append_any(buffer, "a\"b");
  append_any(buffer, "");
  append_any(buffer, "c\xFF");
  EXPECT_EQ(buffer.view(), "a\\\"bc\xEF\xBF\xBD");
}

TEST(JsonChecker, TellsValuesFromWhatIsNot) {
  for (const std::string_view good : {"0",
                                      "-0",
                                      "1.50",
                                      "1e+20",
                                      "1E-05",
                                      "true",
                                      "false",
                                      "null",
                                      "\"\"",
                                      "\"\\u0000\\n\"",
                                      "[]",
                                      "{}",
                                      " [1, {\"a\": [ ]} ,\"b\"] ",
                                      "{\"\":{\"a\":1,\"a\":2}}",
                                      "\"\xC3\xA9\""}) {
    EXPECT_TRUE(JsonChecker::is_value(good)) << good;
  }
  for (const std::string_view bad :
       {"",     " ",     "01",       "+1",       "1.",         ".5",          "1e",     "-",
        "NaN",  "tru",   "nulll",    "\"",       "\"\\x\"",    "\"\\u12g4\"", "\"\t\"", "[1,]",
        "[,1]", "[1 2]", "{\"a\"}",  "{\"a\":}", "{a:1}",      "{\"a\":1,}",  "[}",     "{]",
        "[1]]", "1 1",   "\"\xC3\"", "[[]",      "\"a\" \"b\""}) {
    EXPECT_FALSE(JsonChecker::is_value(bad)) << bad;
  }
  EXPECT_TRUE(JsonChecker::is_value("[\n1]"));
  EXPECT_FALSE(JsonChecker::is_line("[\n1]"));
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_TRUE(JsonChecker::is_value(deep));
}

}  // namespace
}  // namespace cdc::json
