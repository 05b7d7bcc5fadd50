#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace cdc::postgres {

// Which transactions the rows of a chunk contain: what the server said of the snapshot that they
// were read with. It settles, exactly, which of a row and of a change to it is newer, wherever the
// two meet in the stream (docs/adr/0009-chunks-by-visibility.md).
//
// Spec  PostgreSQL documentation, "Transaction ID and Snapshot Information Functions".
struct SnapshotView {
  // Of pg_current_snapshot(), on a primary.
  std::uint64_t xmin = 0;                  // all transactions below are finished
  std::uint64_t xmax = 0;                  // none from here on is visible
  std::vector<std::uint64_t> in_progress;  // of those between, sorted
  // A standby shows what it has replayed; its snapshots do not list the transactions in progress.
  // Everything that committed below this had been replayed before the snapshot was taken.
  bool standby = false;
  Lsn low;
  // Everything the rows contain had committed below this.
  Lsn high;

  // Whether the rows contain the transaction, as the stream knows it: the low half of its id, and
  // where it committed.
  [[nodiscard]] bool sees(std::uint32_t xid, Lsn commit_lsn) const noexcept;
};

}  // namespace cdc::postgres
