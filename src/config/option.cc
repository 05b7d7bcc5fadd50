#include "config/option.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "config/quantity.h"
#include "config/suggestion.h"

namespace cdc::config {
namespace {

constexpr std::size_t kShownBytesMax = 60;

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

// The value in quotes, cut and on one line, or a neutral word for secrets.
std::string shown(const OptionSpec& option, std::string_view text) {
  if (option.is_secret) {
    return "the value";
  }
  std::string result = "\"";
  for (const char c : text.substr(0, kShownBytesMax)) {
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  result += text.size() > kShownBytesMax ? "...\"" : "\"";
  return result;
}

std::string quantity_text(const OptionSpec& option, std::uint64_t value) {
  switch (option.kind) {
    case OptionKind::kDuration:
      return format_duration(std::chrono::milliseconds{static_cast<std::int64_t>(value)});
    case OptionKind::kSize:
      return format_size(value);
    default:
      return std::to_string(value);
  }
}

Status check_bounds(const OptionSpec& option, std::uint64_t value, std::string_view text) {
  const bool too_large = option.maximum != 0 && value > option.maximum;
  if (value >= option.minimum && !too_large) {
    return {};
  }
  const std::string least = quantity_text(option, option.minimum);
  return fail(Errc::kConfigInvalid,
              option.maximum == 0 ? cdc::format("{} is less than {}", shown(option, text), least)
                                  : cdc::format("{} is not within {} and {}",
                                                shown(option, text),
                                                least,
                                                quantity_text(option, option.maximum)));
}

Result<OptionValue> parse_boolean(const OptionSpec& option, std::string_view text) {
  const std::string word = lower(text);
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (word == yes) {
      return true;
    }
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (word == no) {
      return false;
    }
  }
  return fail(Errc::kConfigInvalid, cdc::format("{} is not true or false", shown(option, text)));
}

Result<OptionValue> parse_integer(const OptionSpec& option, std::string_view text) {
  constexpr std::uint64_t kLargest = 1ULL << 53U;
  std::uint64_t value = 0;
  bool valid = !text.empty();
  for (const char c : text) {
    valid = valid && c >= '0' && c <= '9' && value < kLargest;
    value = valid ? value * 10 + static_cast<std::uint64_t>(c - '0') : 0;
  }
  if (!valid) {
    return fail(Errc::kConfigInvalid, cdc::format("{} is not a whole number", shown(option, text)));
  }
  CDC_TRY(check_bounds(option, value, text));
  return value;
}

Result<OptionValue> parse_duration_option(const OptionSpec& option, std::string_view text) {
  const auto duration = parse_duration(text);
  if (!duration) {
    return fail(with_context(duration.error(), shown(option, text)));
  }
  CDC_TRY(check_bounds(option, static_cast<std::uint64_t>(duration->count()), text));
  return *duration;
}

Result<OptionValue> parse_size_option(const OptionSpec& option, std::string_view text) {
  const auto size = parse_size(text);
  if (!size) {
    return fail(with_context(size.error(), shown(option, text)));
  }
  CDC_TRY(check_bounds(option, *size, text));
  return *size;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    text += text.empty() ? "" : ", ";
    text += word;
  }
  return text;
}

Result<OptionValue> parse_choice(const OptionSpec& option, std::string_view text) {
  std::string word = lower(text);
  if (std::ranges::find(option.choices, word) != option.choices.end()) {
    return word;
  }
  if (std::ranges::find(option.choices_later, word) != option.choices_later.end()) {
    return fail(Errc::kUnsupported,
                cdc::format("\"{}\" is not in this version", word),
                cdc::format("choose one of: {}", joined(option.choices)));
  }
  const std::string meant = did_you_mean(word, option.choices);
  return fail(Errc::kConfigInvalid,
              cdc::format("{} is not one of: {}", shown(option, text), joined(option.choices)),
              meant);
}

// Whether a value of an option that this version does not have asks for anything.
bool asks_for_something(const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) {
    return *flag;
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return !text->empty();
  }
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    return !list->empty();
  }
  if (const auto* duration = std::get_if<std::chrono::milliseconds>(&value)) {
    return duration->count() != 0;
  }
  return true;
}

Result<OptionValue> checked(const OptionSpec& option, OptionValue value) {
  if (option.support == Support::kLater && asks_for_something(value)) {
    return fail(Errc::kUnsupported, "is not in this version", "remove it");
  }
  if (option.check != nullptr) {
    CDC_TRY(option.check(value));
  }
  return value;
}

Result<OptionValue> parse_kind(const OptionSpec& option, std::string_view text) {
  switch (option.kind) {
    case OptionKind::kBoolean:
      return parse_boolean(option, text);
    case OptionKind::kInteger:
      return parse_integer(option, text);
    case OptionKind::kDuration:
      return parse_duration_option(option, text);
    case OptionKind::kSize:
      return parse_size_option(option, text);
    case OptionKind::kChoice:
      return parse_choice(option, text);
    case OptionKind::kList:
    case OptionKind::kTables:
      return split_list(text);
    case OptionKind::kPath:
      if (text.contains('\0')) {
        return fail(Errc::kConfigInvalid, "a path cannot hold a NUL byte");
      }
      return std::string(text);
    case OptionKind::kText:
    case OptionKind::kBlock:
      break;
  }
  return std::string(text);
}

}  // namespace

std::string environment_name(const OptionSpec& option) {
  std::string name = "KAPTANTO_";
  for (const char c : option.path) {
    name +=
        c == '.' || c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

Result<OptionValue> parse_option(const OptionSpec& option, std::string_view text) {
  CDC_ASSIGN(OptionValue value, parse_kind(option, text));
  if (auto* items = std::get_if<std::vector<std::string>>(&value)) {
    return parse_option_list(option, std::move(*items));
  }
  return checked(option, std::move(value));
}

Result<OptionValue> parse_option_list(const OptionSpec& option, std::vector<std::string> items) {
  if (std::ranges::any_of(items, [](const std::string& item) { return item.empty(); })) {
    return fail(Errc::kConfigInvalid, "an item of the list is empty");
  }
  return checked(option, std::move(items));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  bool in_quotes = false;
  std::string item;
  const auto finish = [&] {
    const auto begin = std::ranges::find_if_not(item, is_blank);
    item.erase(item.begin(), begin);
    while (!item.empty() && is_blank(item.back())) {
      item.pop_back();
    }
    items.push_back(std::exchange(item, {}));
  };
  for (const char c : text) {
    in_quotes = in_quotes != (c == '"');
    if (c == ',' && !in_quotes) {
      finish();
    } else {
      item += c;
    }
  }
  finish();
  if (items.size() == 1 && items.front().empty()) {
    items.clear();
  }
  return items;
}

}  // namespace cdc::config
