#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.h"

namespace cdc::serve {

// Who may use the data plane: the bearer of the token, from pages of allowed origins.
//
// A page of another origin is refused rather than left without CORS headers: the browser would hide
// the answer from it, but a named consumer's cursor would move all the same.
// Thread: any.
class Access {
 public:
  // An empty token: everybody. `origins` as in an Origin header, or "*".
  Access(std::string token, std::vector<std::string> origins)
      : token_(std::move(token)), origins_(std::move(origins)) {}

  // 401 or 403; nothing when the request is welcome.
  [[nodiscard]] std::optional<http::Response> refusal(const http::Request& request) const;
  // Lets the page that asked read the answer.
  void add_headers(const http::Request& request, http::Response& response) const;
  // The answer to a browser that asks first.
  [[nodiscard]] http::Response preflight(const http::Request& request) const;

 private:
  [[nodiscard]] bool is_allowed(std::string_view origin) const;

  std::string token_;
  std::vector<std::string> origins_;
};

}  // namespace cdc::serve
