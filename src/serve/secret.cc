#include "serve/secret.h"

#include <cstddef>

namespace cdc::serve {

bool equal_secrets(std::string_view given, std::string_view secret) noexcept {
  // volatile: the compiler must not leave the loop once the outcome is known.
  volatile unsigned difference = given.size() == secret.size() ? 0U : 1U;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char expected = secret.empty() ? '\0' : secret[i % secret.size()];
    difference = difference | static_cast<unsigned char>(given[i] ^ expected);
  }
  return difference == 0;
}

}  // namespace cdc::serve
