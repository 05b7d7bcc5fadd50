#pragma once

#include <string>

#include "base/result.h"
#include "config/config.h"
#include "config/load.h"
#include "http/client.h"

namespace cdc::app {

// How commands talk to the running process, over its admin API.

// The configuration as far as it says where that is: port, data directory, source id and admin
// address. Faults elsewhere do not matter.
[[nodiscard]] Result<config::Config> admin_configuration(const config::LoadInputs& inputs);

// Errors: kUnavailable when nobody answers, with a hint.
[[nodiscard]] Result<http::Reply> ask_process(const config::Config& config,
                                              http::Method method,
                                              std::string target,
                                              std::string body);

// What the process said instead of a success.
[[nodiscard]] Error refusal_in(const http::Reply& reply);

}  // namespace cdc::app
