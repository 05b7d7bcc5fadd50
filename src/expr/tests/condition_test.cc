// Proves what conditions mean, case by case, and that every malformed one is refused with the place
// of its fault. condition_property_test.cc compares random conditions with a naive evaluator.
#include "expr/condition.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace cdc::expr {
namespace {

using Row = std::map<std::string, Operand>;

Operand text(std::string_view value) {
  return {.kind = Operand::Kind::kText, .text = value};
}

Operand number(std::string_view value) {
  return {.kind = Operand::Kind::kNumber, .text = value};
}

Operand boolean(bool value) {
  return {.kind = Operand::Kind::kBoolean, .text = value ? "t" : "f"};
}

Operand null() {
  return {.kind = Operand::Kind::kNull, .text = {}};
}

bool holds(std::string_view where, const Row& row) {
  const auto condition = Condition::parse(where);
  EXPECT_TRUE(condition.has_value())
      << where << ": " << (condition ? "" : condition.error().message);
  if (!condition) {
    return false;
  }
  std::vector<Operand> values;
  for (const ColumnRef& column : condition->columns()) {
    const std::string prefix = column.side == Side::kBefore  ? "before."
                               : column.side == Side::kAfter ? "after."
                                                             : "";
    const auto found = row.find(prefix + column.name);
    values.push_back(found == row.end() ? Operand{} : found->second);
  }
  return condition->evaluate(values);
}

std::string fault(std::string_view where) {
  const auto condition = Condition::parse(where);
  return condition ? "accepted" : condition.error().to_string();
}

const Row& sample() {
  static const Row kRow{{"status", text("paid")},
                        {"amount", number("100.50")},
                        {"big", number("9007199254740993")},
                        {"ratio", number("NaN")},
                        {"active", boolean(true)},
                        {"closed", boolean(false)},
                        {"note", null()},
                        {"code", text("10")},
                        {"day", text("2024-05-06")},
                        {"Mixed Case", text("yes")},
                        {"before.status", text("new")},
                        {"after.status", text("paid")}};
  return kRow;
}

TEST(Condition, EmptyIsAlwaysTrue) {
  for (const char* where : {"", "  ", "\n\t"}) {
    const auto condition = Condition::parse(where);
    ASSERT_TRUE(condition.has_value());
    EXPECT_TRUE(condition->always_true());
    EXPECT_TRUE(condition->evaluate({}));
  }
}

TEST(Condition, ComparesText) {
  EXPECT_TRUE(holds("status = 'paid'", sample()));
  EXPECT_TRUE(holds("status != 'archived'", sample()));
  EXPECT_TRUE(holds("status <> 'archived'", sample()));
  EXPECT_FALSE(holds("status = 'PAID'", sample()));
  EXPECT_TRUE(holds("'paid' = status", sample()));
  EXPECT_TRUE(holds("status > 'p' and status <= 'paid'", sample()));
  EXPECT_TRUE(holds("day >= '2024-01-01' AND day < '2025-01-01'", sample()));
  EXPECT_TRUE(holds("status = 'it''s' OR status = 'paid'", sample()));
}

TEST(Condition, ComparesNumbersExactly) {
  EXPECT_TRUE(holds("amount = 100.5", sample()));
  EXPECT_TRUE(holds("amount > 99", sample()));
  EXPECT_FALSE(holds("amount > 1.01e2", sample()));
  EXPECT_TRUE(holds("amount > -5 AND amount > - 5 AND amount < +1e3 AND amount > .5", sample()));
  EXPECT_FALSE(holds("big = 9007199254740992", sample()));
  EXPECT_TRUE(holds("big > 9007199254740992", sample()));
}

TEST(Condition, QuotedNumberFollowsANumberColumn) {
  EXPECT_TRUE(holds("amount > '99'", sample()));
  EXPECT_TRUE(holds("amount = '1005e-1'", sample()));
  EXPECT_FALSE(holds("amount = 'many'", sample()));
}

TEST(Condition, TextColumnIsNeverReadAsANumber) {
  EXPECT_TRUE(holds("code < 9", sample()));
  EXPECT_TRUE(holds("code = 10", sample()));
  EXPECT_FALSE(holds("code = 10.0", sample()));
}

TEST(Condition, NotANumberIsGreatestAndEqualToItself) {
  EXPECT_TRUE(holds("ratio = 'NaN'", sample()));
  EXPECT_TRUE(holds("ratio > 'Infinity'", sample()));
  EXPECT_TRUE(holds("ratio > 1e300", sample()));
  EXPECT_TRUE(holds("amount < 'Infinity' AND amount > '-Infinity'", sample()));
}

TEST(Condition, ComparesBooleans) {
  for (const char* where : {"active = TRUE",
                            "active = 't'",
                            "active = 'true'",
                            "active != false",
                            "active",
                            "NOT closed",
                            "active IS TRUE",
                            "closed IS NOT TRUE",
                            "closed IS FALSE",
                            "active > closed",
                            "active IN (true)",
                            "note IS UNKNOWN",
                            "(active)",
                            "TRUE",
                            "NOT FALSE"}) {
    EXPECT_TRUE(holds(where, sample())) << where;
  }
  for (const char* where : {"active = FALSE",
                            "active = 'f'",
                            "closed",
                            "note",
                            "NOT note",
                            "FALSE",
                            "active = 1",
                            "status",
                            "note IS NOT UNKNOWN"}) {
    EXPECT_FALSE(holds(where, sample())) << where;
  }
}

TEST(Condition, NullAndMissingAreUnknown) {
  for (const char* column : {"note", "no_such_column"}) {
    for (const char* test : {" = 'x'",
                             " != 'x'",
                             " > 1",
                             " IN ('x')",
                             " NOT IN ('x')",
                             " LIKE '%'",
                             " NOT LIKE '%'",
                             " BETWEEN 1 AND 2",
                             " NOT BETWEEN 1 AND 2"}) {
      const std::string where = std::string(column) + test;
      EXPECT_FALSE(holds(where, sample())) << where;
      EXPECT_FALSE(holds("NOT (" + where + ")", sample())) << where;
      EXPECT_TRUE(holds(where + " OR status = 'paid'", sample())) << where;
    }
    EXPECT_TRUE(holds(std::string(column) + " IS NULL", sample()));
    EXPECT_FALSE(holds(std::string(column) + " IS NOT NULL", sample()));
    EXPECT_TRUE(holds(std::string(column) + " IS DISTINCT FROM 'x'", sample()));
    EXPECT_TRUE(holds(std::string(column) + " IS NOT DISTINCT FROM note", sample()));
  }
}

TEST(Condition, BetweenWithNullBoundCanStillBeFalse) {
  // 200 <= amount is false, so the unknown upper bound does not matter.
  EXPECT_TRUE(holds("amount NOT BETWEEN 200 AND note", sample()));
  EXPECT_FALSE(holds("amount NOT BETWEEN 50 AND note", sample()));
}

TEST(Condition, ListsRangesAndPatterns) {
  EXPECT_TRUE(holds("status IN ('new', 'paid')", sample()));
  EXPECT_TRUE(holds("status NOT IN ('new', 'lost')", sample()));
  EXPECT_TRUE(holds("amount IN (1, 100.500, 3)", sample()));
  EXPECT_TRUE(holds("amount BETWEEN 100 AND 101", sample()));
  EXPECT_TRUE(holds("amount NOT BETWEEN 101 AND 200 AND status = 'paid'", sample()));
  EXPECT_TRUE(holds("status LIKE 'p%' AND status NOT LIKE '%x%'", sample()));
  EXPECT_TRUE(holds("status ILIKE 'PA_D'", sample()));
  EXPECT_TRUE(holds("status NOT LIKE 'p!%' ESCAPE '!'", sample()));
}

TEST(Condition, ChoosesTheRowImage) {
  EXPECT_TRUE(holds("before.status != after.status", sample()));
  EXPECT_TRUE(holds("BEFORE.status = 'new' AND After.\"status\" = 'paid'", sample()));
  const auto condition = Condition::parse("before.a = after.a OR a = 1 OR after.a = 2");
  ASSERT_TRUE(condition.has_value());
  const std::vector<ColumnRef> expected{
      {Side::kBefore, "a"}, {Side::kAfter, "a"}, {Side::kEither, "a"}};
  EXPECT_EQ(condition->columns(), expected);
}

TEST(Condition, NamesAreTakenAsTheyStand) {
  EXPECT_TRUE(holds("\"Mixed Case\" = 'yes'", sample()));
  EXPECT_TRUE(holds("\"a\"\"b\" = 1", {{"a\"b", number("1")}}));
  EXPECT_TRUE(holds("größe$1 = 1", {{"größe$1", number("1")}}));
  EXPECT_TRUE(holds("\"in\" = 1 AND before = 2 AND escape = 3 AND unknown = 4",
                    {{"in", number("1")},
                     {"before", number("2")},
                     {"escape", number("3")},
                     {"unknown", number("4")}}));
}

TEST(Condition, PrecedenceIsOrAndNot) {
  EXPECT_TRUE(holds("status = 'paid' OR status = 'x' AND amount = 0", sample()));
  EXPECT_FALSE(holds("(status = 'paid' OR status = 'x') AND amount = 0", sample()));
  EXPECT_TRUE(holds("NOT status = 'x' AND amount > 1", sample()));
  EXPECT_TRUE(holds("not not not status = 'x'", sample()));
}

TEST(Condition, FaultsNameTheirPlace) {
  EXPECT_EQ(fault("status = )"),
            "column 10: expected a column or a value, found \")\", at the mark: status = >>>)");
  EXPECT_EQ(fault("größe = 'x"),
            "column 9: the string has no closing quote, at the mark: größe = >>>'x (a quote inside "
            "is written twice)");
  EXPECT_EQ(fault("amount > 1 amount"),
            "column 12: \"amount\" follows a complete condition, at the mark: amount > 1 >>>amount "
            "(join conditions with AND or OR)");
  EXPECT_EQ(fault("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa == bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"),
            "column 34: \"==\" is not an operator here, at the mark: ...aaaaaaaaaaaaaaaaaaaaaaa "
            ">>>== bbbbbbbbbbbbbbbbbbbbb... (write = to compare)");
}

TEST(Condition, RefusesMalformedText) {
  for (const char* where : {"=",
                            "a b",
                            "a =",
                            "a = b c",
                            "(a = 1",
                            "a = 1)",
                            "a = NULL",
                            "a != null",
                            "a IN (1, NULL)",
                            "a IN ()",
                            "a IN (1,)",
                            "a IN (b)",
                            "a IN 1",
                            "a NOT 1",
                            "a NOT",
                            "NOT",
                            "a BETWEEN 1",
                            "a BETWEEN 1 OR 2",
                            "a LIKE 1",
                            "a LIKE 'x\\'",
                            "a LIKE 'x' ESCAPE 'ab'",
                            "a LIKE 'x' ESCAPE 1",
                            "a IS",
                            "a IS 1",
                            "a IS DISTINCT 1",
                            "1",
                            "'x'",
                            "1 IN",
                            "lower(a) = 'x'",
                            "a::text = 'x'",
                            "a = 1 -- c",
                            "a = 1 && b = 2",
                            "t.a = 1",
                            "before.t.a = 1",
                            "after. = 1",
                            "\"\" = 1",
                            "\"a = 1",
                            "a = 1x",
                            "a = 1e",
                            "a = 1.2.3",
                            "a = --1",
                            "a = -",
                            "a = -b",
                            "a = 'x' 'y'",
                            "a ? 1",
                            "a = ;",
                            "AND",
                            "a = 1 AND",
                            "OR a = 1",
                            "()",
                            "a = 1 OR OR b = 1"}) {
    const auto condition = Condition::parse(where);
    ASSERT_FALSE(condition.has_value()) << where;
    EXPECT_EQ(condition.error().code, Errc::kConfigInvalid);
    EXPECT_TRUE(condition.error().message.starts_with("column ")) << condition.error().message;
    EXPECT_EQ(condition.error().message.find('\n'), std::string::npos);
  }
}

TEST(Condition, HasBounds) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "a = 1" + std::string(depth, ')');
  };
  EXPECT_TRUE(Condition::parse(nested(64)).has_value());
  EXPECT_FALSE(Condition::parse(nested(65)).has_value());

  const auto list = [](int values) {
    std::string where = "a IN (0";
    for (int i = 1; i < values; ++i) {
      where += ',';
      where += std::to_string(i);
    }
    return where + ")";
  };
  EXPECT_TRUE(holds(list(1000), {{"a", number("999")}}));
  EXPECT_FALSE(Condition::parse(list(1001)).has_value());

  EXPECT_FALSE(Condition::parse(std::string(65'537, ' ')).has_value());
  std::string nots;
  for (int i = 0; i < 10'000; ++i) {
    nots += "NOT ";
  }
  EXPECT_TRUE(holds(nots + "a = 1", {{"a", number("1")}}));
}

TEST(Condition, DeepestNestingFitsTheStack) {
  std::string where;
  for (int i = 0; i < 64; ++i) {
    where += "a = 2 OR a = 1 AND (";
  }
  where += "a = 2 OR a = 1 AND a BETWEEN 1 AND 1" + std::string(64, ')');
  EXPECT_TRUE(holds(where, {{"a", number("1")}}));
  EXPECT_FALSE(holds(where, {{"a", null()}}));
}

TEST(Condition, SurvivesCopyAndMove) {
  auto original = Condition::parse("a = 'short' AND b IN (1, 2, 3)");
  ASSERT_TRUE(original.has_value());
  const Condition copy = *original;
  const Condition moved = std::move(*original);
  const std::vector<Operand> values{text("short"), number("2.0")};
  EXPECT_TRUE(copy.evaluate(values));
  EXPECT_TRUE(moved.evaluate(values));
}

}  // namespace
}  // namespace cdc::expr
