#pragma once

#include <string>
#include <vector>

#include "app/observed_parts.h"
#include "serve/observation_api.h"

namespace cdc::app {

// What must be so for the process to be ready: docs/operating/health.md.
[[nodiscard]] std::vector<serve::Check> health_checks(const ObservedParts& parts);

// What GET /api/v1/status answers: docs/operating/status.md.
[[nodiscard]] std::string status_json(const ObservedParts& parts);

}  // namespace cdc::app
