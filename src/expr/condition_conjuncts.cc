#include "expr/condition_conjuncts.h"

#include <optional>
#include <span>
#include <utility>

#include "base/assert.h"
#include "expr/internal/condition_program.h"

namespace cdc::expr {
namespace {

using Kind = ColumnTest::Kind;

ColumnTest::Value value_of(const Literal& literal) {
  return {.kind = literal.kind, .text = literal.text};
}

// `value < column` is `column > value`.
Kind kind_of(Comparison comparison, bool flipped) noexcept {
  switch (comparison) {
    case Comparison::kEqual:
      return Kind::kEqual;
    case Comparison::kNotEqual:
      return Kind::kNotEqual;
    case Comparison::kLess:
      return flipped ? Kind::kGreater : Kind::kLess;
    case Comparison::kLessOrEqual:
      return flipped ? Kind::kGreaterOrEqual : Kind::kLessOrEqual;
    case Comparison::kGreater:
      return flipped ? Kind::kLess : Kind::kGreater;
    case Comparison::kGreaterOrEqual:
      return flipped ? Kind::kLessOrEqual : Kind::kGreaterOrEqual;
  }
  return Kind::kEqual;
}

std::optional<ColumnTest> test_of(const Condition::Program& program,
                                  const Instruction& instruction) {
  const Slot left = instruction.left;
  const Slot right = instruction.right;
  switch (instruction.opcode) {
    case Opcode::kCompare: {
      if (left.is_literal == right.is_literal) {
        return std::nullopt;
      }
      const std::size_t literal = left.is_literal ? left.index : right.index;
      return ColumnTest{.kind = kind_of(instruction.comparison, left.is_literal),
                        .column = left.is_literal ? right.index : left.index,
                        .values = {value_of(program.literals[literal])}};
    }
    case Opcode::kIn: {
      if (left.is_literal) {
        return std::nullopt;
      }
      ColumnTest test{.kind = Kind::kEqual, .column = left.index, .values = {}};
      for (const Literal& literal :
           std::span(program.literals).subspan(right.index, instruction.count)) {
        test.values.push_back(value_of(literal));
      }
      return test;
    }
    case Opcode::kIsNull:
      return left.is_literal ? std::nullopt
                             : std::optional(ColumnTest{
                                   .kind = Kind::kIsNull, .column = left.index, .values = {}});
    default:
      return std::nullopt;
  }
}

using Tests = std::vector<ColumnTest>;

// Of the tests that follow from the operand of a NOT, those that follow from the NOT.
Tests negated(const Tests& tests, bool is_one_test) {
  if (is_one_test && tests.size() == 1 &&
      (tests[0].kind == Kind::kIsNull || tests[0].kind == Kind::kIsNotNull)) {
    return {ColumnTest{.kind = tests[0].kind == Kind::kIsNull ? Kind::kIsNotNull : Kind::kIsNull,
                       .column = tests[0].column,
                       .values = {}}};
  }
  return {};
}

// What follows from one value of the stack being true.
struct Known {
  Tests tests;
  bool is_one_test = false;  // it is equivalent to the single test
};

}  // namespace

// Runs the program with what is known of its values in place of the values. Jumps only shorten
// evaluation, so they can be left out.
std::vector<ColumnTest> conjuncts_of(const Condition& condition) {
  const Condition::Program& program = condition.program();
  std::vector<Known> stack;
  for (const Instruction& instruction : program.code) {
    switch (instruction.opcode) {
      case Opcode::kJumpIfFalse:
      case Opcode::kJumpIfTrue:
        break;
      case Opcode::kNot:
        stack.back().tests = negated(stack.back().tests, stack.back().is_one_test);
        break;
      case Opcode::kAnd:
      case Opcode::kOr: {
        const Known right = std::move(stack.back());
        stack.pop_back();
        Known& left = stack.back();
        left.is_one_test = false;
        if (instruction.opcode == Opcode::kOr) {
          left.tests.clear();
        } else {
          left.tests.insert(left.tests.end(), right.tests.begin(), right.tests.end());
        }
        break;
      }
      default: {
        auto test = test_of(program, instruction);
        stack.push_back(test ? Known{.tests = {*std::move(test)}, .is_one_test = true} : Known{});
        break;
      }
    }
  }
  CDC_ASSERT(stack.size() == (program.code.empty() ? 0U : 1U));
  return stack.empty() ? Tests{} : std::move(stack.back().tests);
}

}  // namespace cdc::expr
