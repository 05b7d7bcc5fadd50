#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/condition.h"
#include "expr/internal/decimal.h"
#include "expr/internal/like.h"

namespace cdc::expr {

inline constexpr std::size_t kConditionBytesMax = 64U << 10U;
inline constexpr std::size_t kNestingMax = 64;
inline constexpr std::size_t kListValuesMax = 1000;
// While a parenthesis is open, at most one left side of an OR and one of an AND wait below it; the
// innermost level holds those two, the current value, and the two halves of a BETWEEN.
inline constexpr std::size_t kStackMax = 2 * (kNestingMax + 1) + 3;

// Three-valued logic: AND is the least, OR the greatest, NOT the mirror image.
enum class Truth : std::uint8_t {
  kFalse = 0,
  kUnknown = 1,
  kTrue = 2
};

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual
};

// A value written in the condition, with all it can be read as worked out once.
struct Literal {
  Operand::Kind kind = Operand::Kind::kText;
  std::string text;                                   // boolean: "t" or "f"
  std::optional<DecimalView> decimal = std::nullopt;  // views `text`
  std::optional<bool> boolean = std::nullopt;
};

// Where an operand comes from: the index of a column or of a literal.
struct Slot {
  bool is_literal = false;
  std::uint32_t index = 0;
};

enum class Opcode : std::uint8_t {
  kCompare,      // push left <comparison> right
  kDistinct,     // push left IS DISTINCT FROM right; never unknown
  kIsNull,       // push left IS NULL; never unknown
  kIsTruth,      // push left IS `comparison_truth`; never unknown
  kTruth,        // push left read as a boolean
  kIn,           // push left IN literals[right.index, + count)
  kLike,         // push left LIKE patterns[right.index]
  kNot,          // mirror the top
  kAnd,          // combine the two on top
  kOr,           // combine the two on top
  kJumpIfFalse,  // go to `target` when the top is false: an AND is decided
  kJumpIfTrue,   // go to `target` when the top is true: an OR is decided
};

struct Instruction {
  Opcode opcode = Opcode::kNot;
  Comparison comparison = Comparison::kEqual;
  Truth truth = Truth::kTrue;  // kIsTruth: the value asked for
  Slot left = {};
  Slot right = {};
  std::uint32_t count = 0;
  std::uint32_t target = 0;
};

// A condition as a flat list of stack operations. An empty list is always true.
//
// Invariants  P1 Jumps go forward only, so evaluation ends.
//             P2 No path needs more than kStackMax values on the stack.
//             P3 The stack holds exactly one value at the end.
// Lifetime    Literals view their own text, so a program is moved, never copied.
struct Condition::Program {
  Program() = default;
  Program(Program&&) noexcept = default;
  Program& operator=(Program&&) noexcept = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() = default;

  std::vector<Instruction> code;
  std::vector<ColumnRef> columns;
  std::vector<Literal> literals;
  std::vector<LikePattern> patterns;
};

// The words PostgreSQL prints and users write for a boolean, in any case.
[[nodiscard]] std::optional<bool> parse_boolean_word(std::string_view text) noexcept;

// Errors: kConfigInvalid with position, fault and excerpt on one line.
[[nodiscard]] Result<Condition::Program> compile_condition(std::string_view text);

}  // namespace cdc::expr
