#pragma once

#include <string_view>

namespace cdc::serve {

// Compares in a time that depends on the lengths alone, so that no one can learn a secret from how
// long a wrong guess takes.
[[nodiscard]] bool equal_secrets(std::string_view given, std::string_view secret) noexcept;

}  // namespace cdc::serve
