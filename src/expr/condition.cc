#include "expr/condition.h"

#include <algorithm>
#include <array>
#include <compare>
#include <utility>

#include "base/assert.h"
#include "expr/internal/condition_program.h"

namespace cdc::expr {
namespace {

// One side of a comparison, from a column or from the condition itself.
struct TermView {
  Operand::Kind kind = Operand::Kind::kMissing;
  std::string_view text;
  std::optional<DecimalView> decimal = std::nullopt;
  std::optional<bool> boolean = std::nullopt;

  [[nodiscard]] bool is_null() const noexcept {
    return kind == Operand::Kind::kMissing || kind == Operand::Kind::kNull;
  }
};

TermView term_of(const Literal& literal) noexcept {
  return {.kind = literal.kind,
          .text = literal.text,
          .decimal = literal.decimal,
          .boolean = literal.boolean};
}

TermView term_of(const Operand& value) noexcept {
  TermView term{.kind = value.kind, .text = value.text};
  if (value.kind == Operand::Kind::kNumber) {
    term.decimal = DecimalView::parse(value.text);
  } else if (!term.is_null()) {
    term.boolean = parse_boolean_word(value.text);
  }
  return term;
}

// A side decides how both are read only if it is typed: a number or boolean column, or a number or
// TRUE/FALSE in the condition. A quoted literal follows the other side, as in SQL; a text column is
// never read as a number.
std::strong_ordering order_of(const TermView& a, const TermView& b) noexcept {
  const auto either_is = [&](Operand::Kind kind) {
    return a.kind == kind || b.kind == kind;
  };
  if (either_is(Operand::Kind::kNumber) && a.decimal && b.decimal) {
    return a.decimal->compare(*b.decimal);
  }
  if (either_is(Operand::Kind::kBoolean) && a.boolean && b.boolean) {
    return *a.boolean <=> *b.boolean;
  }
  return a.text <=> b.text;
}

bool holds(Comparison comparison, std::strong_ordering order) noexcept {
  switch (comparison) {
    case Comparison::kEqual:
      return order == 0;
    case Comparison::kNotEqual:
      return order != 0;
    case Comparison::kLess:
      return order < 0;
    case Comparison::kLessOrEqual:
      return order <= 0;
    case Comparison::kGreater:
      return order > 0;
    case Comparison::kGreaterOrEqual:
      return order >= 0;
  }
  return false;
}

Truth truth_of(bool value) noexcept {
  return value ? Truth::kTrue : Truth::kFalse;
}

class Evaluation {
 public:
  Evaluation(const Condition::Program& program, std::span<const Operand> values) noexcept
      : program_(program), values_(values) {}

  [[nodiscard]] bool run() noexcept {
    const auto& code = program_.code;
    for (std::size_t i = 0; i < code.size();) {
      i = step(code[i], i);
    }
    CDC_ASSERT(depth_ == 1);
    return stack_[0] == Truth::kTrue;
  }

 private:
  // Runs one instruction and gives the index of the next.
  std::size_t step(const Instruction& instruction, std::size_t index) noexcept {
    switch (instruction.opcode) {
      case Opcode::kNot:
        top() = static_cast<Truth>(2U - static_cast<unsigned>(top()));
        break;
      case Opcode::kAnd: {
        const Truth right = pop();
        top() = std::min(top(), right);
        break;
      }
      case Opcode::kOr: {
        const Truth right = pop();
        top() = std::max(top(), right);
        break;
      }
      case Opcode::kJumpIfFalse:
        return top() == Truth::kFalse ? instruction.target : index + 1;
      case Opcode::kJumpIfTrue:
        return top() == Truth::kTrue ? instruction.target : index + 1;
      default:
        push(test(instruction));
        break;
    }
    return index + 1;
  }

  [[nodiscard]] Truth test(const Instruction& instruction) const noexcept {
    const TermView left = term(instruction.left);
    switch (instruction.opcode) {
      case Opcode::kIsNull:
        return truth_of(left.is_null());
      case Opcode::kIsTruth:
        return truth_of(boolean(left) == instruction.truth);
      case Opcode::kDistinct:
        return distinct(left, term(instruction.right));
      default:
        break;
    }
    if (left.is_null()) {
      return Truth::kUnknown;
    }
    switch (instruction.opcode) {
      case Opcode::kCompare: {
        const TermView right = term(instruction.right);
        return right.is_null() ? Truth::kUnknown
                               : truth_of(holds(instruction.comparison, order_of(left, right)));
      }
      case Opcode::kIn:
        return truth_of(contains(instruction, left));
      case Opcode::kLike:
        return truth_of(program_.patterns[instruction.right.index].matches(left.text));
      default:
        return boolean(left);
    }
  }

  [[nodiscard]] static Truth boolean(const TermView& term) noexcept {
    return term.is_null() || !term.boolean ? Truth::kUnknown : truth_of(*term.boolean);
  }

  [[nodiscard]] static Truth distinct(const TermView& a, const TermView& b) noexcept {
    if (a.is_null() || b.is_null()) {
      return truth_of(a.is_null() != b.is_null());
    }
    return truth_of(order_of(a, b) != 0);
  }

  [[nodiscard]] bool contains(const Instruction& instruction, const TermView& term) const noexcept {
    const auto list =
        std::span(program_.literals).subspan(instruction.right.index, instruction.count);
    return std::ranges::any_of(
        list, [&](const Literal& literal) { return order_of(term, term_of(literal)) == 0; });
  }

  [[nodiscard]] TermView term(Slot slot) const noexcept {
    return slot.is_literal ? term_of(program_.literals[slot.index]) : term_of(values_[slot.index]);
  }

  void push(Truth truth) noexcept {
    CDC_ASSERT(depth_ < kStackMax);
    stack_[depth_++] = truth;
  }

  Truth pop() noexcept { return stack_[--depth_]; }

  Truth& top() noexcept { return stack_[depth_ - 1]; }

  const Condition::Program& program_;
  std::span<const Operand> values_;
  std::array<Truth, kStackMax> stack_{};
  std::size_t depth_ = 0;
};

}  // namespace

Condition::Condition(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

Result<Condition> Condition::parse(std::string_view text) {
  CDC_ASSIGN(Program program, compile_condition(text));
  return Condition(std::make_shared<const Program>(std::move(program)));
}

const std::vector<ColumnRef>& Condition::columns() const noexcept {
  return program_->columns;
}

bool Condition::always_true() const noexcept {
  return program_->code.empty();
}

bool Condition::evaluate(std::span<const Operand> values) const {
  CDC_ASSERT(values.size() == program_->columns.size());
  return always_true() || Evaluation(*program_, values).run();
}

}  // namespace cdc::expr
