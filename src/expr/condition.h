#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cdc::expr {

// Which row image a column name refers to: `before.x`, `after.x`, or plain `x` (after, or before
// when there is no after).
enum class Side : std::uint8_t {
  kEither,
  kBefore,
  kAfter
};

struct ColumnRef {
  Side side = Side::kEither;
  std::string name;

  auto operator<=>(const ColumnRef&) const = default;
};

// A column's value as the condition sees it: PostgreSQL's text and what it is.
struct Operand {
  enum class Kind : std::uint8_t {
    kMissing,
    kNull,
    kText,
    kNumber,
    kBoolean
  };
  Kind kind = Kind::kMissing;
  std::string_view text;  // number: decimal text of any length; boolean: "t" or "f"
};

// A parsed `where` condition; docs/operating/where.md is its manual.
//
// Meaning   SQL's three-valued logic: a comparison with NULL or with a column the row does not
//           have is unknown, and only a row whose condition is true passes. Numbers compare exactly
//           as decimals of any length, NaN above Infinity above all others. Text compares byte by
//           byte. A number column against a quoted literal that is a number compares as numbers; a
//           boolean column against t, f, true or false in any case compares as booleans; a text
//           column always compares as text.
// Errors    Parsing only; evaluation cannot fail.
// Thread    Immutable; any thread may evaluate it. Evaluation does not allocate.
class Condition {
 public:
  // Errors: kConfigInvalid with the column of the fault. An empty text is always true.
  // Bounds: 64 KiB of text, 64 levels of nesting, 1,000 values in a list.
  [[nodiscard]] static Result<Condition> parse(std::string_view text);

  // The columns it needs, each once; evaluate() takes their values in the same order.
  [[nodiscard]] const std::vector<ColumnRef>& columns() const noexcept;
  [[nodiscard]] bool evaluate(std::span<const Operand> values) const;
  [[nodiscard]] bool always_true() const noexcept;

  struct Program;

  // For the other files of this module.
  [[nodiscard]] const Program& program() const noexcept { return *program_; }

 private:
  explicit Condition(std::shared_ptr<const Program> program);
  std::shared_ptr<const Program> program_;
};

}  // namespace cdc::expr
