#include "base/ids.h"

#include <charconv>
#include <system_error>

namespace cdc {

namespace {

char* format_upper_hex(std::uint32_t value, char* out) noexcept {
  char digits[8];
  int count = 0;
  do {
    digits[count++] = "0123456789ABCDEF"[value & 15U];
    value >>= 4U;
  } while (value != 0);
  while (count > 0) {
    *out++ = digits[--count];
  }
  return out;
}

std::optional<std::uint32_t> parse_hex(std::string_view text) noexcept {
  std::uint32_t value = 0;
  if (text.empty() || text.size() > 8) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

char* format_lsn(Lsn lsn, char* out) noexcept {
  out = format_upper_hex(static_cast<std::uint32_t>(lsn.value >> 32U), out);
  *out++ = '/';
  return format_upper_hex(static_cast<std::uint32_t>(lsn.value), out);
}

std::string to_string(Lsn lsn) {
  char buffer[17];
  return {buffer, format_lsn(lsn, buffer)};
}

std::optional<Lsn> parse_lsn(std::string_view text) noexcept {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto high = parse_hex(text.substr(0, slash));
  const auto low = parse_hex(text.substr(slash + 1));
  if (!high || !low) {
    return std::nullopt;
  }
  return Lsn{(std::uint64_t{*high} << 32U) | *low};
}

}  // namespace cdc
