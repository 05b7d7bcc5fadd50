#include "expr/internal/decimal.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "expr/internal/ascii.h"

namespace cdc::expr {
namespace {

constexpr std::int64_t kExponentMax = 100'000'000'000'000'000;  // leaves room for one digit more

// Takes leading digits off `text`.
std::string_view take_digits(std::string_view& text) noexcept {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

std::string_view without_leading_zeros(std::string_view digits) noexcept {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

bool all_zeros(std::string_view digits) noexcept {
  return digits.find_first_not_of('0') == std::string_view::npos;
}

// Reads `e[+-]digits` to the end of the text; nothing when it is malformed.
std::optional<std::int64_t> parse_exponent(std::string_view text) noexcept {
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const std::string_view digits = take_digits(text);
  if (digits.empty() || !text.empty()) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  for (const char c : digits) {
    value = std::min(value * 10 + (c - '0'), kExponentMax);
    if (value == kExponentMax) {
      break;
    }
  }
  return negative ? -value : value;
}

// Compares two fractions 0.<head><tail> digit by digit; trailing zeros do not count.
std::strong_ordering compare_fractions(std::string_view head_a,
                                       std::string_view tail_a,
                                       std::string_view head_b,
                                       std::string_view tail_b) noexcept {
  while (true) {
    if (head_a.empty()) {
      head_a = tail_a;
      tail_a = {};
    }
    if (head_b.empty()) {
      head_b = tail_b;
      tail_b = {};
    }
    if (head_a.empty() || head_b.empty()) {
      break;
    }
    const std::size_t count = std::min(head_a.size(), head_b.size());
    const auto order = head_a.substr(0, count) <=> head_b.substr(0, count);
    if (order != std::strong_ordering::equal) {
      return order;
    }
    head_a.remove_prefix(count);
    head_b.remove_prefix(count);
  }
  if (!all_zeros(head_a) || !all_zeros(tail_a)) {
    return std::strong_ordering::greater;
  }
  if (!all_zeros(head_b) || !all_zeros(tail_b)) {
    return std::strong_ordering::less;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering reversed(std::strong_ordering order) noexcept {
  return 0 <=> order;
}

}  // namespace

std::optional<DecimalView> DecimalView::parse(std::string_view text) noexcept {
  DecimalView decimal;
  decimal.negative_ = text.starts_with('-');
  if (decimal.negative_ || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  if (equals_ignoring_case(text, "nan")) {
    decimal.class_ = Class::kNan;
    return decimal;
  }
  if (equals_ignoring_case(text, "infinity") || equals_ignoring_case(text, "inf")) {
    decimal.class_ = decimal.negative_ ? Class::kNegativeInfinity : Class::kInfinity;
    return decimal;
  }

  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  if (whole.empty() && fraction.empty()) {
    return std::nullopt;
  }
  std::int64_t exponent = 0;
  if (!text.empty()) {
    if (to_lower(text.front()) != 'e') {
      return std::nullopt;
    }
    const auto parsed = parse_exponent(text);
    if (!parsed) {
      return std::nullopt;
    }
    exponent = *parsed;
  }

  decimal.head_ = without_leading_zeros(whole);
  if (!decimal.head_.empty()) {
    decimal.tail_ = fraction;
    decimal.scale_ = exponent + static_cast<std::int64_t>(decimal.head_.size());
  } else {
    decimal.head_ = without_leading_zeros(fraction);
    decimal.scale_ = exponent - static_cast<std::int64_t>(fraction.size() - decimal.head_.size());
  }
  return decimal;
}

std::strong_ordering DecimalView::compare_magnitude(const DecimalView& other) const noexcept {
  if (scale_ != other.scale_) {
    return scale_ <=> other.scale_;
  }
  return compare_fractions(head_, tail_, other.head_, other.tail_);
}

std::strong_ordering DecimalView::compare(const DecimalView& other) const noexcept {
  if (class_ != other.class_ || class_ != Class::kFinite) {
    return class_ <=> other.class_;
  }
  const bool zero = head_.empty();
  const bool other_zero = other.head_.empty();
  if (zero || other_zero) {
    if (zero && other_zero) {
      return std::strong_ordering::equal;
    }
    const bool less = zero ? !other.negative_ : negative_;
    return less ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (negative_ != other.negative_) {
    return negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const std::strong_ordering order = compare_magnitude(other);
  return negative_ ? reversed(order) : order;
}

}  // namespace cdc::expr
