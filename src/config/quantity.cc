#include "config/quantity.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include "base/format.h"

namespace cdc::config {
namespace {

constexpr std::uint64_t kDurationMax = 36'500ULL * 24 * 3600 * 1000;  // milliseconds
constexpr std::uint64_t kSizeMax = 1ULL << 62U;
constexpr std::size_t kFractionDigitsMax = 9;
constexpr const char* kDurationHint =
    "write a number with a unit, such as 150ms, 2s, 5m, 24h, 7d or 1h30m";
constexpr const char* kSizeHint =
    "write bytes, or a number with kB, MB, GB, KiB, MiB or GiB, such as 64MiB";

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Larger first, so that formatting finds the largest that fits.
constexpr std::array<Unit, 5> kDurationUnits{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

constexpr std::array<Unit, 9> kSizeUnits{{{"TiB", 1ULL << 40U},
                                          {"TB", 1'000'000'000'000},
                                          {"GiB", 1ULL << 30U},
                                          {"GB", 1'000'000'000},
                                          {"MiB", 1ULL << 20U},
                                          {"MB", 1'000'000},
                                          {"KiB", 1ULL << 10U},
                                          {"kB", 1000},
                                          {"B", 1}}};

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

template <class Predicate>
std::string_view take_while(std::string_view& text, Predicate predicate) noexcept {
  const auto end = std::ranges::find_if_not(text, predicate);
  const std::string_view taken = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

// Digits with an optional fraction.
struct Amount {
  std::string_view whole;
  std::string_view fraction;
};

std::optional<Amount> take_amount(std::string_view& text) noexcept {
  Amount amount;
  amount.whole = take_while(text, is_digit);
  if (amount.whole.empty()) {
    return std::nullopt;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    amount.fraction = take_while(text, is_digit);
    if (amount.fraction.empty() || amount.fraction.size() > kFractionDigitsMax) {
      return std::nullopt;
    }
  }
  return amount;
}

// amount * factor when that is a whole number no larger than `limit`.
std::optional<std::uint64_t> multiply(const Amount& amount,
                                      std::uint64_t factor,
                                      std::uint64_t limit) noexcept {
  std::uint64_t whole = 0;
  for (const char c : amount.whole) {
    whole = whole * 10 + static_cast<std::uint64_t>(c - '0');
    if (whole > limit / factor) {
      return std::nullopt;
    }
  }
  std::uint64_t value = whole * factor;
  std::uint64_t scale = 1;
  std::uint64_t fraction = 0;
  for (const char c : amount.fraction) {
    fraction = fraction * 10 + static_cast<std::uint64_t>(c - '0');
    scale *= 10;
  }
  while (scale > 1 && fraction % 10 == 0) {
    fraction /= 10;
    scale /= 10;
  }
  if (fraction > std::numeric_limits<std::uint64_t>::max() / factor) {
    return std::nullopt;
  }
  if (fraction * factor % scale != 0) {
    return std::nullopt;
  }
  value += fraction * factor / scale;
  return value <= limit ? std::optional(value) : std::nullopt;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) {
    return static_cast<char>(c | 0x20);
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text == "0") {
    return std::chrono::milliseconds{0};
  }
  if (text.starts_with('-')) {
    return fail(Errc::kConfigInvalid, "a duration cannot be negative");
  }
  std::uint64_t total = 0;
  std::uint64_t last_factor = std::numeric_limits<std::uint64_t>::max();
  do {
    const auto amount = take_amount(text);
    const std::string_view name = take_while(text, is_letter);
    const auto* const unit =
        std::ranges::find_if(kDurationUnits, [&](const Unit& u) { return u.name == name; });
    if (!amount || unit == kDurationUnits.end()) {
      return fail(Errc::kConfigInvalid, "this is not a duration", kDurationHint);
    }
    if (unit->factor >= last_factor) {
      return fail(Errc::kConfigInvalid,
                  "the units of a duration must go from larger to smaller, each once",
                  kDurationHint);
    }
    last_factor = unit->factor;
    const auto part = multiply(*amount, unit->factor, kDurationMax);
    if (!part || total + *part > kDurationMax) {
      return fail(Errc::kConfigInvalid, "a duration is whole milliseconds and at most 36500d");
    }
    total += *part;
  } while (!text.empty());
  return std::chrono::milliseconds{static_cast<std::int64_t>(total)};
}

Result<std::uint64_t> parse_size(std::string_view text) {
  const auto amount = take_amount(text);
  const std::string_view name = text.starts_with(' ') ? text.substr(1) : text;
  const auto* const unit = std::ranges::find_if(kSizeUnits, [&](const Unit& u) {
    return equals_ignoring_case(u.name, name.empty() ? "B" : name);
  });
  if (!amount || unit == kSizeUnits.end()) {
    return fail(Errc::kConfigInvalid, "this is not a size", kSizeHint);
  }
  const auto bytes = multiply(*amount, unit->factor, kSizeMax);
  if (!bytes) {
    return fail(Errc::kConfigInvalid, "a size is whole bytes and at most 2^62");
  }
  return *bytes;
}

std::string format_duration(std::chrono::milliseconds duration) {
  auto rest = static_cast<std::uint64_t>(duration.count());
  std::string text;
  for (const Unit& unit : kDurationUnits) {
    if (rest >= unit.factor) {
      text += cdc::format("{}{}", rest / unit.factor, unit.name);
      rest %= unit.factor;
    }
  }
  return text.empty() ? "0" : text;
}

std::string format_size(std::uint64_t bytes) {
  for (const Unit& unit : kSizeUnits) {
    if (unit.factor > 1 && bytes > 0 && bytes % unit.factor == 0) {
      return cdc::format("{}{}", bytes / unit.factor, unit.name);
    }
  }
  return std::to_string(bytes);
}

}  // namespace cdc::config
