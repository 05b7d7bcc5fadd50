#pragma once

#include <fmt/format.h>

namespace cdc {

// libstdc++ 12 has no std::format; the rest of the tree takes it from here.
using fmt::format;

}  // namespace cdc
