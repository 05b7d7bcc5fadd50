#include "base/clock.h"

#include <charconv>

namespace cdc {

UnixMicros unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return UnixMicros{std::chrono::duration_cast<std::chrono::microseconds>(now).count()};
}

namespace {

char* put_digits(char* out, std::uint64_t value, int width) noexcept {
  for (int i = width - 1; i >= 0; --i) {
    out[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
  return out + width;
}

}  // namespace

char* format_rfc3339(UnixMicros time, char* out) noexcept {
  using std::chrono::days;
  using std::chrono::microseconds;
  const std::chrono::sys_time<microseconds> point{microseconds{time.value}};
  const auto day = std::chrono::floor<days>(point);
  const std::chrono::year_month_day date{day};
  const auto in_day = static_cast<std::uint64_t>((point - day).count());
  const int year = static_cast<int>(date.year());
  if (year >= 0 && year <= 9999) {
    out = put_digits(out, static_cast<std::uint64_t>(year), 4);
  } else {
    out = std::to_chars(out, out + 12, year).ptr;
  }
  *out++ = '-';
  out = put_digits(out, static_cast<unsigned>(date.month()), 2);
  *out++ = '-';
  out = put_digits(out, static_cast<unsigned>(date.day()), 2);
  *out++ = 'T';
  out = put_digits(out, in_day / 3'600'000'000U, 2);
  *out++ = ':';
  out = put_digits(out, in_day / 60'000'000U % 60U, 2);
  *out++ = ':';
  out = put_digits(out, in_day / 1'000'000U % 60U, 2);
  *out++ = '.';
  out = put_digits(out, in_day % 1'000'000U, 6);
  *out++ = 'Z';
  return out;
}

std::string format_rfc3339(UnixMicros time) {
  char buffer[40];
  return {buffer, format_rfc3339(time, buffer)};
}

}  // namespace cdc
