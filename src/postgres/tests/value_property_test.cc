// Proves that whatever bytes come in for whatever type, what goes out is one valid JSON value on
// one line: all short texts over the bytes that matter, random bytes, and real texts with a few
// bytes changed, cut or doubled.
#include <array>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "json/tests/json_checker.h"
#include "postgres/value_kind.h"

namespace cdc::postgres {
namespace {

constexpr std::array kKinds = {ValueKind::kText,
                               ValueKind::kNumber,
                               ValueKind::kBoolean,
                               ValueKind::kJson,
                               ValueKind::kTimestamp,
                               ValueKind::kTimestampTz,
                               ValueKind::kNumberText,
                               ValueKind::kBooleanText};

// The text in memory of exactly its size, so that a sanitizer sees each read beyond it.
void expect_lines(std::string_view text) {
  const auto exact = std::make_unique<char[]>(text.size());
  text.copy(exact.get(), text.size());
  const std::string_view view(exact.get(), text.size());
  json::TextBuffer out;
  for (const ValueKind kind : kKinds) {
    for (const ValueType type :
         {ValueType{.kind = kind},
          ValueType{.kind = ValueKind::kArray, .element = kind},
          ValueType{.kind = ValueKind::kArray, .element = kind, .delimiter = ';'}}) {
      out.clear();
      render_value(type, view, out);
      ASSERT_TRUE(json::JsonChecker::is_line(out.view()))
          << static_cast<int>(type.kind) << " " << static_cast<int>(kind) << ": " << text << "\n"
          << out.view();
    }
    static_cast<void>(operand_of({.kind = kind}, view));
  }
}

void expect_all_of(std::string_view alphabet, std::size_t size_max) {
  std::string text;
  const auto extend = [&](const auto& self) -> void {
    expect_lines(text);
    if (text.size() == size_max) {
      return;
    }
    for (const char c : alphabet) {
      text.push_back(c);
      self(self);
      text.pop_back();
    }
  };
  extend(extend);
}

TEST(RenderValue, AllShortTextsOverTheBytesThatMatter) {
  expect_all_of("{},\"1", 5);
  expect_all_of("{},\"\\1N ", 4);
  expect_all_of("[]{}:,\"1", 4);
  expect_all_of("-+.e01", 4);
  expect_all_of(std::string_view("\xC3\xA9\xFF\"\\\n\0", 7), 4);
}

TEST(RenderValue, RandomBytes) {
  std::mt19937 random(20260103);
  for (int round = 0; round < 5'000; ++round) {
    std::string text(random() % 80, ' ');
    for (char& c : text) {
      c = static_cast<char>(random() & 0xFFU);
    }
    expect_lines(text);
  }
}

TEST(RenderValue, DamagedTexts) {
  constexpr std::array<std::string_view, 14> kSeeds = {
      "9223372036854775807",
      "-1.7976931348623157e+308",
      "2026-01-02 03:04:05.123456",
      "294276-12-31 23:59:59.999999+05:53:28",
      "0044-03-15 12:00:00+00 BC",
      "{1,2,NULL}",
      "[0:1][-2:-1]={{1,2},{3,4}}",
      R"({a,"b c","d\"e","f\\g","","NULL",NULL,"{"})",
      R"({"{\"a\": \"x\\\"y\", \"b\": [1, null, true]}","null",1})",
      R"({"2026-01-02 03:04:05+00",infinity})",
      R"({"id": 1, "tags": ["a", "b\u00e9"], "none": null, "in": {"deep": [[[]]], "n": -1.5e-7}})",
      "{\n \"a\" : [ true , false ]\r\n}",
      "{\"(1,1),(0,0)\";(2,2)}",
      "gr\xC3\xBC\xC3\x9F dich, \xE2\x82\xAC \xF0\x9F\x98\x80 \"quoted\" \\ text"};
  std::mt19937 random(20260104);
  const auto below = [&random](std::size_t bound) {
    return random() % bound;
  };
  constexpr std::string_view kBytes = "{}[]\",;:\\ \n\r\t01eE+-.tfnNU\xC3\xA9\xFF";
  for (int round = 0; round < 12'000; ++round) {
    std::string text(kSeeds[below(kSeeds.size())]);
    for (std::size_t change = 1 + below(3); change > 0 && !text.empty(); --change) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = kBytes[below(kBytes.size())];
          break;
        case 1:
          text.erase(at, 1 + below(4));
          break;
        case 2:
          text.insert(at, 1, kBytes[below(kBytes.size())]);
          break;
        default:
          text += text.substr(at);
          break;
      }
    }
    expect_lines(text);
  }
}

}  // namespace
}  // namespace cdc::postgres
