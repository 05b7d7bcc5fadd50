#include "serve/access.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "http/target.h"
#include "serve/secret.h"

namespace cdc::serve {
namespace {

using http::Request;
using http::Response;

constexpr std::string_view kScheme = "Bearer ";

bool starts_with_scheme(std::string_view text) {
  return text.size() >= kScheme.size() &&
         std::ranges::equal(text.substr(0, kScheme.size()), kScheme, [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) ==
                  (b >= 'A' && b <= 'Z' ? static_cast<char>(b | 0x20) : b);
         });
}

std::string given_token(const Request& request) {
  if (const auto header = request.header("Authorization")) {
    return starts_with_scheme(*header) ? std::string(header->substr(kScheme.size())) : "";
  }
  const auto parameters = http::query_parameters(request.target);
  if (!parameters) {
    return {};
  }
  const auto found = std::ranges::find(*parameters, "access_token", &http::Parameter::name);
  return found == parameters->end() ? std::string() : found->value;
}

Response unauthorized() {
  Response response =
      http::error_response(401,
                           "unauthorized",
                           "the request has no valid token",
                           "send Authorization: Bearer with the value of auth-token; a browser's "
                           "EventSource can send ?access_token= instead");
  response.headers.push_back({.name = "WWW-Authenticate", .value = "Bearer realm=\"kaptanto\""});
  return response;
}

bool is_same_origin(std::string_view origin, const Request& request) {
  const auto host = request.header("Host");
  return host && (origin == "http://" + std::string(*host));
}

}  // namespace

bool Access::is_allowed(std::string_view origin) const {
  return std::ranges::any_of(
      origins_, [&](const std::string& known) { return known == "*" || known == origin; });
}

std::optional<Response> Access::refusal(const Request& request) const {
  const auto origin = request.header("Origin");
  if (origin && !is_allowed(*origin) && !is_same_origin(*origin, request)) {
    return http::error_response(403,
                                "forbidden_origin",
                                "pages of this origin may not read events",
                                "add the origin to cors-origin");
  }
  if (!token_.empty() && !equal_secrets(given_token(request), token_)) {
    return unauthorized();
  }
  return std::nullopt;
}

void Access::add_headers(const Request& request, Response& response) const {
  if (origins_.empty()) {
    return;
  }
  response.headers.push_back({.name = "Vary", .value = "Origin"});
  const auto origin = request.header("Origin");
  if (origin && is_allowed(*origin)) {
    response.headers.push_back(
        {.name = "Access-Control-Allow-Origin", .value = std::string(*origin)});
  }
}

Response Access::preflight(const Request& request) const {
  const auto origin = request.header("Origin");
  if (!origin || !is_allowed(*origin)) {
    return http::error_response(403,
                                "forbidden_origin",
                                "pages of this origin may not read events",
                                "add the origin to cors-origin");
  }
  Response response;
  response.status = 204;
  response.headers = {
      {.name = "Access-Control-Allow-Methods", .value = "GET, POST"},
      {.name = "Access-Control-Allow-Headers",
       .value = "Authorization, Content-Type, Last-Event-ID, Cache-Control"},
      {.name = "Access-Control-Max-Age", .value = "600"},
  };
  return response;
}

}  // namespace cdc::serve
