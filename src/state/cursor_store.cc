#include "state/cursor_store.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "base/sync/mutex.h"
#include "state/internal/database.h"

namespace cdc::state {

Sequence Cursor::lowest() const noexcept {
  return *std::ranges::min_element(lanes);
}

namespace {

using internal::Database;

// docs/formats/state.md
constexpr std::string_view kSchema = R"(
CREATE TABLE consumer_cursors (
  consumer_id TEXT PRIMARY KEY,
  lowest INTEGER NOT NULL,
  lanes BLOB NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
)";

internal::DatabaseOptions options_of(const std::filesystem::path& path) {
  return {.path = path,
          .schema_version = 1,
          .schema = std::string(kSchema),
          .sync_every_commit = false};
}

constexpr std::size_t kLanesBytes = kLaneCount * sizeof(std::uint64_t);

std::string encode_lanes(const Cursor& cursor) {
  std::string bytes;
  bytes.reserve(kLanesBytes);
  for (const Sequence lane : cursor.lanes) {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      bytes += static_cast<char>((lane.value >> shift) & 255U);
    }
  }
  return bytes;
}

Result<Cursor> decode_lanes(std::string_view consumer, std::string_view bytes) {
  if (bytes.size() != kLanesBytes) {
    return fail(Errc::kCorrupt,
                format("cursors.db: the cursor of \"{}\" has {} bytes, not {}",
                       consumer,
                       bytes.size(),
                       kLanesBytes),
                "move cursors.db away: consumers then begin at the oldest event");
  }
  Cursor cursor;
  for (std::size_t i = 0; i < kLanesBytes; ++i) {
    cursor.lanes[i / 8].value |= std::uint64_t{static_cast<unsigned char>(bytes[i])}
                                 << (8 * (i % 8));
  }
  return cursor;
}

class SqliteCursorStore final : public CursorStore {
 public:
  explicit SqliteCursorStore(Database database) : database_(std::move(database)) {}

  Result<std::optional<Cursor>> load(std::string_view consumer) override {
    MutexLock lock(mutex_);
    CDC_ASSIGN(auto statement,
               database_.prepare("SELECT lanes FROM consumer_cursors WHERE consumer_id = ?1"));
    CDC_ASSIGN(const bool row, statement.bind(1, consumer).step());
    if (!row) {
      return std::nullopt;
    }
    CDC_ASSIGN(const Cursor cursor, decode_lanes(consumer, statement.text(0)));
    return cursor;
  }

  Status save(std::string_view consumer, const Cursor& cursor) override {
    MutexLock lock(mutex_);
    CDC_ASSIGN(
        auto statement,
        database_.prepare("INSERT OR REPLACE INTO consumer_cursors VALUES (?1, ?2, ?3, ?4)"));
    return statement.bind(1, consumer)
        .bind(2, static_cast<std::int64_t>(cursor.lowest().value))
        .bind_blob(3, encode_lanes(cursor))
        .bind(4, unix_now().value)
        .run();
  }

  Status remove(std::string_view consumer) override {
    MutexLock lock(mutex_);
    CDC_ASSIGN(auto statement,
               database_.prepare("DELETE FROM consumer_cursors WHERE consumer_id = ?1"));
    return statement.bind(1, consumer).run();
  }

  Result<std::vector<NamedCursor>> list() override {
    MutexLock lock(mutex_);
    CDC_ASSIGN(auto statement,
               database_.prepare("SELECT consumer_id, lanes, updated_at FROM consumer_cursors "
                                 "ORDER BY consumer_id"));
    std::vector<NamedCursor> cursors;
    for (;;) {
      CDC_ASSIGN(const bool row, statement.step());
      if (!row) {
        return cursors;
      }
      const std::string consumer = statement.text(0);
      CDC_ASSIGN(const Cursor cursor, decode_lanes(consumer, statement.text(1)));
      cursors.push_back(
          {.consumer = consumer, .cursor = cursor, .updated_at_unix_micros = statement.integer(2)});
    }
  }

 private:
  Mutex mutex_;
  Database database_ CDC_GUARDED_BY(mutex_);
};

}  // namespace

Result<std::unique_ptr<CursorStore>> CursorStore::open(const std::filesystem::path& path) {
  CDC_ASSIGN(auto database, Database::open(options_of(path)));
  return std::make_unique<SqliteCursorStore>(std::move(database));
}

Result<std::unique_ptr<CursorStore>> CursorStore::open_read_only(
    const std::filesystem::path& path) {
  CDC_ASSIGN(auto database, Database::open_read_only(options_of(path)));
  return std::make_unique<SqliteCursorStore>(std::move(database));
}

}  // namespace cdc::state
