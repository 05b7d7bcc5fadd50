#pragma once

#include "app/command_line.h"
#include "app/console.h"

namespace cdc::app {

// `journal inspect DIR`. Errors: kInvalidArgument when DIR holds no event log; the first fault of
// the log otherwise, after everything was printed.
[[nodiscard]] Result<int> journal_inspect_command(const CommandLine& line, Console& console);

}  // namespace cdc::app
