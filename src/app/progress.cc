#include "app/progress.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include <unistd.h>

#include "base/format.h"
#include "base/log.h"

namespace cdc::app {

namespace {

bool on_terminal() {
  return ::isatty(STDERR_FILENO) != 0;
}

}  // namespace

std::chrono::seconds progress_interval() {
  return std::chrono::seconds{on_terminal() ? 2 : 10};
}

std::string group_digits(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3; place -= 3) {
    text.insert(place - 3, ",");
  }
  return text;
}

void show_progress(const snapshot::Coordinator::Progress& progress) {
  if (!on_terminal()) {
    log::info("backfill: progress",
              {{"table", progress.table},
               {"rows", progress.rows},
               {"rows_estimated", progress.rows_total},
               {"rows_per_second", progress.rows_per_second},
               {"seconds_left", progress.seconds_left}});
    return;
  }
  std::string line = format("{}: {} rows", progress.table, group_digits(progress.rows));
  if (progress.rows_total > 0) {
    const auto total = static_cast<std::uint64_t>(progress.rows_total);
    line += format(" of about {} ({} %)",
                   group_digits(total),
                   std::min<std::uint64_t>(100, 100 * progress.rows / total));
  }
  line += format(", {} rows/s", group_digits(progress.rows_per_second));
  if (progress.seconds_left >= 0) {
    line += format(", {} s left", progress.seconds_left);
  }
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace cdc::app
