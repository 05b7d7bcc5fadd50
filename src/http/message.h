#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/stream.h"

namespace cdc::http {

enum class Method : std::uint8_t {
  kGet,  // HEAD too: the server leaves the body out
  kPost,
  kDelete,
  kOptions,  // what a browser asks before it sends a page's request to another origin
};

[[nodiscard]] std::string_view name_of(Method method) noexcept;

struct Field {
  std::string name;
  std::string value;
};

// What a handler gets to see.
struct Request {
  std::string parameter;  // what stands for {…} in the route, decoded
  std::string body;
  std::string target = {};  // as it was sent, for query_parameters()
  std::vector<Field> headers = {};
  bool is_head = false;  // no body will be sent, so nothing needs to be begun

  // The first header with this name, whatever its case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

struct Response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow = {};  // of a 405
  std::vector<Field> headers = {};
  // Instead of `body`: the answer goes on until the stream or the connection ends.
  std::shared_ptr<Stream> stream = nullptr;
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
