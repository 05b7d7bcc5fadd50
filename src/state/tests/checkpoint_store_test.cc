// Proves that checkpoints and shapes survive reopening, that the file is private, and that damaged
// and newer files are refused by name.
#include "state/checkpoint_store.h"

#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

// Damage behind the first page is found when the file is opened, not when the page is needed.
TEST(CheckpointStore, RefusesADamagedPage) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "checkpoint.db";
  ASSERT_TRUE(CheckpointStore::open(path).value()->save("default", kCheckpoint).has_value());
  const auto size = std::filesystem::file_size(path);
  ASSERT_GT(size, 4096U);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    file << std::string(size - 4096, '\x5A');
  }
  const auto store = CheckpointStore::open(path);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::kCorrupt);
  EXPECT_NE(store.error().message.find("checkpoint.db"), std::string::npos);
  EXPECT_FALSE(store.error().hint.empty());
}

TEST(CheckpointStore, NamesADirectoryThatIsReadOnly) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "checkpoint.db";
  ASSERT_EQ(::chmod(path.parent_path().c_str(), 0555), 0);
  // Root may write anywhere, so that is given up for the moment.
  const uid_t user = ::geteuid();
  ASSERT_TRUE(user != 0 || ::seteuid(65'534) == 0);
  const auto store = CheckpointStore::open(path);
  ASSERT_EQ(::seteuid(user), 0);
  ASSERT_EQ(::chmod(path.parent_path().c_str(), 0700), 0);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::kIo);
  EXPECT_NE(store.error().message.find("checkpoint.db"), std::string::npos);
  EXPECT_FALSE(store.error().hint.empty());
}

// Killed in the middle of its work, a process leaves the last checkpoint it was told is saved, or a
// later one; never a broken file.
TEST(CheckpointStore, SurvivesAKilledProcess) {
  const testing::TemporaryDirectory directory;
  const auto path = directory / "checkpoint.db";
  for (int round = 0; round < 5; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = CheckpointStore::open(path).value();
      Checkpoint checkpoint = kCheckpoint;
      for (std::uint64_t lsn = 1;; ++lsn) {
        checkpoint.acknowledged = Lsn{lsn};
        const bool saved = store->save("default", checkpoint).has_value();
        if (!saved || ::write(ends[1], &lsn, sizeof lsn) != sizeof lsn) {
          ::_exit(1);
        }
      }
    }
    ::close(ends[1]);
    std::uint64_t told = 0;
    for (int i = 0; i <= round * 3; ++i) {
      ASSERT_EQ(::read(ends[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
    }
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(ends[0]);
    const auto loaded = CheckpointStore::open(path).value()->load("default").value();
    ASSERT_TRUE(loaded.has_value());
    EXPECT_GE(loaded->acknowledged.value, told);
  }
}

TEST(CheckpointStore, NamesADirectoryThatIsMissing) {
  const testing::TemporaryDirectory directory;
  const auto store = CheckpointStore::open(directory / "none" / "checkpoint.db");
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::kIo);
}

}  // namespace
}  // namespace cdc::state
