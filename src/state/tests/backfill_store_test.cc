// Proves that backfills come back as they were saved, number for number and byte for byte, that
// each save is whole or absent, that a look from outside disturbs nobody, and that damaged and
// newer files are refused by name.
#include "state/backfill_store.h"

#include <csignal>
#include <limits>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/format.h"
#include "state/tests/temporary_directory.h"

namespace cdc::state {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

BackfillTable table_named(std::string name) {
  BackfillTable table;
  table.table = std::move(name);
  table.snapshot_id = "01J8ZQ";
  return table;
}

BackfillTable full_table() {
  return {.table = "public.We\"ird\n.t",
          .snapshot_id = "01J8ZQ4T",
          .state = BackfillState::kFailed,
          .reason_code = "permission",
          .reason = "permission denied for table t",
          .where = "a > 'x'",
          .rows_total = std::numeric_limits<std::int64_t>::max(),
          .rows_read = kLargest,
          .rows_emitted = kLargest - 1,
          .rows_dropped = 1ULL << 63U,
          .chunks = 7,
          .from = Lsn{0x16'0155CD28},
          .to = Lsn{kLargest},
          .started = UnixMicros{1'700'000'000'000'001},
          .updated = UnixMicros{1'700'000'000'000'002},
          .finished = UnixMicros{-1}};
}

BackfillRange range_numbered(std::uint32_t number) {
  return {.number = number,
          .part_oid = 4'294'967'295U,
          .signature = std::string("s\0g\xFF", 4),
          .lower = "",
          .upper = std::string("\0\x80", 2),
          .complete = false};
}

void execute(const std::filesystem::path& path, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
}

TEST(BackfillStore, KeepsEveryFieldAcrossReopening) {
  const testing::TemporaryDirectory directory;
  {
    auto store = BackfillStore::open(directory / "backfill.db").value();
    EXPECT_TRUE(store->load_tables("s").value().empty());
    ASSERT_TRUE(store->save_tables("s", {full_table(), table_named("public.b")}).has_value());
  }
  auto store = BackfillStore::open(directory / "backfill.db").value();
  EXPECT_EQ(store->load_tables("s").value(), (std::vector{full_table(), table_named("public.b")}));
  EXPECT_TRUE(store->load_tables("other").value().empty());
}

TEST(BackfillStore, OrdersTablesByNameAndRangesByNumber) {
  const testing::TemporaryDirectory directory;
  auto store = BackfillStore::open(directory / "backfill.db").value();
  ASSERT_TRUE(store->save_tables("s", {table_named("b.a"), table_named("a.b"), table_named("a.a")})
                  .has_value());
  const auto tables = store->load_tables("s").value();
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].table, "a.a");
  EXPECT_EQ(tables[1].table, "a.b");
  EXPECT_EQ(tables[2].table, "b.a");

  ASSERT_TRUE(store
                  ->begin("s",
                          table_named("a.a"),
                          {range_numbered(10), range_numbered(2), range_numbered(0)})
                  .has_value());
  EXPECT_EQ(store->load_ranges("s", "a.a").value(),
            (std::vector{range_numbered(0), range_numbered(2), range_numbered(10)}));
}

TEST(BackfillStore, BeginPutsRangesInPlaceOfAllThereWere) {
  const testing::TemporaryDirectory directory;
  auto store = BackfillStore::open(directory / "backfill.db").value();
  const BackfillTable table = table_named("a.a");
  ASSERT_TRUE(store->begin("s", table, {range_numbered(0), range_numbered(1)}).has_value());
  ASSERT_TRUE(store->begin("s", table_named("a.b"), {range_numbered(3)}).has_value());
  ASSERT_TRUE(store->begin("s", table, {range_numbered(5)}).has_value());
  EXPECT_EQ(store->load_ranges("s", "a.a").value(), std::vector{range_numbered(5)});
  EXPECT_EQ(store->load_ranges("s", "a.b").value(), std::vector{range_numbered(3)});
  EXPECT_TRUE(store->load_ranges("other", "a.a").value().empty());
}

TEST(BackfillStore, AdvanceMovesOneRangeAndItsTable) {
  const testing::TemporaryDirectory directory;
  auto store = BackfillStore::open(directory / "backfill.db").value();
  BackfillTable table = table_named("a.a");
  ASSERT_TRUE(store->begin("s", table, {range_numbered(0), range_numbered(1)}).has_value());
  table.state = BackfillState::kRunning;
  table.rows_read = 1000;
  BackfillRange moved = range_numbered(1);
  moved.lower = std::string("\x01\0\x02", 3);
  moved.complete = true;
  ASSERT_TRUE(store->advance("s", table, moved).has_value());
  EXPECT_EQ(store->load_tables("s").value(), std::vector{table});
  EXPECT_EQ(store->load_ranges("s", "a.a").value(), (std::vector{range_numbered(0), moved}));
}

TEST(BackfillStore, SavesTenThousandTablesAtOnce) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "backfill.db";
  auto store = BackfillStore::open(path).value();
  std::vector<BackfillTable> tables;
  for (int i = 0; i < 10'000; ++i) {
    tables.push_back(table_named(format("public.t{:05}", i)));
  }
  auto reader = BackfillStore::open_read_only(path).value();
  ASSERT_TRUE(store->save_tables("s", tables).has_value());
  EXPECT_EQ(store->load_tables("s").value(), tables);
  EXPECT_EQ(reader->load_tables("s").value(), tables);
}

// A statement that fails in the middle takes the others of its transaction back with it.
TEST(BackfillStore, AFailedSaveLeavesNothing) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "backfill.db";
  auto store = BackfillStore::open(path).value();
  ASSERT_TRUE(store->begin("s", table_named("a.a"), {range_numbered(0)}).has_value());
  execute(path,
          "CREATE TRIGGER refuse BEFORE INSERT ON backfill_ranges WHEN NEW.number = 2 "
          "BEGIN SELECT RAISE(ABORT, 'refused'); END");
  EXPECT_FALSE(
      store->begin("s", table_named("a.a"), {range_numbered(1), range_numbered(2)}).has_value());
  EXPECT_EQ(store->load_ranges("s", "a.a").value(), std::vector{range_numbered(0)});
  EXPECT_TRUE(store->begin("s", table_named("a.a"), {range_numbered(3)}).has_value());
}

