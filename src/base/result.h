#pragma once

#include <expected>
#include <utility>

#include "base/error.h"

namespace cdc {

// The return type of everything that can fail in operation. Only the basic interface of
// std::expected is used (libstdc++ 12 has no monadic members).
template <class T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

[[nodiscard]] inline std::unexpected<Error> fail(Errc code,
                                                 std::string message,
                                                 std::string hint = {}) {
  return std::unexpected<Error>(make_error(code, std::move(message), std::move(hint)));
}

}  // namespace cdc

// Returns the error of a Status from the enclosing function.
#define CDC_TRY(expression)                                   \
  do {                                                        \
    if (auto cdc_status_ = (expression); !cdc_status_) {      \
      return std::unexpected(std::move(cdc_status_).error()); \
    }                                                         \
  } while (false)

#define CDC_CONCAT_INNER(a, b) a##b
#define CDC_CONCAT(a, b) CDC_CONCAT_INNER(a, b)

// CDC_ASSIGN(auto fd, open_file(path)): binds the value or returns the error.
#define CDC_ASSIGN(declaration, expression) \
  CDC_ASSIGN_INNER(CDC_CONCAT(cdc_result_, __LINE__), declaration, expression)
#define CDC_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                             \
  if (!result) {                                          \
    return std::unexpected(std::move(result).error());    \
  }                                                       \
  declaration = std::move(result).value()
