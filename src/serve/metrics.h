#pragma once

#include "base/metrics.h"
#include "snapshot/control.h"

namespace cdc::serve {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// Adds the figures of all backfills. Lifetime: `control` outlives the registry.
void add_backfill_metrics(metrics::Registry& registry, const snapshot::Control& control);

}  // namespace cdc::serve
