#include "state/backfill_store.h"

#include <utility>

#include "base/format.h"
#include "state/internal/database.h"

namespace cdc::state {

std::string_view name_of(BackfillState state) noexcept {
  switch (state) {
    case BackfillState::kPending:
      return "pending";
    case BackfillState::kRunning:
      return "running";
    case BackfillState::kPaused:
      return "paused";
    case BackfillState::kComplete:
      return "complete";
    case BackfillState::kFailed:
      return "failed";
    case BackfillState::kCancelled:
      return "cancelled";
    case BackfillState::kSkipped:
      return "skipped";
  }
  return "unknown";
}

namespace {

using internal::Database;
using internal::DatabaseOptions;
using internal::Statement;

// docs/formats/state.md
constexpr std::string_view kSchema = R"(
CREATE TABLE backfill_tables (
  source_id TEXT NOT NULL,
  table_name TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  state INTEGER NOT NULL,
  reason_code TEXT NOT NULL,
  reason TEXT NOT NULL,
  row_condition TEXT NOT NULL,
  rows_total INTEGER NOT NULL,
  rows_read INTEGER NOT NULL,
  rows_emitted INTEGER NOT NULL,
  rows_dropped INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  from_lsn TEXT NOT NULL,
  to_lsn TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  PRIMARY KEY (source_id, table_name)
) WITHOUT ROWID;
CREATE TABLE backfill_ranges (
  source_id TEXT NOT NULL,
  table_name TEXT NOT NULL,
  number INTEGER NOT NULL,
  part_oid INTEGER NOT NULL,
  signature BLOB NOT NULL,
  lower_bound BLOB NOT NULL,
  upper_bound BLOB NOT NULL,
  complete INTEGER NOT NULL,
  PRIMARY KEY (source_id, table_name, number)
) WITHOUT ROWID;
)";

constexpr std::string_view kSelectTables =
    "SELECT table_name, snapshot_id, state, reason_code, reason, row_condition, rows_total, "
    "rows_read, rows_emitted, rows_dropped, chunks, from_lsn, to_lsn, started_at, updated_at, "
    "finished_at FROM backfill_tables WHERE source_id = ?1 ORDER BY table_name";
constexpr std::string_view kUpsertTable =
    "INSERT OR REPLACE INTO backfill_tables VALUES "
    "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
constexpr std::string_view kUpsertRange =
    "INSERT OR REPLACE INTO backfill_ranges VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

DatabaseOptions options_of(const std::filesystem::path& path) {
  return {
      .path = path, .schema_version = 1, .schema = std::string(kSchema), .sync_every_commit = true};
}

Error damaged(std::string what) {
  return make_error(Errc::kCorrupt,
                    "backfill.db holds " + std::move(what),
                    "move backfill.db away: all tables are then backfilled again");
}

// A count as the 64 bits it has; SQLite knows only signed numbers.
std::int64_t stored(std::uint64_t count) {
  return static_cast<std::int64_t>(count);
}

std::uint64_t count_of(const Statement& row, int column) {
  return static_cast<std::uint64_t>(row.integer(column));
}

Result<Lsn> lsn_of(const Statement& row, int column) {
  const std::string text = row.text(column);
  const auto lsn = parse_lsn(text);
  if (!lsn) {
    return fail(damaged(format("\"{}\" where a position belongs", text)));
  }
  return *lsn;
}

Result<BackfillState> state_of(const Statement& row, int column) {
  const std::int64_t number = row.integer(column);
  constexpr auto kLast = static_cast<std::int64_t>(BackfillState::kSkipped);
  if (number < 1 || number > kLast) {
    return fail(damaged(format("{} where the state of a table belongs", number)));
  }
  return static_cast<BackfillState>(number);
}

Result<BackfillTable> table_of(const Statement& row) {
  CDC_ASSIGN(const BackfillState state, state_of(row, 2));
  CDC_ASSIGN(const Lsn from, lsn_of(row, 11));
  CDC_ASSIGN(const Lsn to, lsn_of(row, 12));
  return BackfillTable{.table = row.text(0),
                       .snapshot_id = row.text(1),
                       .state = state,
                       .reason_code = row.text(3),
                       .reason = row.text(4),
                       .where = row.text(5),
                       .rows_total = row.integer(6),
                       .rows_read = count_of(row, 7),
                       .rows_emitted = count_of(row, 8),
                       .rows_dropped = count_of(row, 9),
                       .chunks = count_of(row, 10),
                       .from = from,
                       .to = to,
                       .started = UnixMicros{row.integer(13)},
                       .updated = UnixMicros{row.integer(14)},
                       .finished = UnixMicros{row.integer(15)}};
}

Status put_table(Statement& statement, std::string_view source_id, const BackfillTable& table) {
  CDC_TRY(statement.bind(1, source_id)
              .bind(2, table.table)
              .bind(3, table.snapshot_id)
              .bind(4, static_cast<std::int64_t>(table.state))
              .bind(5, table.reason_code)
              .bind(6, table.reason)
              .bind(7, table.where)
              .bind(8, table.rows_total)
              .bind(9, stored(table.rows_read))
              .bind(10, stored(table.rows_emitted))
              .bind(11, stored(table.rows_dropped))
              .bind(12, stored(table.chunks))
              .bind(13, to_string(table.from))
              .bind(14, to_string(table.to))
              .bind(15, table.started.value)
              .bind(16, table.updated.value)
              .bind(17, table.finished.value)
              .run());
  statement.reset();
  return {};
}

Status put_range(Statement& statement,
                 std::string_view source_id,
                 std::string_view table,
                 const BackfillRange& range) {
  CDC_TRY(statement.bind(1, source_id)
              .bind(2, table)
              .bind(3, std::int64_t{range.number})
              .bind(4, std::int64_t{range.part_oid})
              .bind_blob(5, range.signature)
              .bind_blob(6, range.lower)
              .bind_blob(7, range.upper)
              .bind(8, std::int64_t{range.complete})
              .run());
  statement.reset();
  return {};
}

class SqliteBackfillStore final : public BackfillStore {
 public:
  explicit SqliteBackfillStore(Database database) : database_(std::move(database)) {}

