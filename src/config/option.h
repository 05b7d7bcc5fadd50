#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace cdc::config {

// The one table that configuration comes from: YAML keys, flags, environment variables, the JSON
// Schema and docs/operating/configuration.md are all made from it.

enum class OptionKind : std::uint8_t {
  kText,
  kPath,
  kBoolean,
  kInteger,
  kDuration,
  kSize,
  kChoice,
  kList,    // of texts; as a flag repeatable and split at commas
  kTables,  // `tables`, the one key with a shape of its own
  kBlock,   // a section of a later version, of which only the name is known
};

enum class Support : std::uint8_t {
  kFull,
  kNoEffect,  // of a later version, and harmless whatever its value
  kLater,     // of a later version: refused unless it says "off"
};

using OptionValue = std::
    variant<bool, std::uint64_t, std::chrono::milliseconds, std::string, std::vector<std::string>>;

// Texts are views of literals. Bounds of `minimum` and `maximum`: the number itself, bytes, or
// milliseconds; a maximum of 0 is no bound.
struct OptionSpec {
  std::string_view path = {};  // "postgres.slot"
  OptionKind kind = OptionKind::kText;
  std::string_view default_text = {};  // as a user would write it; empty: none
  std::string_view flag = {};          // without dashes; empty: only in the file
  std::string_view doc = {};           // one or two sentences
  void (*store)(Config&, const OptionValue&) = nullptr;
  Status (*check)(const OptionValue&) = nullptr;  // beyond kind, bounds and choices
  std::span<const std::string_view> choices = {};
  std::span<const std::string_view> choices_later = {};  // known, not in this version
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
  Support support = Support::kFull;
  bool is_secret = false;  // its value never appears in a message

  [[nodiscard]] bool in_environment() const noexcept { return kind != OptionKind::kBlock; }
};

[[nodiscard]] std::span<const OptionSpec> options() noexcept;
[[nodiscard]] const OptionSpec* find_option(std::string_view path) noexcept;

// "KAPTANTO_POSTGRES_SLOT_FAILOVER".
[[nodiscard]] std::string environment_name(const OptionSpec& option);

// Reads one value. Errors: kConfigInvalid or kUnsupported; the message names no key and no place.
[[nodiscard]] Result<OptionValue> parse_option(const OptionSpec& option, std::string_view text);
[[nodiscard]] Result<OptionValue> parse_option_list(const OptionSpec& option,
                                                    std::vector<std::string> items);

// Splits at commas outside double quotes, and trims blanks around items: `a, public."We,ird"` is
// two. An empty text has no items.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

}  // namespace cdc::config
