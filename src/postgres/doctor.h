#pragma once

#include <string>
#include <vector>

#include "base/sync/thread.h"
#include "config/config.h"

namespace cdc::postgres {

enum class Verdict : unsigned char {
  kPass,
  kWarn,
  kFail
};

// One finding. `fix` is SQL or a setting that mends it, empty when it passes.
struct Check {
  std::string name;  // stable identifier: wal_level, slots_free, ...
  Verdict verdict = Verdict::kPass;
  std::string detail;
  std::string fix;
};

// Connects once and checks everything the source needs, without changing anything. Never fails as a
// whole: a failed connection is a failed check.
[[nodiscard]] std::vector<Check> examine_source(const config::Config& config,
                                                const StopSignal& stop);

}  // namespace cdc::postgres
