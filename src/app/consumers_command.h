#pragma once

#include "app/command_line.h"
#include "app/console.h"
#include "base/result.h"
#include "config/load.h"

namespace cdc::app {

// `kaptanto consumers list|show|reset|delete`: asks the running process; list and show can do
// without one.
[[nodiscard]] Result<int> consumers_command(const CommandLine& line,
                                            const config::LoadInputs& inputs,
                                            Console& console);

}  // namespace cdc::app
