#pragma once

#include "base/result.h"
#include "config/config.h"

namespace cdc::app {

// Runs the pipeline until SIGINT or SIGTERM, until the output is closed by its reader, or until
// something fails for good. The first two are success. Thread: the main thread, before it has
// started any other.
[[nodiscard]] Status run(const config::Config& config);

}  // namespace cdc::app
