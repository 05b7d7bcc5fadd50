#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "postgres/snapshot_reader.h"
#include "postgres/snapshot_table.h"
#include "snapshot/range_progress.h"
#include "snapshot/worker.h"
#include "state/backfill_store.h"

namespace cdc::snapshot {

struct ChunkLimits {
  std::chrono::milliseconds time{500};  // what a chunk should take
  std::size_t bytes = 4U << 20U;        // of rendered events
};

// The backfill of one table while it is being worked on: what to read next, what is out, how large
// chunks should be. Knows nothing of threads, connections and files. Thread: the coordinator.
class TableJob {
 public:
  enum class Phase : std::uint8_t {
    kWatching,    // the stream is asked to remember the table's changes
    kDescribing,  // a worker looks at the table
    kReading,
    kAsking,     // the stream is asked whether rows were moved while they were read
    kFinishing,  // the last word about it is on its way through the stream
  };

  TableJob(state::BackfillTable record,
           postgres::PublishedTable published,
           std::shared_ptr<const postgres::TableRules> rules,
           const ChunkLimits& limits);

  // ---- describing ----
  [[nodiscard]] bool wants_description() const noexcept;
  [[nodiscard]] DescribeJob describe(std::uint64_t ticket, const std::string& publication);

  void description_failed() noexcept { describing_ = 0; }

  // Takes the description. True: a backfill begins, from its first row (the ranges are new).
  // False: it goes on where it was.
  [[nodiscard]] bool described(const Described& described, UnixMicros now);

  // ---- reading ----
  [[nodiscard]] std::optional<ReadJob> read_next(std::uint64_t ticket);
  // Of the rows read under the ticket, these alone are wanted; null: all.
  [[nodiscard]] KeySet only(std::uint64_t ticket) const;
  // The rest of what was read goes on, and comes back as delivered() or again().
  void read(std::uint64_t ticket, const postgres::SnapshotChunk& chunk);
  void again(std::uint64_t ticket);
  // The range whose durable bound moved, to be saved together with record().
  [[nodiscard]] const RangeProgress* delivered(const Delivered& delivered);
  // All of the table once more, for the sake of these rows.
  void repair(const KeySet& keys);

  // The table is not what it was: describe it again before anything else is read.
  void describe_again() noexcept { stale_description_ = true; }

  // A view that is not newer than any that is out or will be; nothing when it is the same as last
  // time.
  [[nodiscard]] SharedView take_oldest_view();

  [[nodiscard]] bool all_read() const noexcept;

  // ---- state ----
  [[nodiscard]] std::vector<state::BackfillRange> ranges() const;
  void resume_ranges(const std::vector<state::BackfillRange>& ranges);

  [[nodiscard]] state::BackfillTable& record() noexcept { return record_; }

  [[nodiscard]] const state::BackfillTable& record() const noexcept { return record_; }

  [[nodiscard]] const postgres::PublishedTable& published() const noexcept { return published_; }

  [[nodiscard]] const Description* description() const noexcept { return description_.get(); }

  [[nodiscard]] std::size_t out() const noexcept { return out_.size(); }

  [[nodiscard]] bool is_out(std::uint64_t ticket) const { return out_.contains(ticket); }

  Phase phase = Phase::kWatching;
  MonotonicTime retry_at;              // after a fault that may pass
  std::uint64_t finishing_ticket = 0;  // of the last word about it
  unsigned refusals = 0;               // one after the other

 private:
  struct Out {
    std::size_t range = 0;
    SharedView floor;  // no newer than the view it is read under
    KeySet only;
    std::uint64_t rows_read = 0;
  };

  [[nodiscard]] bool fits(const Description& description);
  void begin(const Described& described, UnixMicros now);
  void adapt(const postgres::SnapshotChunk& chunk);

  state::BackfillTable record_;
  postgres::PublishedTable published_;
  std::shared_ptr<const postgres::TableRules> rules_;
  ChunkLimits limits_;
  std::shared_ptr<const Description> description_;
  std::uint64_t describing_ = 0;  // ticket
  bool stale_description_ = false;
  bool repairing_ = false;  // the ranges are those of a second reading, which is not saved
  std::vector<RangeProgress> ranges_;
  std::map<std::uint64_t, Out> out_;  // by ticket, so in the order of reading
  SharedView latest_;
  SharedView pruned_;
  std::uint64_t rows_per_chunk_;
  std::uint64_t chunks_ = 0;
  std::uint64_t rows_seen_ = 0;  // read so far, durable or not
};

}  // namespace cdc::snapshot
