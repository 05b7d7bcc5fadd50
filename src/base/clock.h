#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace cdc {

// Monotonic time for intervals; injected where a test must control it.
using MonotonicTime = std::chrono::steady_clock::time_point;

[[nodiscard]] inline MonotonicTime monotonic_now() {
  return std::chrono::steady_clock::now();
}

// Microseconds since 1970-01-01T00:00:00Z.
struct UnixMicros {
  std::int64_t value = 0;

  auto operator<=>(const UnixMicros&) const = default;
};

[[nodiscard]] UnixMicros unix_now();

// "2026-08-19T12:00:00.123456Z": always six decimals, always UTC; 27 bytes for years 0000 to 9999.
// Appends at `out` (room for 40 bytes) and returns its end.
char* format_rfc3339(UnixMicros time, char* out) noexcept;
[[nodiscard]] std::string format_rfc3339(UnixMicros time);

}  // namespace cdc
