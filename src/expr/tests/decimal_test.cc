// Proves that numbers compare exactly: against a hand-made table of corners, and against integer
// arithmetic for many spellings of random numbers.
#include "expr/internal/decimal.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace cdc::expr {
namespace {

int compare(const std::string& a, const std::string& b) {
  const auto left = DecimalView::parse(a);
  const auto right = DecimalView::parse(b);
  EXPECT_TRUE(left.has_value()) << a;
  EXPECT_TRUE(right.has_value()) << b;
  if (!left || !right) {
    return -2;
  }
  const auto order = left->compare(*right);
  return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

TEST(Decimal, OrdersCornersAsPostgres) {
  // In ascending order; each differs from its neighbours.
  const std::vector<std::string> ascending{"-Infinity",
                                           "-1e131071",
                                           "-10",
                                           "-9.99",
                                           "-1",
                                           "-0.1",
                                           "-1e-16383",
                                           "0",
                                           "1e-16383",
                                           "0.1",
                                           "0.10000000000000000000000001",
                                           "1",
                                           "9.99",
                                           "10",
                                           "9007199254740992",
                                           "9007199254740993",
                                           "1e131071",
                                           "Infinity",
                                           "NaN"};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      const int expected = i < j ? -1 : (i > j ? 1 : 0);
      EXPECT_EQ(compare(ascending[i], ascending[j]), expected)
          << ascending[i] << " " << ascending[j];
    }
  }
}

TEST(Decimal, EqualsAcrossSpellings) {
  for (const char* spelling : {"100",
                               "+100",
                               "100.",
                               "100.000",
                               "0000100",
                               "1e2",
                               "1E+2",
                               "10.0e1",
                               ".1e3",
                               "1000e-1",
                               "0.00001e7"}) {
    EXPECT_EQ(compare(spelling, "100"), 0) << spelling;
    EXPECT_EQ(compare(std::string("-0") + std::string("00"), "0e999999999999999999999"), 0);
  }
  EXPECT_EQ(compare("inf", "INFINITY"), 0);
  EXPECT_EQ(compare("-inf", "-Infinity"), 0);
  EXPECT_EQ(compare("nan", "NaN"), 0);
}

TEST(Decimal, ComparesVeryLongNumbers) {
  const std::string digits(131'072, '7');
  EXPECT_EQ(compare(digits, digits + ".0"), 0);
  EXPECT_EQ(compare(digits, digits + ".0000000001"), -1);
  EXPECT_EQ(compare("-" + digits, "-" + digits + ".0000000001"), 1);
  EXPECT_EQ(compare("0." + digits, "0." + digits + "1"), -1);
}

TEST(Decimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"",
                           "-",
                           "+",
                           ".",
                           "e5",
                           "1e",
                           "1e+",
                           "1.2.3",
                           "1 ",
                           " 1",
                           "0x10",
                           "1_0",
                           "--1",
                           "infin",
                           "12abc",
                           "$5"}) {
    EXPECT_FALSE(DecimalView::parse(text)) << text;
  }
}

// value * 10^-places, spelled in one of several ways.
std::string spell(std::int64_t value, int places, std::mt19937& random) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  const auto wanted = static_cast<std::size_t>(places) + 1;
  if (digits.size() < wanted) {
    digits.insert(0, wanted - digits.size(), '0');
  }
  const std::string sign = value < 0 ? "-" : "";
  switch (random() % 3) {
    case 0:
      return sign + digits + "e-" + std::to_string(places);
    case 1:
      digits.insert(digits.size() - static_cast<std::size_t>(places), ".");
      return sign + "00" + digits;
    default:
      return sign + "0." + digits + "00E" +
             std::to_string(static_cast<int>(digits.size()) - places);
  }
}

TEST(Decimal, AgreesWithIntegerArithmetic) {
  std::mt19937 random(20240611);
  std::uniform_int_distribution<std::int64_t> value(-2000, 2000);
  std::uniform_int_distribution<int> places(0, 6);
  constexpr std::int64_t kScale[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
  for (int i = 0; i < 100'000; ++i) {
    const auto a = value(random);
    const auto b = value(random);
    const int places_a = places(random);
    const int places_b = places(random);
    const auto scaled_a = a * kScale[places_a];
    const auto scaled_b = b * kScale[places_b];
    const int expected = scaled_a < scaled_b ? -1 : (scaled_a > scaled_b ? 1 : 0);
    const std::string text_a = spell(a, places_a, random);
    const std::string text_b = spell(b, places_b, random);
    ASSERT_EQ(compare(text_a, text_b), expected) << text_a << " " << text_b;
  }
}

}  // namespace
}  // namespace cdc::expr
