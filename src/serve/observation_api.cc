#include "serve/observation_api.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "json/utf8.h"
#include "serve/metrics.h"

namespace cdc::serve {
namespace {

using http::Method;
using http::Request;
using http::Response;

Response with_body(unsigned status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

Response ready_response(const std::vector<Check>& checks) {
  const bool ready = all_ok(checks);
  return with_body(ready ? 200 : 503,
                   cdc::format("{{\"ready\":{},\"checks\":[{}]}}\n", ready, checks_json(checks)));
}

}  // namespace

bool all_ok(const std::vector<Check>& checks) {
  return std::ranges::all_of(checks, &Check::ok);
}

std::string checks_json(const std::vector<Check>& checks) {
  json::TextBuffer out;
  for (const Check& check : checks) {
    out.append(out.empty() ? "{\"name\":" : ",{\"name\":");
    json::append_any_string(out, check.name);
    out.append(check.ok ? ",\"ok\":true,\"detail\":" : ",\"ok\":false,\"detail\":");
    json::append_any_string(out, check.detail);
    out.append("}");
  }
  return std::string(out.view());
}

void add_observation_routes(http::Router& router, const Observation& observation) {
  router.add(Method::kGet, "/healthz", [](const Request&) {
    return with_body(200, "{\"status\":\"ok\"}\n");
  });
  router.add(Method::kGet, "/readyz", [checks = observation.checks](const Request&) {
    return ready_response(checks());
  });
  router.add(Method::kGet, "/startupz", [started = observation.started](const Request&) {
    return started() ? with_body(200, "{\"status\":\"started\"}\n")
                     : with_body(503, "{\"status\":\"starting\"}\n");
  });
  router.add(Method::kGet, "/metrics", [&registry = observation.registry](const Request&) {
    Response response = with_body(200, registry.text());
    response.content_type = kMetricsContentType;
    return response;
  });
  router.add(Method::kGet, "/api/v1/status", [status = observation.status](const Request&) {
    return with_body(200, status() + "\n");
  });
}

}  // namespace cdc::serve
