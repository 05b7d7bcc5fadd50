#pragma once

#include "app/command_line.h"
#include "app/console.h"
#include "config/load.h"

namespace cdc::app {

// `status [--watch]`: how the running process does, over its admin API; with --watch again every
// two seconds until SIGINT or SIGTERM.
// Errors: kUnavailable when nobody answers; with --watch only the first time, since later it is
// news.
[[nodiscard]] Result<int> status_command(const CommandLine& line,
                                         const config::LoadInputs& inputs,
                                         Console& console);

}  // namespace cdc::app