  Result<std::vector<BackfillTable>> load_tables(std::string_view source_id) override {
    CDC_ASSIGN(auto statement, database_.prepare(kSelectTables));
    statement.bind(1, source_id);
    std::vector<BackfillTable> tables;
    for (;;) {
      CDC_ASSIGN(const bool row, statement.step());
      if (!row) {
        return tables;
      }
      CDC_ASSIGN(auto table, table_of(statement));
      tables.push_back(std::move(table));
    }
  }

  Status save_tables(std::string_view source_id,
                     const std::vector<BackfillTable>& tables) override {
    return in_transaction([&]() -> Status {
      CDC_ASSIGN(auto statement, database_.prepare(kUpsertTable));
      for (const BackfillTable& table : tables) {
        CDC_TRY(put_table(statement, source_id, table));
      }
      return {};
    });
  }

  Result<std::vector<BackfillRange>> load_ranges(std::string_view source_id,
                                                 std::string_view table) override {
    CDC_ASSIGN(auto statement,
               database_.prepare("SELECT number, part_oid, signature, lower_bound, upper_bound, "
                                 "complete FROM backfill_ranges "
                                 "WHERE source_id = ?1 AND table_name = ?2 ORDER BY number"));
    statement.bind(1, source_id).bind(2, table);
    std::vector<BackfillRange> ranges;
    for (;;) {
      CDC_ASSIGN(const bool row, statement.step());
      if (!row) {
        return ranges;
      }
      ranges.push_back({.number = static_cast<std::uint32_t>(statement.integer(0)),
                        .part_oid = static_cast<std::uint32_t>(statement.integer(1)),
                        .signature = statement.text(2),
                        .lower = statement.text(3),
                        .upper = statement.text(4),
                        .complete = statement.integer(5) != 0});
    }
  }

  Status begin(std::string_view source_id,
               const BackfillTable& table,
               const std::vector<BackfillRange>& ranges) override {
    return in_transaction([&]() -> Status {
      CDC_ASSIGN(auto removal,
                 database_.prepare(
                     "DELETE FROM backfill_ranges WHERE source_id = ?1 AND table_name = ?2"));
      CDC_TRY(removal.bind(1, source_id).bind(2, table.table).run());
      CDC_ASSIGN(auto table_statement, database_.prepare(kUpsertTable));
      CDC_TRY(put_table(table_statement, source_id, table));
      CDC_ASSIGN(auto range_statement, database_.prepare(kUpsertRange));
      for (const BackfillRange& range : ranges) {
        CDC_TRY(put_range(range_statement, source_id, table.table, range));
      }
      return {};
    });
  }

  Status advance(std::string_view source_id,
                 const BackfillTable& table,
                 const BackfillRange& range) override {
    // Chunks come by the hundred per second beside the journal's own syncs.
    CDC_TRY(database_.execute("PRAGMA synchronous = NORMAL"));
    Status done = in_transaction([&]() -> Status {
      CDC_ASSIGN(auto table_statement, database_.prepare(kUpsertTable));
      CDC_TRY(put_table(table_statement, source_id, table));
      CDC_ASSIGN(auto range_statement, database_.prepare(kUpsertRange));
      return put_range(range_statement, source_id, table.table, range);
    });
    CDC_TRY(database_.execute("PRAGMA synchronous = FULL"));
    return done;
  }

 private:
  // All of `work` or nothing.
  template <class Work>
  Status in_transaction(const Work& work) {
    CDC_TRY(database_.execute("BEGIN IMMEDIATE"));
    Status done = work();
    if (done) {
      done = database_.execute("COMMIT");
    }
    if (!done) {
      // Some failures have rolled back already, and then this one says so; the first one counts.
      static_cast<void>(database_.execute("ROLLBACK"));
    }
    return done;
  }

  Database database_;
};

}  // namespace

Result<std::unique_ptr<BackfillStore>> BackfillStore::open(const std::filesystem::path& path) {
  CDC_ASSIGN(auto database, Database::open(options_of(path)));
  return std::make_unique<SqliteBackfillStore>(std::move(database));
}

Result<std::unique_ptr<BackfillStore>> BackfillStore::open_read_only(
    const std::filesystem::path& path) {
  CDC_ASSIGN(auto database, Database::open_read_only(options_of(path)));
  return std::make_unique<SqliteBackfillStore>(std::move(database));
}

}  // namespace cdc::state
