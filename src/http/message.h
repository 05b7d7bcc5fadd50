#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cdc::http {

enum class Method : std::uint8_t {
  kGet,  // HEAD too: the server leaves the body out
  kPost,
};

[[nodiscard]] std::string_view name_of(Method method) noexcept;

// What a handler gets to see.
struct Request {
  std::string parameter;  // what stands for {…} in the route, decoded
  std::string body;
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow = {};  // of a 405
};

// {"error":{"code":…,"message":…,"hint":…}}, the body of every answer that is not a success.
[[nodiscard]] Response error_response(unsigned status,
                                      std::string_view code,
                                      std::string_view message,
                                      std::string_view hint = {});

// The same for an error of ours: kNotFound is 404, kUnavailable 503, kInvalidArgument 409 because
// the request itself was fit to be read, and the rest 500.
[[nodiscard]] Response error_response(const Error& error);

}  // namespace cdc::http
