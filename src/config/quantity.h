#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cdc::config {

// Durations and sizes as people write them. Exact: a value that cannot be held is an error, nothing
// is rounded. Errors are kConfigInvalid and never repeat the text.

// `150ms`, `2s`, `5m`, `24h`, `7d`, `1h30m`, `1.5h`, `0`: units ms s m h d, each at most once,
// larger before smaller. Bounds: whole milliseconds, up to 36,500 days.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// `64MiB`, `1GB`, `1.5GiB`, `1024`: B, kB MB GB TB (powers of 1,000) and KiB MiB GiB TiB (powers of
// 1,024), in any case. Bounds: whole bytes, up to 2^62.
[[nodiscard]] Result<std::uint64_t> parse_size(std::string_view text);

// The shortest text that parses back to the same value: "1h30m", "64MiB".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);
[[nodiscard]] std::string format_size(std::uint64_t bytes);

}  // namespace cdc::config
