#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cdc::expr {

// A number as PostgreSQL prints it, compared exactly whatever its length: never through a double.
//
// Views     The text it was parsed from, which must outlive it.
// Bounds    Exponents beyond 10^17 in absolute value are treated as 10^17; PostgreSQL prints none
//           above 131,072. No allocation.
// Order     PostgreSQL's: -Infinity < every finite number < Infinity < NaN; NaN equals itself.
class DecimalView {
 public:
  // Digits with optional sign, point and exponent, or NaN, Infinity, inf in any case. Nothing else,
  // no blanks.
  [[nodiscard]] static std::optional<DecimalView> parse(std::string_view text) noexcept;

  [[nodiscard]] std::strong_ordering compare(const DecimalView& other) const noexcept;

 private:
  enum class Class : std::uint8_t {
    kNegativeInfinity,
    kFinite,
    kInfinity,
    kNan
  };

  DecimalView() = default;
  [[nodiscard]] std::strong_ordering compare_magnitude(const DecimalView& other) const noexcept;

  Class class_ = Class::kFinite;
  bool negative_ = false;
  // The value is 0.<head><tail> * 10^scale; head begins with a digit other than 0, or both are
  // empty and the value is zero.
  std::string_view head_;
  std::string_view tail_;
  std::int64_t scale_ = 0;
};

}  // namespace cdc::expr
