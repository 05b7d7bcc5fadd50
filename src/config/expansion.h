#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cdc::config {

using Environment = std::map<std::string, std::string, std::less<>>;

// Replaces `${NAME}` and `${NAME:-default}` in `text`; `$$` is one dollar sign, and a dollar sign
// before anything else stands for itself. The default is literal text up to the closing brace, and
// is taken when the variable is unset or empty, as in a shell. What a variable holds is never read
// again.
//
// Errors    kConfigInvalid: an unset variable without default, named in the message; a malformed
//           reference. Messages never hold the text or the value of a variable.
// Bounds    A result of 1 MiB.
[[nodiscard]] Result<std::string> expand_variables(std::string_view text,
                                                   const Environment& environment);

}  // namespace cdc::config
