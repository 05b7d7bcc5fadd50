// Proves that checkpoints and shapes survive reopening, that the file is private, and that damaged
// and newer files are refused by name.
#include "state/checkpoint_store.h"

#include <fstream>

#include <sys/stat.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "state/tests/temporary_directory.h"

namespace cdc::state {
namespace {

const Checkpoint kCheckpoint = {.identity = {.system_identifier = "7301234567890123456",
                                             .database = "shop",
                                             .slot = "kaptanto_default",
                                             .plugin = "pgoutput",
                                             .timeline = 3},
                                .acknowledged = Lsn{0x16'0155CD28}};

TEST(CheckpointStore, KeepsACheckpointAcrossReopening) {
  const testing::TemporaryDirectory directory;
  {
    auto store = CheckpointStore::open(directory / "checkpoint.db");
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_EQ((*store)->load("default").value(), std::nullopt);
    ASSERT_TRUE((*store)->save("default", kCheckpoint).has_value());
  }
  auto store = CheckpointStore::open(directory / "checkpoint.db");
  ASSERT_TRUE(store.has_value());
  const auto loaded = (*store)->load("default").value();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->identity.system_identifier, kCheckpoint.identity.system_identifier);
  EXPECT_EQ(loaded->identity.timeline, 3U);
  EXPECT_EQ(loaded->acknowledged, kCheckpoint.acknowledged);
  EXPECT_EQ((*store)->load("other").value(), std::nullopt);
}

TEST(CheckpointStore, ReplacesShapes) {
  const testing::TemporaryDirectory directory;
  auto store = CheckpointStore::open(directory / "checkpoint.db").value();
  EXPECT_EQ(store->load_shape("s", "public.t").value(), std::nullopt);
  ASSERT_TRUE(store->save_shape("s", "public.t", {.hash = "a", .previous = "", .since = Lsn{5}})
                  .has_value());
  ASSERT_TRUE(store->save_shape("s", "public.t", {.hash = "b", .previous = "a", .since = Lsn{9}})
                  .has_value());
  const auto shape = store->load_shape("s", "public.t").value();
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->hash, "b");
  EXPECT_EQ(shape->previous, "a");
  EXPECT_EQ(shape->since, Lsn{9});
  EXPECT_EQ(store->load_shape("other", "public.t").value(), std::nullopt);
}

TEST(CheckpointStore, FileIsPrivate) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "checkpoint.db";
  const auto store = CheckpointStore::open(path).value();
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(CheckpointStore, RefusesWhatIsNotADatabase) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "checkpoint.db";
  std::ofstream(path) << std::string(8192, 'x');
  const auto store = CheckpointStore::open(path);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::kCorrupt);
  EXPECT_NE(store.error().message.find("checkpoint.db"), std::string::npos);
}

TEST(CheckpointStore, RefusesANewerVersion) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "checkpoint.db";
  static_cast<void>(CheckpointStore::open(path).value());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  const auto store = CheckpointStore::open(path);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::kVersion);
}

TEST(CheckpointStore, NamesADirectoryThatIsMissing) {
  const testing::TemporaryDirectory directory;
  const auto store = CheckpointStore::open(directory / "none" / "checkpoint.db");
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::kIo);
}

}  // namespace
}  // namespace cdc::state
