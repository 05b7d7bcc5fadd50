// Proves that opening a journal cuts a torn tail and an unfinished transaction, and nothing else,
// and that damage is reported with its place: every truncation, every flipped bit, missing, foreign
// and newer files.
#include "journal/internal/recovery.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "journal/internal/segment_files.h"
#include "journal/journal.h"
#include "journal/segment_format.h"
#include "journal/tests/simulated_file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

const std::filesystem::path kDirectory = "/events";

std::filesystem::path segment_path(std::uint64_t number) {
  return kDirectory / segment_name(number);
}

class RecoveryTest : public testing::Test {
 protected:
  Result<std::unique_ptr<Journal>> open() {
    return Journal::open(disk_, {.directory = kDirectory, .segment_bytes = 4096});
  }

  // Three transactions, each synced, in one segment; then the journal is closed.
  void write_three() {
    auto journal = must(open());
    for (std::uint64_t i = 1; i <= 3; ++i) {
      ends_.push_back(end_of_frames());
      const auto events = make_transaction(i, 2, 120);
      must(journal->append(whole_batch(events)));
      must(journal->sync());
      events_.insert(events_.end(), events.begin(), events.end());
    }
    ends_.push_back(end_of_frames());
  }

  // Many transactions over several segments.
  void write_segments(std::size_t segments) {
    auto journal = must(open());
    for (std::uint64_t i = 1; journal->segment_list().snapshot()->size() < segments; ++i) {
      const auto events = make_transaction(i, 1 + i % 3, 300);
      must(journal->append(whole_batch(events)));
      must(journal->sync());
      events_.insert(events_.end(), events.begin(), events.end());
    }
  }

  std::size_t end_of_frames() {
    const std::string bytes = disk_.content(segment_path(1));
    const std::size_t end = bytes.find_last_not_of('\0') + 1;
    return std::max<std::size_t>(align_up(end), kSegmentHeaderSize);
  }

