#pragma once

#include "app/command_line.h"
#include "app/console.h"
#include "config/load.h"

namespace cdc::app {

// `backfill start|status|pause|resume|cancel`: asks the running process over its admin API. Without
// one, `status` reads <data-dir>/backfill.db. Of the configuration only port, data directory,
// source id and admin address matter; faults elsewhere do not.
// Errors: kUnavailable when nobody answers; else what the process said.
[[nodiscard]] Result<int> backfill_command(const CommandLine& line,
                                           const config::LoadInputs& inputs,
                                           Console& console);

}  // namespace cdc::app
