#pragma once

#include "base/result.h"
#include "base/unique_handle.h"
#include "config/config.h"

namespace cdc::app {

// SIGINT and SIGTERM as a descriptor. All threads started later inherit the mask, so that only the
// main thread hears of them. A reader that goes away is an error of write(), not a signal.
[[nodiscard]] UniqueFd take_signals();

// Runs the pipeline until SIGINT or SIGTERM, until the output is closed by its reader, or until
// something fails for good. The first two are success. Thread: the main thread, before it has
// started any other.
[[nodiscard]] Status run(const config::Config& config);

}  // namespace cdc::app
