#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"

namespace cdc::app {

// The status of a process for people, on one screen. Errors: kProtocol when the document is not
// what status_json() writes.
[[nodiscard]] Result<std::string> status_screen(const json::Value& status);

// "1.5 GiB".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

// "3h05m".
[[nodiscard]] std::string duration_text(std::int64_t seconds);

}  // namespace cdc::app
