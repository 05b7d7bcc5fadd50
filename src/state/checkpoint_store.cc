#include "state/checkpoint_store.h"

#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "state/internal/database.h"

namespace cdc::state {

namespace {

using internal::Database;

// docs/formats/state.md
constexpr std::string_view kSchema = R"(
CREATE TABLE source_checkpoints (
  source_id TEXT PRIMARY KEY,
  system_identifier TEXT NOT NULL,
  database TEXT NOT NULL,
  slot TEXT NOT NULL,
  plugin TEXT NOT NULL,
  timeline INTEGER NOT NULL,
  lsn TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE table_shapes (
  source_id TEXT NOT NULL,
  table_name TEXT NOT NULL,
  hash TEXT NOT NULL,
  previous TEXT NOT NULL,
  since_lsn TEXT NOT NULL,
  PRIMARY KEY (source_id, table_name)
) WITHOUT ROWID;
)";

Result<Lsn> stored_lsn(const std::string& text) {
  const auto lsn = parse_lsn(text);
  if (!lsn) {
    return fail(Errc::kCorrupt,
                format("checkpoint.db holds \"{}\" where a position belongs", text));
  }
  return *lsn;
}

class SqliteCheckpointStore final : public CheckpointStore {
 public:
  explicit SqliteCheckpointStore(Database database) : database_(std::move(database)) {}

  Result<std::optional<Checkpoint>> load(std::string_view source_id) override {
    CDC_ASSIGN(auto statement,
               database_.prepare("SELECT system_identifier, database, slot, plugin, timeline, lsn "
                                 "FROM source_checkpoints WHERE source_id = ?1"));
    CDC_ASSIGN(const bool row, statement.bind(1, source_id).step());
    if (!row) {
      return std::nullopt;
    }
    CDC_ASSIGN(const Lsn lsn, stored_lsn(statement.text(5)));
    return Checkpoint{.identity = {.system_identifier = statement.text(0),
                                   .database = statement.text(1),
                                   .slot = statement.text(2),
                                   .plugin = statement.text(3),
                                   .timeline = static_cast<std::uint32_t>(statement.integer(4))},
                      .acknowledged = lsn};
  }

  Status save(std::string_view source_id, const Checkpoint& checkpoint) override {
    CDC_ASSIGN(auto statement,
               database_.prepare("INSERT OR REPLACE INTO source_checkpoints "
                                 "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
    const SourceIdentity& identity = checkpoint.identity;
    return statement.bind(1, source_id)
        .bind(2, identity.system_identifier)
        .bind(3, identity.database)
        .bind(4, identity.slot)
        .bind(5, identity.plugin)
        .bind(6, std::int64_t{identity.timeline})
        .bind(7, to_string(checkpoint.acknowledged))
        .bind(8, unix_now().value)
        .run();
  }

  Result<std::optional<TableShape>> load_shape(std::string_view source_id,
                                               std::string_view table) override {
    CDC_ASSIGN(auto statement,
               database_.prepare("SELECT hash, previous, since_lsn FROM table_shapes "
                                 "WHERE source_id = ?1 AND table_name = ?2"));
    CDC_ASSIGN(const bool row, statement.bind(1, source_id).bind(2, table).step());
    if (!row) {
      return std::nullopt;
    }
    CDC_ASSIGN(const Lsn since, stored_lsn(statement.text(2)));
    return TableShape{.hash = statement.text(0), .previous = statement.text(1), .since = since};
  }

  Status save_shape(std::string_view source_id,
                    std::string_view table,
                    const TableShape& shape) override {
    CDC_ASSIGN(
        auto statement,
        database_.prepare("INSERT OR REPLACE INTO table_shapes VALUES (?1, ?2, ?3, ?4, ?5)"));
    return statement.bind(1, source_id)
        .bind(2, table)
        .bind(3, shape.hash)
        .bind(4, shape.previous)
        .bind(5, to_string(shape.since))
        .run();
  }

 private:
  Database database_;
};

}  // namespace

Result<std::unique_ptr<CheckpointStore>> CheckpointStore::open(const std::filesystem::path& path) {
  CDC_ASSIGN(auto database,
             Database::open({.path = path,
                             .schema_version = 1,
                             .schema = std::string(kSchema),
                             .sync_every_commit = true}));
  return std::make_unique<SqliteCheckpointStore>(std::move(database));
}

}  // namespace cdc::state
