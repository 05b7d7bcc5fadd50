#pragma once

#include <chrono>

#include "snapshot/coordinator.h"

namespace cdc::app {

// How often people want to know how far a backfill is: every other second on a terminal.
[[nodiscard]] std::chrono::seconds progress_interval();

// One line on standard error: plain on a terminal, a log record otherwise. Thread: any.
void show_progress(const snapshot::Coordinator::Progress& progress);

// "1,234,567".
[[nodiscard]] std::string group_digits(std::uint64_t number);

}  // namespace cdc::app