TEST(BackfillStore, ReadOnlyLooksOnWhileAnotherWrites) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "backfill.db";
  const auto missing = BackfillStore::open_read_only(path);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path));

  auto writer = BackfillStore::open(path).value();
  auto reader = BackfillStore::open_read_only(path).value();
  for (std::uint64_t rows = 1; rows <= 20; ++rows) {
    BackfillTable table = table_named("a.a");
    table.rows_read = rows;
    ASSERT_TRUE(writer->save_tables("s", {table}).has_value());
    EXPECT_EQ(reader->load_tables("s").value(), std::vector{table});
  }
  EXPECT_FALSE(reader->save_tables("s", {table_named("a.b")}).has_value());
  writer.reset();
  EXPECT_EQ(reader->load_tables("s").value().size(), 1U);
  reader.reset();
  EXPECT_EQ(BackfillStore::open_read_only(path).value()->load_tables("s").value().size(), 1U);
}

TEST(BackfillStore, RefusesANewerVersion) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "backfill.db";
  static_cast<void>(BackfillStore::open(path).value());
  execute(path, "PRAGMA user_version = 99");
  EXPECT_EQ(BackfillStore::open(path).error().code, Errc::kVersion);
  EXPECT_EQ(BackfillStore::open_read_only(path).error().code, Errc::kVersion);
}

TEST(BackfillStore, NamesStatesAndPositionsItDoesNotKnow) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "backfill.db";
  auto store = BackfillStore::open(path).value();
  ASSERT_TRUE(store->save_tables("s", {table_named("a.a")}).has_value());
  for (const char* sql : {"UPDATE backfill_tables SET state = 8",
                          "UPDATE backfill_tables SET state = 0",
                          "UPDATE backfill_tables SET state = 1, to_lsn = 'x'"}) {
    execute(path, sql);
    const auto loaded = store->load_tables("s");
    ASSERT_FALSE(loaded.has_value()) << sql;
    EXPECT_EQ(loaded.error().code, Errc::kCorrupt);
    EXPECT_FALSE(loaded.error().hint.empty());
  }
}

// Killed in the middle of its work, a process leaves the last chunk it was told is saved, or a
// later one, and the table's counters always agree with the range.
TEST(BackfillStore, SurvivesAKilledProcess) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "backfill.db";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = BackfillStore::open(path).value();
    BackfillTable table = table_named("a.a");
    BackfillRange range = range_numbered(0);
    bool saved = store->begin("s", table, {range}).has_value();
    for (std::uint64_t rows = 1; saved; ++rows) {
      table.rows_read = rows;
      range.lower = std::to_string(rows);
      saved = store->advance("s", table, range).has_value() &&
              ::write(ends[1], &rows, sizeof rows) == sizeof rows;
    }
    ::_exit(1);
  }
  ::close(ends[1]);
  std::uint64_t told = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(::read(ends[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
  }
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);
  auto store = BackfillStore::open(path).value();
  const auto tables = store->load_tables("s").value();
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_GE(tables[0].rows_read, told);
  EXPECT_EQ(store->load_ranges("s", "a.a").value().at(0).lower,
            std::to_string(tables[0].rows_read));
}

TEST(BackfillState, HasAWordForEach) {
  EXPECT_EQ(name_of(BackfillState::kPending), "pending");
  EXPECT_EQ(name_of(BackfillState::kRunning), "running");
  EXPECT_EQ(name_of(BackfillState::kPaused), "paused");
  EXPECT_EQ(name_of(BackfillState::kComplete), "complete");
  EXPECT_EQ(name_of(BackfillState::kFailed), "failed");
  EXPECT_EQ(name_of(BackfillState::kCancelled), "cancelled");
  EXPECT_EQ(name_of(BackfillState::kSkipped), "skipped");
}

}  // namespace
}  // namespace cdc::state
