#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "expr/condition.h"

namespace cdc::expr {

// One test of a column against values written in the condition.
struct ColumnTest {
  enum class Kind : std::uint8_t {
    kEqual,  // to any of `values`
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kIsNull,
    kIsNotNull
  };

  struct Value {
    Operand::Kind kind = Operand::Kind::kText;  // number, boolean or text, as it is written
    std::string text;                           // boolean: "t" or "f"
  };

  Kind kind = Kind::kEqual;
  std::size_t column = 0;     // index into Condition::columns()
  std::vector<Value> values;  // empty for kIsNull and kIsNotNull; one for comparisons but kEqual
};

// Tests that are each true of every row that the condition is true of: those operands of its
// outermost ANDs that are such tests. There may be none.
[[nodiscard]] std::vector<ColumnTest> conjuncts_of(const Condition& condition);

}  // namespace cdc::expr
