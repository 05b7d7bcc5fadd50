#pragma once

#include "app/command_line.h"
#include "app/console.h"
#include "config/load.h"

namespace cdc::app {

// `validate`: names every fault on standard output. The result is the exit status.
[[nodiscard]] Result<int> validate_command(const CommandLine& line,
                                           const config::LoadInputs& inputs,
                                           Console& console);

// `schema`, `completion SHELL` and `version`.
[[nodiscard]] Result<int> schema_command(const CommandLine& line, Console& console);
[[nodiscard]] Result<int> completion_command(const CommandLine& line, Console& console);
[[nodiscard]] Result<int> version_command(const CommandLine& line, Console& console);

}  // namespace cdc::app
