#pragma once

#include <string>
#include <vector>

#include "config/expansion.h"

namespace cdc::app {

// The process's environment as it is now.
[[nodiscard]] config::Environment read_environment();

// Overwrites the values of secret flags (--source and the like) in the argument vector itself, so
// that `ps` no longer shows them. Call it once, after the arguments were copied.
void hide_secret_arguments(int count, char** arguments);

}  // namespace cdc::app
