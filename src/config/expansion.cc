#include "config/expansion.h"

#include <algorithm>
#include <cstddef>

#include "base/format.h"

namespace cdc::config {
namespace {

constexpr std::size_t kResultBytesMax = 1U << 20U;
constexpr const char* kDollarHint = "write $$ for a dollar sign of its own";

bool is_name(std::string_view name) noexcept {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto digit = [](char c) {
    return c >= '0' && c <= '9';
  };
  return !name.empty() && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); });
}

// The value of one reference, given what stands between its braces.
Result<std::string_view> resolve(std::string_view reference, const Environment& environment) {
  const std::size_t colon = reference.find(":-");
  const std::string_view name = reference.substr(0, colon);
  if (!is_name(name)) {
    return fail(Errc::kConfigInvalid,
                "a ${...} does not hold the name of a variable",
                "write ${NAME} or ${NAME:-default}, and $$ for a dollar sign of its own");
  }
  const auto found = environment.find(name);
  const bool is_set = found != environment.end();
  if (colon == std::string_view::npos) {
    if (!is_set) {
      return fail(Errc::kConfigInvalid,
                  cdc::format("the environment variable {} is not set", name),
                  cdc::format("set it, or give a default as in ${{{}:-value}}", name));
    }
    return found->second;
  }
  const std::string_view fallback = reference.substr(colon + 2);
  if (fallback.contains("${")) {
    return fail(Errc::kConfigInvalid,
                cdc::format("the default of ${{{}:-...}} holds another reference", name),
                "a default is literal text");
  }
  return is_set && !found->second.empty() ? std::string_view(found->second) : fallback;
}

}  // namespace

Result<std::string> expand_variables(std::string_view text, const Environment& environment) {
  std::string result;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    result += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.starts_with("${")) {
      const std::size_t brace = text.find('}');
      if (brace == std::string_view::npos) {
        return fail(Errc::kConfigInvalid, "a ${ has no closing brace", kDollarHint);
      }
      CDC_ASSIGN(const std::string_view value, resolve(text.substr(2, brace - 2), environment));
      result += value;
      text.remove_prefix(brace + 1);
    } else if (text.starts_with('$')) {
      result += '$';
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
    }
    if (result.size() > kResultBytesMax) {
      return fail(Errc::kConfigInvalid,
                  cdc::format("the value is longer than {} bytes when expanded", kResultBytesMax));
    }
  }
  return result;
}

}  // namespace cdc::config
