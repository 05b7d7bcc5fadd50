#pragma once

#include <cstdint>
#include <optional>

namespace cdc {

// What this process uses, as the kernel counts it. Thread: any.
struct ProcessStats {
  double cpu_seconds = 0;                            // user and system
  std::optional<std::uint64_t> resident_bytes = {};  // nothing without /proc
  std::optional<std::uint64_t> open_files = {};
};

[[nodiscard]] ProcessStats process_stats();

}  // namespace cdc
