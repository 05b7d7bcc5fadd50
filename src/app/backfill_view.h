#pragma once

#include <string>
#include <vector>

#include "state/backfill_store.h"

namespace cdc::app {

// The backfills for people, in aligned columns. Speed and time left are those since the beginning
// of each; the time left is shown only while `is_running`, which is whether the process is.
[[nodiscard]] std::string backfill_table(const std::vector<state::BackfillTable>& tables,
                                         bool is_running);

}  // namespace cdc::app
