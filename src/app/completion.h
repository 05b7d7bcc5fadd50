#pragma once

#include <string>

namespace cdc::app {

// Completion scripts, made from the command table. Each stands alone: no completion library of the
// shell is needed beyond what the shell itself brings.
[[nodiscard]] std::string bash_completion();
[[nodiscard]] std::string zsh_completion();
[[nodiscard]] std::string fish_completion();

}  // namespace cdc::app
