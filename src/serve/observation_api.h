#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "http/router.h"

namespace cdc::serve {

// One thing that must be so for the process to do its work.
struct Check {
  std::string name;
  bool ok = false;
  std::string detail;  // for people: how it stands, and what to do if it is not ok
};

// {"name":…,"ok":…,"detail":…}, …: the items of a list, without the brackets.
[[nodiscard]] std::string checks_json(const std::vector<Check>& checks);
[[nodiscard]] bool all_ok(const std::vector<Check>& checks);

// What monitoring asks for: docs/operating/health.md, docs/operating/metrics.md.
//
//   GET /healthz         200: the process answers
//   GET /readyz          200 or 503, with the checks
//   GET /startupz        200 once `started`, 503 before
//   GET /metrics         the registry as text
//   GET /api/v1/status   what `status` gives: one JSON object
//
// Lifetime: the registry, and all that the calls refer to, outlive the server that gets the router.
// Thread: all of it is called on the server's.
struct Observation {
  const metrics::Registry& registry;
  std::function<std::vector<Check>()> checks;
  std::function<bool()> started;
  std::function<std::string()> status;
};

void add_observation_routes(http::Router& router, const Observation& observation);

}  // namespace cdc::serve
