#pragma once

#include "app/observed_parts.h"
#include "base/metrics.h"

namespace cdc::app {

// Adds every metric of a running pipeline: docs/operating/metrics.md has the same table. The parts
// are copied; what they refer to outlives the registry.
void add_metrics(metrics::Registry& registry, const ObservedParts& parts);

}  // namespace cdc::app
