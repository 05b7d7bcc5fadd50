#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/backfill_store.h"

namespace cdc::snapshot {

// What people may ask of the backfills of a running process. Thread: any.
class Control {
 public:
  virtual ~Control() = default;

  // All tables of the source, ordered by name, with the counters of this moment.
  [[nodiscard]] virtual std::vector<state::BackfillTable> status() const = 0;

  // `table` as users write it: table, schema.table, quoted parts. Each returns the table's name, or
  //   kNotFound         no such table is captured
  //   kInvalidArgument  it is in a state that does not allow it, or the condition does not parse
  //   kUnavailable      the process is stopping, or too many requests are waiting
  // The change itself follows; status() tells.
  //
  // Reads all rows again, or those that meet `where`; not while a backfill of the table is running.
  [[nodiscard]] virtual Result<std::string> start(std::string_view table,
                                                  std::string_view where) = 0;
  [[nodiscard]] virtual Result<std::string> pause(std::string_view table) = 0;
  [[nodiscard]] virtual Result<std::string> resume(std::string_view table) = 0;
  [[nodiscard]] virtual Result<std::string> cancel(std::string_view table) = 0;
};

}  // namespace cdc::snapshot
