#include "base/process_stats.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <sys/resource.h>
#include <unistd.h>

namespace cdc {
namespace {

double seconds_of(const timeval& time) noexcept {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::optional<std::uint64_t> resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  if (!(file >> size_pages >> resident_pages)) {
    return std::nullopt;
  }
  return resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Without the descriptor that the counting itself opens.
std::optional<std::uint64_t> open_files() {
  std::error_code failed;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failed), end;
       !failed && entry != end;
       entry.increment(failed)) {
    ++count;
  }
  return failed || count == 0 ? std::nullopt : std::optional(count - 1);
}

}  // namespace

ProcessStats process_stats() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
          .resident_bytes = resident_bytes(),
          .open_files = open_files()};
}

}  // namespace cdc
