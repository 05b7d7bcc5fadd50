// Proves which tests are said to follow from a condition, and that none is said to that does not:
// rows that a condition passes meet every one of its conjuncts.
#include "expr/condition_conjuncts.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cdc::expr {
namespace {

// "column kind value,value" of each, with the kinds as symbols.
std::vector<std::string> conjuncts(std::string_view text) {
  const auto condition = Condition::parse(text);
  EXPECT_TRUE(condition.has_value()) << text;
  constexpr std::string_view kSymbols[] = {"=", "<>", "<", "<=", ">", ">=", "null", "not null"};
  std::vector<std::string> shown;
  for (const ColumnTest& test : conjuncts_of(*condition)) {
    std::string one = condition->columns()[test.column].name + " ";
    one += kSymbols[static_cast<std::size_t>(test.kind)];
    for (const ColumnTest::Value& value : test.values) {
      one += " " + value.text;
    }
    shown.push_back(std::move(one));
  }
  return shown;
}

using Shown = std::vector<std::string>;

TEST(ConditionConjuncts, GivesTheOperandsOfOuterAnds) {
  EXPECT_EQ(conjuncts(""), Shown{});
  EXPECT_EQ(conjuncts("a = 1"), Shown{"a = 1"});
  EXPECT_EQ(conjuncts("a = 1 AND b <> 'x' AND c IS NULL"), (Shown{"a = 1", "b <> x", "c null"}));
  EXPECT_EQ(conjuncts("(a = 1 AND b < 2) AND (c >= 3)"), (Shown{"a = 1", "b < 2", "c >= 3"}));
  EXPECT_EQ(conjuncts("a BETWEEN 1 AND 9"), (Shown{"a >= 1", "a <= 9"}));
  EXPECT_EQ(conjuncts("a IN (1, 2) AND b"), Shown{"a = 1 2"});
}

TEST(ConditionConjuncts, TurnsComparisonsAround) {
  EXPECT_EQ(conjuncts("1 < a AND 2 >= b AND 3 = c AND true <> d"),
            (Shown{"a > 1", "b <= 2", "c = 3", "d <> t"}));
}

TEST(ConditionConjuncts, GivesNothingOfOrAndNot) {
  EXPECT_EQ(conjuncts("a = 1 OR b = 2"), Shown{});
  EXPECT_EQ(conjuncts("NOT a = 1"), Shown{});
  EXPECT_EQ(conjuncts("NOT (a = 1 AND b IS NULL)"), Shown{});
  EXPECT_EQ(conjuncts("a NOT IN (1)"), Shown{});
  EXPECT_EQ(conjuncts("a = b"), Shown{});
  EXPECT_EQ(conjuncts("1 = 1"), Shown{});
  EXPECT_EQ(conjuncts("NOT (NOT a = 1)"), Shown{});
  EXPECT_EQ(conjuncts("a LIKE 'x%' AND b = 2 AND (c = 3 OR d = 4)"), Shown{"b = 2"});
}

TEST(ConditionConjuncts, KnowsThatNullTestsAreNeverUnknown) {
  EXPECT_EQ(conjuncts("a IS NOT NULL"), Shown{"a not null"});
  EXPECT_EQ(conjuncts("NOT a IS NOT NULL"), Shown{"a null"});
  EXPECT_EQ(conjuncts("NOT (a IS NULL OR b IS NULL)"), Shown{});
}

}  // namespace
}  // namespace cdc::expr
