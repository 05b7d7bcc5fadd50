#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/sync/thread.h"
#include "model/event_batch.h"
#include "postgres/event_encoder.h"
#include "postgres/snapshot_table.h"
#include "postgres/snapshot_view.h"

namespace cdc::postgres {

// One chunk to read: from `range.lower` on.
struct ChunkRequest {
  const SnapshotTable* table = nullptr;
  SnapshotRange range;
  std::string snapshot_id;
  UnixMicros snapshot_time;      // when the snapshot of the table began: the time inside event ids
  std::uint64_t chunk = 0;       // number, for metadata
  std::int64_t rows_total = -1;  // for metadata.snapshot_progress; -1: unknown
  std::uint64_t rows_done = 0;   // likewise: read before this chunk
  std::uint64_t rows_max = 1'000;     // by key: rows. By block: blocks that hold about so many
  std::size_t bytes_max = 4U << 20U;  // of rendered events; the chunk ends after the row that
                                      // passes it, whatever rows_max says
};

// What was read. `rows` has one event per row that passed the filters, in the order of reading,
// with key hashes as the stream's events have them; commit_lsn and index are set by whoever puts
// them into the stream.
struct SnapshotChunk {
  bool changed = false;  // the part's signature is another: nothing was read, describe it again
  SnapshotView view;
  model::EventBatch rows;
  // By block: the transaction that wrote each of `rows` (xmin, low half).
  std::vector<std::uint32_t> writers;
  std::uint64_t rows_read = 0;  // before the filters
  std::string next;             // the range's new lower bound
  bool last = false;            // the range is finished
  std::chrono::microseconds took{0};
};

// Reads chunks over one connection of its own.
//
// Each chunk is a short transaction: ACCESS SHARE on the table, the snapshot, COPY, the end. The
// text is the stream's text, and one renderer serves both. After it the server's WAL is made to
// reach the view's end, where that is allowed, so that an idle stream passes it at once.
//
// Errors    As Connection's; kUnavailable also when the lock was not had in time, and then the
//           reader can be used again; see is_broken().
// Bounds    Memory: the chunk, one row and libpq's buffer.
// Thread    One owner; waits poll the stop signal (kClosed). Lifetime: the stop signal outlives it.
class SnapshotReader {
 public:
  struct Options {
    std::string dsn;
    std::string source_id;
    std::chrono::milliseconds lock_timeout{5'000};
  };

  [[nodiscard]] static Result<std::unique_ptr<SnapshotReader>> open(const Options& options,
                                                                    const StopSignal& stop);
  ~SnapshotReader();
  SnapshotReader(const SnapshotReader&) = delete;
  SnapshotReader& operator=(const SnapshotReader&) = delete;

  // `memory` is emptied and becomes the chunk's rows.
  [[nodiscard]] Result<SnapshotChunk> read(const ChunkRequest& request,
                                           model::EventBatch memory = {});

  // After an error that the connection did not survive.
  [[nodiscard]] bool is_broken() const noexcept;

  // For describing tables and splitting them.
  [[nodiscard]] Connection& connection() noexcept;

 private:
  struct State;
  explicit SnapshotReader(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Facts about a snapshot as events of a batch of their own, one line each, rendered like other
// control events (docs/operating/events.md). Deterministic ids per snapshot id.
struct SnapshotFacts {
  std::string source_id;
  std::string schema;  // empty for snapshot_all_complete
  std::string table;
  std::string snapshot_id;
  UnixMicros time;
  std::uint64_t rows_read = 0;     // snapshot_complete
  std::uint64_t rows_emitted = 0;  // likewise
  std::uint64_t rows_dropped = 0;  // likewise: a newer change was in the stream
  Lsn from;                        // likewise: views of the first and of the last chunk
  Lsn to;
};

void encode_snapshot_started(const SnapshotFacts& facts, model::EventBatch& batch);
void encode_snapshot_complete(const SnapshotFacts& facts, model::EventBatch& batch);
void encode_snapshot_all_complete(const SnapshotFacts& facts, model::EventBatch& batch);

}  // namespace cdc::postgres
