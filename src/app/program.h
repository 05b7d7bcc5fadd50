#pragma once

#include <string>
#include <vector>

#include "app/console.h"
#include "config/expansion.h"

namespace cdc::app {

// The whole program behind main(): reads the command line, runs the command, reports what went
// wrong once, and gives the exit status of base/error.h. `arguments` are those behind the program's
// name.
[[nodiscard]] int run_program(const std::vector<std::string>& arguments,
                              const config::Environment& environment,
                              Console& console);

}  // namespace cdc::app
