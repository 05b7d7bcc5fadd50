#pragma once

#include <string>
#include <vector>

#include "state/backfill_store.h"

namespace cdc::serve {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

// The figures of all backfills in the text format of Prometheus.
[[nodiscard]] std::string backfill_metrics(const std::vector<state::BackfillTable>& tables);

}  // namespace cdc::serve
