#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "postgres/snapshot_view.h"
#include "snapshot/exchange.h"
#include "state/backfill_store.h"

namespace cdc::snapshot {

using SharedView = std::shared_ptr<const postgres::SnapshotView>;

struct RowCounts {
  std::uint64_t read = 0;
  std::uint64_t emitted = 0;
  std::uint64_t dropped = 0;  // newer changes were in the stream
  std::uint64_t chunks = 0;
};

// How far one range of a table is: which pieces of it are being read, are on their way through the
// stream, or are to be read again; and up to where all of it is durable.
//
// Invariants  R1 the pieces lie side by side from the durable bound to the end of the range.
//             R2 the durable bound moves over whole pieces in order, whatever the order in which
//                they are delivered, and their counts with it.
// Thread      One owner.
class RangeProgress {
 public:
  explicit RangeProgress(state::BackfillRange range, KeySet only = nullptr);

  struct Task {
    std::string lower;
    std::string upper;
    KeySet only;  // null: all rows
  };

  // The bounds to read from next. Nothing: all is out or done.
  [[nodiscard]] std::optional<Task> next_task() const;
  // That task was given out under `ticket`.
  void taken(std::uint64_t ticket);

  // The piece was read up to `next` (or to its end) and is on its way through the stream.
  void read(std::uint64_t ticket, const std::string& next, bool last);
  // It must be read again; with `only`, for the sake of these rows alone.
  void again(std::uint64_t ticket, KeySet only = nullptr);
  // This much of it is durable, but it must be read again.
  void counted(std::uint64_t ticket, const RowCounts& counts);
  // It is durable. What lies below the durable bound now and did not before; nothing when it did
  // not move.
  std::optional<RowCounts> delivered(std::uint64_t ticket, const RowCounts& counts);

  // With the durable bound as its lower one.
  [[nodiscard]] const state::BackfillRange& range() const noexcept { return range_; }

  [[nodiscard]] bool complete() const noexcept { return pieces_.empty(); }

 private:
  enum class Stage : std::uint8_t {
    kToRead,
    kOut,
    kDurable
  };

  struct Piece {
    std::string lower;
    std::string upper;
    KeySet only;
    Stage stage = Stage::kToRead;
    std::uint64_t ticket = 0;
    RowCounts counts;
  };

  [[nodiscard]] std::deque<Piece>::iterator find(std::uint64_t ticket);

  state::BackfillRange range_;
  std::deque<Piece> pieces_;
};

}  // namespace cdc::snapshot
