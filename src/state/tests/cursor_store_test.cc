// Proves that cursors survive the death of the process, lane by lane, and that a damaged one is
// named instead of used.
#include "state/cursor_store.h"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "state/tests/temporary_directory.h"

namespace cdc::state {
namespace {

Cursor cursor_at(std::uint64_t base) {
  Cursor cursor;
  for (std::size_t i = 0; i < kLaneCount; ++i) {
    cursor.lanes[i] = Sequence{base + i};
  }
  return cursor;
}

TEST(CursorStore, KeepsEveryLane) {
  const testing::TemporaryDirectory directory;
  const Cursor cursor = cursor_at(1ULL << 60U);
  {
    auto store = CursorStore::open(directory / "cursors.db").value();
    EXPECT_EQ(store->load("stdout").value(), std::nullopt);
    ASSERT_TRUE(store->save("stdout", cursor_at(7)).has_value());
    ASSERT_TRUE(store->save("stdout", cursor).has_value());
  }
  auto store = CursorStore::open(directory / "cursors.db").value();
  EXPECT_EQ(store->load("stdout").value(), cursor);
  EXPECT_EQ(cursor.lowest(), cursor.lanes[0]);
}

TEST(CursorStore, ListsAndRemoves) {
  const testing::TemporaryDirectory directory;
  auto store = CursorStore::open(directory / "cursors.db").value();
  ASSERT_TRUE(store->save("b", cursor_at(1)).has_value());
  ASSERT_TRUE(store->save("a", cursor_at(2)).has_value());
  const auto cursors = store->list().value();
  ASSERT_EQ(cursors.size(), 2U);
  EXPECT_EQ(cursors[0].consumer, "a");
  EXPECT_GT(cursors[0].updated_at_unix_micros, 0);
  ASSERT_TRUE(store->remove("a").has_value());
  EXPECT_EQ(store->load("a").value(), std::nullopt);
}

TEST(CursorStore, SurvivesAKilledProcess) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "cursors.db";
  const pid_t child = ::fork();
  if (child == 0) {
    auto store = CursorStore::open(path).value();
    const bool saved = store->save("stdout", cursor_at(41)).has_value();
    ::kill(::getpid(), saved ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(CursorStore::open(path).value()->load("stdout").value(), cursor_at(41));
}

TEST(CursorStore, NamesACursorOfTheWrongSize) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "cursors.db";
  auto store = CursorStore::open(path).value();
  ASSERT_TRUE(store->save("stdout", cursor_at(1)).has_value());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(
                database, "UPDATE consumer_cursors SET lanes = x'00'", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const auto loaded = store->load("stdout");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace cdc::state
