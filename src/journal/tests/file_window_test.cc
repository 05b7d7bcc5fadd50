// Proves that a window shows the bytes of the file whatever is asked for in whatever order, at
// aligned addresses, and that it sees what was written since only after forget().
#include "journal/internal/file_window.h"

#include <random>

#include <gtest/gtest.h>

#include "journal/tests/simulated_file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

constexpr std::size_t kFileSize = 6U << 20U;

class FileWindowTest : public testing::Test {
 protected:
  FileWindowTest() : content_(kFileSize, '\0') {
    for (std::size_t i = 0; i < kFileSize; ++i) {
      content_[i] = static_cast<char>(i * 2654435761U >> 13U);
    }
    disk_.set_content("/file", content_);
    file_ = must(disk_.open("/file", OpenMode::kReadWrite));
    window_.attach(file_.get());
  }

  void expect(std::uint64_t offset, std::size_t size) {
    const std::string_view got = must(window_.at(offset, size));
    ASSERT_EQ(got.size(), offset < kFileSize ? std::min(size, kFileSize - offset) : 0);
    ASSERT_TRUE(got.empty() || content_.compare(offset, got.size(), got) == 0)
        << size << " bytes at " << offset;
    if (offset % 8 == 0 && !got.empty()) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(got.data()) % 8, 0U) << offset;
    }
  }

  SimulatedFileSystem disk_{1};
  std::string content_;
  std::unique_ptr<File> file_;
  FileWindow window_;
};

TEST_F(FileWindowTest, WalksHeadersAndBodies) {
  std::mt19937_64 random(3);
  std::uint64_t offset = 96;
  while (offset < kFileSize) {
    const std::size_t size = 72 + random() % (random() % 8 == 0 ? 900'000 : 5'000) / 8 * 8;
    ASSERT_NO_FATAL_FAILURE(expect(offset, 72));
    ASSERT_NO_FATAL_FAILURE(expect(offset, size));
    offset += size;
  }
}

TEST_F(FileWindowTest, JumpsAnywhere) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t offset = random() % (kFileSize + 1000) / 8 * 8;
    const std::size_t size = random() % (i % 10 == 0 ? 4U << 20U : 20'000U);
    ASSERT_NO_FATAL_FAILURE(expect(offset, size));
    if (i % 50 == 0) {
      window_.forget();
    }
  }
}

TEST_F(FileWindowTest, SeesChangesOnlyWhenItForgets) {
  must(window_.at(0, 100));
  must(file_->write_at(0, std::vector<std::string_view>{"changed"}));
  EXPECT_NE(must(window_.at(0, 7)), "changed");
  window_.forget();
  EXPECT_EQ(must(window_.at(0, 7)), "changed");
}

TEST_F(FileWindowTest, EndsWithTheFile) {
  ASSERT_NO_FATAL_FAILURE(expect(kFileSize - 10, 72));
  ASSERT_NO_FATAL_FAILURE(expect(kFileSize, 72));
  ASSERT_NO_FATAL_FAILURE(expect(kFileSize + 8, 72));
  ASSERT_NO_FATAL_FAILURE(expect(kFileSize - 16, 8));
}

}  // namespace
}  // namespace cdc::journal
