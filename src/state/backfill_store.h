#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"

namespace cdc::state {

// Numbers are persisted: never reuse one.
enum class BackfillState : std::uint8_t {
  kPending = 1,
  kRunning = 2,
  kPaused = 3,
  kComplete = 4,
  kFailed = 5,
  kCancelled = 6,
  kSkipped = 7,  // by mode `never`: its rows are not wanted
};

// The word in status output.
[[nodiscard]] std::string_view name_of(BackfillState state) noexcept;

// The backfill of one table: what is known of its latest one.
struct BackfillTable {
  std::string table;        // "schema.table", unquoted
  std::string snapshot_id;  // chosen when it begins, kept over restarts
  BackfillState state = BackfillState::kPending;
  std::string reason_code;  // kFailed: Errc's name
  std::string reason;
  std::string where;             // of a backfill on demand; empty: all rows
  std::int64_t rows_total = -1;  // estimate; -1: unknown
  std::uint64_t rows_read = 0;
  std::uint64_t rows_emitted = 0;
  std::uint64_t rows_dropped = 0;  // newer changes were in the stream
  std::uint64_t chunks = 0;
  Lsn from;  // view of the first chunk
  Lsn to;    // view of the last chunk so far
  UnixMicros started;
  UnixMicros updated;
  UnixMicros finished;

  bool operator==(const BackfillTable&) const = default;
};

// A share of a table and how far it is. Bounds as postgres::SnapshotRange has them: any bytes.
struct BackfillRange {
  std::uint32_t number = 0;  // in the table
  std::uint32_t part_oid = 0;
  std::string signature;  // of the part when the range was made
  std::string lower;      // moves up with each durable chunk
  std::string upper;
  bool complete = false;

  bool operator==(const BackfillRange&) const = default;
};

// <data-dir>/backfill.db. Thread: one owner. Errors: kIo, kCorrupt, kVersion, kNoSpace.
class BackfillStore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<BackfillStore>> open(
      const std::filesystem::path& path);
  // For a look from outside while the process runs, or after; kNotFound without a file.
  [[nodiscard]] static Result<std::unique_ptr<BackfillStore>> open_read_only(
      const std::filesystem::path& path);
  virtual ~BackfillStore() = default;

  // Ordered by name.
  [[nodiscard]] virtual Result<std::vector<BackfillTable>> load_tables(
      std::string_view source_id) = 0;
  // One transaction, whatever their number.
  [[nodiscard]] virtual Status save_tables(std::string_view source_id,
                                           const std::vector<BackfillTable>& tables) = 0;

  // Ordered by number.
  [[nodiscard]] virtual Result<std::vector<BackfillRange>> load_ranges(std::string_view source_id,
                                                                       std::string_view table) = 0;
  // Saves the table and puts these ranges in place of all it had.
  [[nodiscard]] virtual Status begin(std::string_view source_id,
                                     const BackfillTable& table,
                                     const std::vector<BackfillRange>& ranges) = 0;
  // After a durable chunk: the table's counters and one range, in one transaction. Survives the
  // process; a loss of power may take the latest of these back, and their chunks come again.
  [[nodiscard]] virtual Status advance(std::string_view source_id,
                                       const BackfillTable& table,
                                       const BackfillRange& range) = 0;
};

}  // namespace cdc::state
