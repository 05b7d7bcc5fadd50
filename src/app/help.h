#pragma once

#include <string>

#include "app/command_table.h"

namespace cdc::app {

// The text of --help: of the program, or of one command. Lines are at most 100 columns.
[[nodiscard]] std::string program_help();
[[nodiscard]] std::string command_help(const Command& command);

}  // namespace cdc::app
