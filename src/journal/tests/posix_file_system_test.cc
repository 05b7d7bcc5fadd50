// Proves that the real file system does what the journal builds on, and that a journal on it
// survives being killed at any moment (kill -9 of a child process).
#include <csignal>
#include <random>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "journal/file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

class PosixFileSystemTest : public testing::Test {
 protected:
  std::string read(const std::filesystem::path& path) {
    const auto file = must(file_system_.open(path, OpenMode::kRead));
    std::string bytes(static_cast<std::size_t>(must(file->size())), '\0');
    bytes.resize(must(file->read_at(0, std::span(bytes.data(), bytes.size()))));
    return bytes;
  }

  PosixFileSystem file_system_;
  TemporaryDirectory directory_;
};

TEST_F(PosixFileSystemTest, WritesPiecesInOrder) {
  const auto path = directory_.path() / "file";
  const auto file = must(file_system_.open(path, OpenMode::kCreate));
  std::vector<std::string> parts;
  std::vector<std::string_view> pieces;
  std::string expected = "12";
  for (int i = 0; i < 40; ++i) {
    parts.push_back(
        std::string(static_cast<std::size_t>(i % 3 * 1000), static_cast<char>('a' + i % 26)));
    expected += parts.back();
  }
  pieces.assign(parts.begin(), parts.end());
  must(file->write_at(2, pieces));
  must(file->write_at(0, std::vector<std::string_view>{"1", "", "2"}));
  must(file->write_at(5, {}));
  must(file->sync_data());
  EXPECT_EQ(read(path), expected);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(PosixFileSystemTest, ReadsFewerBytesOnlyAtTheEnd) {
  const auto file = must(file_system_.open(directory_.path() / "file", OpenMode::kCreate));
  must(file->write_at(0, std::vector<std::string_view>{"0123456789"}));
  std::string buffer(8, '\0');
  EXPECT_EQ(must(file->read_at(1, std::span(buffer.data(), 8))), 8U);
  EXPECT_EQ(buffer, "12345678");
  EXPECT_EQ(must(file->read_at(7, std::span(buffer.data(), 8))), 3U);
  EXPECT_EQ(must(file->read_at(10, std::span(buffer.data(), 8))), 0U);
  EXPECT_EQ(must(file->read_at(1000, std::span(buffer.data(), 8))), 0U);
}

TEST_F(PosixFileSystemTest, AllocatesZeros) {
  const auto path = directory_.path() / "file";
  const auto file = must(file_system_.open(path, OpenMode::kCreate));
  must(file->write_at(0, std::vector<std::string_view>{"abc"}));
  if (must(file->allocate(10'000))) {
    EXPECT_EQ(must(file->size()), 10'000U);
    EXPECT_EQ(read(path), "abc" + std::string(9'997, '\0'));
  }
  must(file->truncate(2));
  must(file->sync_all());
  EXPECT_EQ(read(path), "ab");
}

TEST_F(PosixFileSystemTest, TellsWhatIsMissing) {
  const auto path = directory_.path() / "nothing";
  EXPECT_EQ(file_system_.open(path, OpenMode::kRead).error().code, Errc::kNotFound);
  EXPECT_EQ(file_system_.remove(path).error().code, Errc::kNotFound);
  EXPECT_EQ(file_system_.list(path).error().code, Errc::kNotFound);
  EXPECT_NE(file_system_.open(path, OpenMode::kRead).error().message.find(path.string()),
            std::string::npos);
}

TEST_F(PosixFileSystemTest, CreatesDirectoriesForTheOwnerAlone) {
  const auto path = directory_.path() / "a" / "b" / "c";
  must(file_system_.create_directory(path));
  must(file_system_.create_directory(path));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  must(file_system_.open(directory_.path() / "plain", OpenMode::kCreate));
  EXPECT_EQ(file_system_.create_directory(directory_.path() / "plain" / "d").error().code,
            Errc::kIo);
}

TEST_F(PosixFileSystemTest, RenamesAndLists) {
  must(file_system_.open(directory_.path() / "one", OpenMode::kCreate));
  must(file_system_.rename(directory_.path() / "one", directory_.path() / "two"));
  must(file_system_.sync_directory(directory_.path()));
  EXPECT_EQ(must(file_system_.list(directory_.path())), std::vector<std::string>{"two"});
}

TEST_F(PosixFileSystemTest, LocksOnce) {
  const auto path = directory_.path() / "lock";
  auto lock = must(file_system_.lock(path));
  EXPECT_EQ(file_system_.lock(path).error().code, Errc::kLocked);
  lock.reset();
  EXPECT_TRUE(file_system_.lock(path));
}

TEST_F(PosixFileSystemTest, ReportsAFullDisk) {
  const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (fd < 0) {
    GTEST_SKIP() << "no /dev/full here";
  }
  ::close(fd);
  const auto file = must(file_system_.open("/dev/full", OpenMode::kReadWrite));
  const auto written = file->write_at(0, std::vector<std::string_view>{"abc"});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kNoSpace);
}

// The child: appends and syncs for ever and tells each durable sequence.
[[noreturn]] void append_until_killed(const std::filesystem::path& directory, int out) {
  PosixFileSystem file_system;
  auto journal = must(Journal::open(file_system, {.directory = directory, .segment_bytes = 8192}));
  for (std::uint64_t commit = journal->durable_lsn().load() + 1;; ++commit) {
    const auto events = make_transaction(commit, 3, 300);
    if (commit % 4 == 0) {
      must(journal->append(part_batch({events[0], events[1]}, false)));
      must(journal->append(last_part_batch({events[2]}, Lsn{commit})));
    } else {
      must(journal->append(whole_batch(events)));
    }
    must(journal->sync());
    const std::uint64_t durable = journal->durable_sequence().load();
    if (::write(out, &durable, sizeof durable) != sizeof durable) {
      std::_Exit(1);
    }
  }
}

TEST_F(PosixFileSystemTest, JournalSurvivesKills) {
  std::mt19937_64 random(7);
  std::uint64_t told = 0;
  for (int round = 0; round < 12; ++round) {
    int pipe_fds[2];
    ASSERT_EQ(::pipe2(pipe_fds, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      append_until_killed(directory_.path(), pipe_fds[1]);
    }
    ::close(pipe_fds[1]);
    const std::uint64_t rounds = 1 + random() % 40;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      ASSERT_EQ(::read(pipe_fds[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
    }
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    std::uint64_t more = 0;
    while (::read(pipe_fds[0], &more, sizeof more) == static_cast<ssize_t>(sizeof more)) {
      told = more;
    }
    ::close(pipe_fds[0]);
    const auto journal =
        must(Journal::open(file_system_, {.directory = directory_.path(), .segment_bytes = 8192}));
    const auto events = read_all(*journal);
    ASSERT_GE(events.size(), told);
    ASSERT_EQ(events.size() % 3, 0U);
    for (std::size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i], make_event(i / 3 + 1, i % 3, 300));
    }
  }
}

}  // namespace
}  // namespace cdc::journal
