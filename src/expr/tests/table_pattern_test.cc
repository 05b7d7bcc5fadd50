// Proves that table names read as users write them, that quoting survives every character a name
// may hold, and that globs match as a naive matcher says, in bounded time.
#include "expr/table_pattern.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace cdc::expr {
namespace {

TablePattern parsed(std::string_view text) {
  auto pattern = TablePattern::parse(text);
  EXPECT_TRUE(pattern.has_value()) << text << ": " << (pattern ? "" : pattern.error().message);
  return pattern.value_or(TablePattern{});
}

TEST(TablePattern, ReadsPlainNames) {
  const auto bare = parsed("orders");
  EXPECT_FALSE(bare.has_schema());
  EXPECT_TRUE(bare.is_exact());
  EXPECT_EQ(bare.table(), "orders");
  EXPECT_TRUE(bare.matches("public", "orders"));
  EXPECT_TRUE(bare.matches("sales", "orders"));
  EXPECT_FALSE(bare.matches("public", "orders2"));

  const auto full = parsed("public.Orders");
  EXPECT_EQ(full.schema(), "public");
  EXPECT_EQ(full.table(), "Orders");
  EXPECT_TRUE(full.matches("public", "Orders"));
  EXPECT_FALSE(full.matches("public", "orders"));
  EXPECT_FALSE(full.matches("sales", "Orders"));
}

TEST(TablePattern, ReadsQuotedNames) {
  EXPECT_TRUE(parsed(R"(public."We""ird.Name")").matches("public", R"(We"ird.Name)"));
  EXPECT_TRUE(parsed(R"("a.b"."c.d")").matches("a.b", "c.d"));
  EXPECT_TRUE(parsed(R"(" x ")").matches("any", " x "));
  const auto star = parsed(R"(public."*")");
  EXPECT_TRUE(star.is_exact());
  EXPECT_TRUE(star.matches("public", "*"));
  EXPECT_FALSE(star.matches("public", "orders"));
  EXPECT_TRUE(parsed("日本.表😀").matches("日本", "表😀"));
}

TEST(TablePattern, ReadsGlobs) {
  EXPECT_TRUE(parsed("*").matches("any", "thing.at-all"));
  EXPECT_FALSE(parsed("*").is_exact());
  EXPECT_TRUE(parsed("sales.*").matches("sales", "orders"));
  EXPECT_FALSE(parsed("sales.*").matches("sale", "orders"));
  EXPECT_TRUE(parsed("*.orders_2*").matches("x", "orders_2024"));
  EXPECT_FALSE(parsed("*.orders_2*").matches("x", "orders_1"));
  EXPECT_TRUE(parsed(R"(*."a*b")").matches("x", "a*b"));
  EXPECT_FALSE(parsed(R"(*."a*b")").matches("x", "aab"));
  EXPECT_TRUE(parsed("*_2024_*").matches("p", "orders_2024_q1"));
}

TEST(TablePattern, RefusesMalformedNames) {
  for (const std::string& text : std::vector<std::string>{"",
                                                          ".",
                                                          "a.",
                                                          ".a",
                                                          "a..b",
                                                          "a.b.c",
                                                          "\"a",
                                                          "\"\"",
                                                          "a\"b",
                                                          "a\"b\"",
                                                          "\"a\"b",
                                                          "\"a\".",
                                                          " a",
                                                          "a ",
                                                          "a. b",
                                                          "a\tb\n",
                                                          std::string("a\0b", 3),
                                                          "\"a\"\"",
                                                          std::string(1025, 'a')}) {
    const auto pattern = TablePattern::parse(text);
    ASSERT_FALSE(pattern.has_value()) << text;
    EXPECT_EQ(pattern.error().code, Errc::kConfigInvalid);
    EXPECT_FALSE(pattern.error().message.empty());
  }
}

TEST(TablePattern, QuotedNamesRoundTrip) {
  std::mt19937 random(3);
  constexpr std::string_view kLetters = "ab\".* A\t,'\\;";
  for (int i = 0; i < 20'000; ++i) {
    std::string names[2];
    for (std::string& name : names) {
      for (std::size_t n = 1 + random() % 6; n > 0; --n) {
        name += kLetters[random() % kLetters.size()];
      }
    }
    const auto pattern = TablePattern::parse(quote_table(names[0], names[1]));
    ASSERT_TRUE(pattern.has_value()) << names[0] << "|" << names[1];
    ASSERT_TRUE(pattern->is_exact());
    ASSERT_EQ(pattern->schema(), names[0]);
    ASSERT_EQ(pattern->table(), names[1]);
    ASSERT_TRUE(pattern->matches(names[0], names[1]));
  }
}

TEST(Glob, MatchesWholeText) {
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("outbox.*", "outbox.orders"));
  EXPECT_FALSE(glob_matches("outbox.*", "my.outbox.orders"));
  EXPECT_TRUE(glob_matches("**a**", "a"));
}

TEST(Glob, HostilePatternEndsSoon) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) {
    pattern += "a*";
  }
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(20'000, 'a')));
}

bool naive(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) {
    return text.empty();
  }
  if (pattern[0] == '*') {
    return naive(pattern.substr(1), text) || (!text.empty() && naive(pattern, text.substr(1)));
  }
  return !text.empty() && pattern[0] == text[0] && naive(pattern.substr(1), text.substr(1));
}

TEST(Glob, AgreesWithNaiveMatcher) {
  std::mt19937 random(11);
  const auto make = [&](std::string_view letters, std::size_t length_max) {
    std::string text;
    for (std::size_t n = random() % (length_max + 1); n > 0; --n) {
      text += letters[random() % letters.size()];
    }
    return text;
  };
  for (int i = 0; i < 100'000; ++i) {
    const std::string pattern = make("ab**", 7);
    const std::string text = make("ab", 8);
    ASSERT_EQ(glob_matches(pattern, text), naive(pattern, text)) << pattern << " " << text;
  }
}

}  // namespace
}  // namespace cdc::expr