  [[nodiscard]] std::vector<TestEvent> first_events(std::size_t count) const {
    return {events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  SimulatedFileSystem disk_{1};
  std::vector<TestEvent> events_;
  std::vector<std::size_t> ends_;  // offsets before, between and behind the transactions
};

TEST_F(RecoveryTest, KeepsWholeFramesOfEveryTruncation) {
  write_three();
  const std::string good = disk_.content(segment_path(1));
  for (std::size_t size = kSegmentHeaderSize; size <= ends_.back(); ++size) {
    for (const bool zeros : {false, true}) {
      // Bytes that never arrived: the file ends, or its preallocated space is still empty.
      std::string torn = good.substr(0, size);
      torn.resize(zeros ? good.size() : size);
      disk_.set_content(segment_path(1), torn);
      std::size_t whole = 0;
      while (whole < 3 && ends_[whole + 1] <= size) {
        ++whole;
      }
      // A frame may end in padding, which is zero anyway.
      auto journal = must(open());
      const std::size_t durable = journal->durable_sequence().load();
      ASSERT_GE(durable, 2 * whole) << size;
      ASSERT_LE(durable,
                zeros && whole < 3 && ends_[whole + 1] - size < 8 ? 2 * whole + 2 : 2 * whole)
          << size;
      ASSERT_EQ(read_all(*journal), first_events(durable)) << size;
      // And it goes on from there.
      must(journal->append(whole_batch({make_event(9, 0)})));
      must(journal->sync());
      ASSERT_EQ(read_all(*journal).size(), durable + 1);
    }
  }
}

TEST_F(RecoveryTest, ReportsWhatItCut) {
  write_three();
  std::string torn = disk_.content(segment_path(1));
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(ends_[3] - 50), torn.end(), '\0');
  disk_.set_content(segment_path(1), torn);
  auto journal = must(open());
  EXPECT_GT(journal->recovery().truncated_bytes, ends_[3] - ends_[2] - 60);
  EXPECT_LE(journal->recovery().truncated_bytes, ends_[3] - ends_[2] - 50);
  journal.reset();
  EXPECT_EQ(must(open())->recovery().truncated_bytes, 0U);
}

// One flipped bit anywhere: in what later frames prove to have been durable it is damage. In the
// frames of the last sync it looks like a torn tail, whose loss is reported. Never a wrong event.
TEST_F(RecoveryTest, TellsDamageFromATornTailForEveryFlippedBit) {
  write_three();
  const std::string good = disk_.content(segment_path(1));
  for (std::size_t bit = 0; bit < ends_[3] * 8; ++bit) {
    std::string damaged = good;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    disk_.set_content(segment_path(1), damaged);
    auto journal = open();
    if (bit / 8 < ends_[2]) {
      ASSERT_FALSE(journal) << "bit " << bit;
      ASSERT_EQ(journal.error().code, Errc::kCorrupt) << "bit " << bit;
      ASSERT_NE(journal.error().message.find(segment_path(1).string()), std::string::npos);
      ASSERT_NE(journal.error().message.find("offset"), std::string::npos);
      ASSERT_FALSE(journal.error().hint.empty());
    } else {
      ASSERT_TRUE(journal) << "bit " << bit;
      ASSERT_GT((*journal)->recovery().truncated_bytes, 0U);
      ASSERT_EQ(read_all(**journal), first_events(4));
    }
  }
}

TEST_F(RecoveryTest, NoticesEveryFlippedBitBehindTheFrames) {
  write_three();
  const std::string good = disk_.content(segment_path(1));
  for (std::size_t bit = ends_[3] * 8; bit < good.size() * 8; bit += 101) {
    std::string damaged = good;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    disk_.set_content(segment_path(1), damaged);
    auto journal = must(open());
    ASSERT_GT(journal->recovery().truncated_bytes, 0U);
    ASSERT_EQ(read_all(*journal), events_);
  }
}

// Frames of one sync reach the disk in any order: a hole before a good frame is no damage.
TEST_F(RecoveryTest, TakesAHoleInOneSyncForATornTail) {
  auto journal = must(open());
  for (std::uint64_t i = 1; i <= 3; ++i) {
    ends_.push_back(end_of_frames());
    must(journal->append(whole_batch(make_transaction(i, 2, 120))));
  }
  must(journal->sync());
  journal.reset();
  std::string torn = disk_.content(segment_path(1));
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(ends_[1] + 8),
            torn.begin() + static_cast<std::ptrdiff_t>(ends_[2]),
            '\0');
  disk_.set_content(segment_path(1), torn);
  journal = must(open());
  EXPECT_EQ(journal->durable_sequence().load(), 2U);
  // The good frame behind the hole is gone for good: it must not come back behind a new one of the
  // same size.
  must(journal->append(whole_batch(make_transaction(7, 2, 120))));
  must(journal->sync());
  journal.reset();
  journal = must(open());
  EXPECT_EQ(journal->durable_sequence().load(), 4U);
  EXPECT_EQ(journal->recovery().truncated_bytes, 0U);
}

TEST_F(RecoveryTest, ReportsDamageInASealedSegmentWhenItMustReadIt) {
  auto journal = must(open());
  // The last segments hold parts only, so the end must be looked for further back.
  must(journal->append(whole_batch(make_transaction(1, 3, 300))));
  must(journal->append(part_batch(make_transaction(2, 3, 300), false)));
  must(journal->append(part_batch(make_transaction(2, 12, 300), true)));
  must(journal->append(part_batch(make_transaction(2, 12, 300), true)));
  must(journal->sync());
  ASSERT_GE(journal->segment_list().snapshot()->size(), 3U);
  journal.reset();
  const std::string good = disk_.content(segment_path(1));
  for (std::size_t at = 0; at < good.size(); at += 13) {
    std::string damaged = good;
    damaged[at] ^= 16;
    disk_.set_content(segment_path(1), damaged);
    const auto opened = open();
    ASSERT_FALSE(opened) << at;
    ASSERT_EQ(opened.error().code, Errc::kCorrupt) << at;
  }
  disk_.set_content(segment_path(1), good.substr(0, good.size() - 8));
  EXPECT_EQ(open().error().code, Errc::kCorrupt);
  disk_.set_content(segment_path(1), good);
  EXPECT_EQ(must(open())->durable_sequence().load(), 3U);
}

