// Proves that LIKE means what SQL says: against a table, against a naive recursive matcher for
// short random patterns, and that a hostile pattern does not blow up.
#include "expr/internal/like.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace cdc::expr {
namespace {

bool like(std::string_view text, std::string_view pattern, char escape = '\\') {
  return LikePattern(pattern, escape, LikePattern::Case::kSensitive).matches(text);
}

TEST(Like, MatchesAsSql) {
  EXPECT_TRUE(like("", ""));
  EXPECT_TRUE(like("", "%"));
  EXPECT_FALSE(like("", "_"));
  EXPECT_TRUE(like("abc", "abc"));
  EXPECT_TRUE(like("abc", "a%"));
  EXPECT_TRUE(like("abc", "%c"));
  EXPECT_TRUE(like("abc", "_b_"));
  EXPECT_TRUE(like("abc", "%%%"));
  EXPECT_FALSE(like("abc", "c"));
  EXPECT_FALSE(like("abc", "b%"));
  EXPECT_FALSE(like("abc", "ABC"));
  EXPECT_TRUE(like("a\nb", "a_b"));
}

TEST(Like, EscapesWildcards) {
  EXPECT_TRUE(like("100%", "100\\%"));
  EXPECT_FALSE(like("1000", "100\\%"));
  EXPECT_TRUE(like("a\\b", "a\\\\b"));
  EXPECT_TRUE(like("a_b", "a!_b", '!'));
  EXPECT_FALSE(like("axb", "a!_b", '!'));
  EXPECT_TRUE(like("a\\x", "a\\_", LikePattern::kNoEscape));
  EXPECT_TRUE(LikePattern::ends_in_escape("abc\\", '\\'));
  EXPECT_FALSE(LikePattern::ends_in_escape("abc\\\\", '\\'));
  EXPECT_FALSE(LikePattern::ends_in_escape("abc\\", LikePattern::kNoEscape));
}

TEST(Like, CountsCharactersNotBytes) {
  EXPECT_TRUE(like("Zoë", "Zo_"));
  EXPECT_TRUE(like("😀", "_"));
  EXPECT_FALSE(like("😀", "__"));
  EXPECT_TRUE(like("ééa", "%__"));
  EXPECT_FALSE(like("ééa", "%____"));
}

TEST(Like, FoldsAsciiOnlyWhenAsked) {
  const LikePattern pattern("GRÜN%x", '\\', LikePattern::Case::kFold);
  EXPECT_TRUE(pattern.matches("grÜn 7 X"));
  EXPECT_FALSE(pattern.matches("grün 7 X"));
}

TEST(Like, HostilePatternEndsSoon) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) {
    pattern += "%a";
  }
  pattern += "%b";
  EXPECT_FALSE(like(std::string(20'000, 'a'), pattern));
}

bool naive(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) {
    return text.empty();
  }
  if (pattern[0] == '%') {
    return naive(text, pattern.substr(1)) || (!text.empty() && naive(text.substr(1), pattern));
  }
  return !text.empty() && (pattern[0] == '_' || pattern[0] == text[0]) &&
         naive(text.substr(1), pattern.substr(1));
}

TEST(Like, AgreesWithNaiveMatcher) {
  std::mt19937 random(7);
  const auto make = [&](std::string_view letters, std::size_t length_max) {
    std::string text;
    for (std::size_t n = random() % (length_max + 1); n > 0; --n) {
      text += letters[random() % letters.size()];
    }
    return text;
  };
  for (int i = 0; i < 100'000; ++i) {
    const std::string text = make("ab", 8);
    const std::string pattern = make("ab_%%", 7);
    ASSERT_EQ(like(text, pattern), naive(text, pattern)) << text << " LIKE " << pattern;
  }
}

}  // namespace
}  // namespace cdc::expr