TEST_F(RecoveryTest, RemovesAnUnfinishedTransactionOfSeveralSegments) {
  auto journal = must(open());
  const auto before = make_transaction(1, 3, 300);
  const auto large = make_transaction(2, 40, 300);
  must(journal->append(whole_batch(before)));
  must(journal->append(part_batch({large.begin(), large.begin() + 5}, false)));
  must(journal->append(part_batch({large.begin() + 5, large.begin() + 15}, true)));
  must(journal->append(part_batch({large.begin() + 15, large.begin() + 30}, true)));
  must(journal->sync());
  journal.reset();
  journal = must(open());
  EXPECT_EQ(journal->segment_list().snapshot()->size(), 1U);
  EXPECT_GT(journal->recovery().truncated_bytes, 30U * 300);
  EXPECT_EQ(journal->durable_sequence().load(), 3U);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{1}, 2}));
  // The same sequences name the transaction when it is sent again.
  must(journal->append(whole_batch(large)));
  must(journal->sync());
  auto expected = before;
  expected.insert(expected.end(), large.begin(), large.end());
  EXPECT_EQ(read_all(*journal), expected);
}

TEST_F(RecoveryTest, KeepsAFinishedTransactionOfSeveralSegments) {
  auto journal = must(open());
  const auto large = make_transaction(2, 30, 300);
  must(journal->append(part_batch({large.begin(), large.begin() + 10}, false)));
  must(journal->append(part_batch({large.begin() + 10, large.begin() + 20}, true)));
  must(journal->append(last_part_batch({large.begin() + 20, large.end()}, Lsn{2})));
  must(journal->sync());
  journal.reset();
  journal = must(open());
  EXPECT_EQ(journal->recovery().truncated_bytes, 0U);
  EXPECT_EQ(read_all(*journal), large);
}

TEST_F(RecoveryTest, RemovesAHalfMadeSegment) {
  write_segments(3);
  const auto left = kDirectory / (segment_name(4) + ".new");
  disk_.set_content(left, "half");
  disk_.set_content(kDirectory / "notes.txt", "not ours");
  EXPECT_EQ(read_all(*must(open())), events_);
  const auto names = must(disk_.list(kDirectory));
  EXPECT_EQ(std::ranges::count(names, left.filename().string()), 0);
  EXPECT_EQ(std::ranges::count(names, "notes.txt"), 1);
}

TEST_F(RecoveryTest, MissesASegment) {
  write_segments(4);
  must(disk_.remove(segment_path(2)));
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kCorrupt);
  EXPECT_NE(opened.error().message.find("segment 2 before it is missing"), std::string::npos);
}

TEST_F(RecoveryTest, RefusesASegmentOfAnotherJournal) {
  write_segments(3);
  SimulatedFileSystem other(2);
  {
    auto journal = must(Journal::open(other, {.directory = kDirectory, .segment_bytes = 4096}));
    must(journal->append(whole_batch(make_transaction(1, 1))));
    must(journal->sync());
  }
  disk_.set_content(segment_path(1), other.content(segment_path(1)));
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kCorrupt);
}

TEST_F(RecoveryTest, RefusesASegmentUnderAWrongName) {
  write_three();
  const std::string bytes = disk_.content(segment_path(1));
  must(disk_.remove(segment_path(1)));
  disk_.set_content(segment_path(5), bytes);
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kCorrupt);
}

TEST_F(RecoveryTest, RefusesAnEmptyFile) {
  write_segments(3);
  disk_.set_content(segment_path(3), "");
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kCorrupt);
}

TEST_F(RecoveryTest, RefusesANewerFormat) {
  write_three();
  std::string bytes = disk_.content(segment_path(1));
  bytes[8] = 9;
  const std::uint32_t sum = crc32c(std::string_view(bytes).substr(0, kSegmentHeaderSize - 4));
  bytes.replace(kSegmentHeaderSize - 4, 4, reinterpret_cast<const char*>(&sum), 4);
  disk_.set_content(segment_path(1), bytes);
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kVersion);
  EXPECT_NE(opened.error().message.find(segment_path(1).string()), std::string::npos);
  EXPECT_FALSE(opened.error().hint.empty());
}

// A part without its beginning, though nothing before it was ever deleted by retention.
TEST_F(RecoveryTest, RefusesATransactionWithoutItsBeginning) {
  auto journal = must(open());
  must(journal->append(part_batch(make_transaction(2, 12, 300), false)));
  must(journal->append(part_batch(make_transaction(2, 12, 300), true)));
  must(journal->sync());
  const auto segments = journal->segment_list().snapshot();
  journal.reset();
  for (std::size_t i = 0; i + 1 < segments->size(); ++i) {
    must(disk_.remove((*segments)[i].path));
  }
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace cdc::journal
