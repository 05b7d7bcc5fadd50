// Proves that a Reader gives each event once and in order wherever it starts, never passes its
// limit, follows rolls and new frames, and says so when retention or damage is in its way.
#include "journal/reader.h"

#include <gtest/gtest.h>

#include "journal/journal.h"
#include "journal/segment_list.h"
#include "journal/tests/simulated_file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

using std::chrono::hours;
using std::chrono::system_clock;

class ReaderTest : public testing::Test {
 protected:
  ReaderTest() {
    journal_ = must(Journal::open(
        disk_, {.directory = "/events", .segment_bytes = 4096, .retention = hours{0}}));
  }

  void commit(std::size_t count, std::size_t size = 0) {
    const auto events = make_transaction(++commit_, count, size);
    must(journal_->append(whole_batch(events)));
    must(journal_->sync());
    events_.insert(events_.end(), events.begin(), events.end());
  }

  // Many segments, frames of one to nine events.
  void fill(std::size_t transactions) {
    for (std::size_t i = 0; i < transactions; ++i) {
      commit(1 + i % 9, 100 + i * 7 % 300);
    }
  }

  Sequence durable() { return {journal_->durable_sequence().load()}; }

  [[nodiscard]] std::vector<TestEvent> events_from(Sequence first) const {
    return {events_.begin() + static_cast<std::ptrdiff_t>(first.value - 1), events_.end()};
  }

  SimulatedFileSystem disk_{1};
  std::unique_ptr<Journal> journal_;
  std::vector<TestEvent> events_;
  std::uint64_t commit_ = 0;
};

TEST_F(ReaderTest, GivesNothingOfAnEmptyJournal) {
  Reader reader(journal_->segment_list(), {1});
  EXPECT_FALSE(must(reader.next({0})));
  EXPECT_EQ(reader.oldest(), Sequence{1});
}

TEST_F(ReaderTest, StartsAnywhere) {
  fill(60);
  ASSERT_GT(journal_->segment_list().snapshot()->size(), 3U);
  for (std::uint64_t from = 1; from <= events_.size(); ++from) {
    ASSERT_EQ(read_all(*journal_, {from}), events_from({from})) << "from " << from;
  }
  EXPECT_EQ(read_all(*journal_, {0}), events_);
}

TEST_F(ReaderTest, WaitsForAPositionThatIsYetToCome) {
  commit(2);
  Reader reader(journal_->segment_list(), {3});
  EXPECT_FALSE(must(reader.next(durable())));
  commit(2);
  const auto view = must(reader.next(durable()));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->first, Sequence{3});
}

TEST_F(ReaderTest, NeverPassesItsLimit) {
  fill(40);
  Reader reader(journal_->segment_list(), {1});
  std::vector<TestEvent> got;
  for (std::uint64_t limit = 1; limit <= events_.size(); ++limit) {
    while (const auto view = must(reader.next({limit}))) {
      ASSERT_EQ(view->first.value, got.size() + 1);
      collect(*view, got);
    }
    ASSERT_EQ(got.size(), limit);
  }
  EXPECT_EQ(got, events_);
}

TEST_F(ReaderTest, CutsTextAndHeadersTogether) {
  commit(5);
  Reader reader(journal_->segment_list(), {2});
  const auto view = must(reader.next({4}));
  ASSERT_TRUE(view);
  ASSERT_EQ(view->events.size(), 3U);
  EXPECT_EQ(view->text, events_[1].line + events_[2].line + events_[3].line);
  EXPECT_EQ(view->events[0].text_offset, 0U);
  EXPECT_EQ(view->line(2), events_[3].line);
  const auto rest = must(reader.next({5}));
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->first, Sequence{5});
  EXPECT_EQ(rest->text, events_[4].line);
}

// The reader has read ahead into space that was not written yet; it must not believe that later.
TEST_F(ReaderTest, FollowsNewFramesAndRolls) {
  Reader reader(journal_->segment_list(), {1});
  std::vector<TestEvent> got;
  for (std::size_t i = 0; i < 100; ++i) {
    commit(1 + i % 3, 150);
    if (i % 5 == 0) {
      must(journal_->append(position_batch(Lsn{commit_ + 1})));
      must(journal_->sync());
    }
    while (const auto view = must(reader.next(durable()))) {
      collect(*view, got);
    }
    ASSERT_EQ(got, events_);
  }
  ASSERT_GT(journal_->segment_list().snapshot()->size(), 3U);
}

TEST_F(ReaderTest, LeavesOutSegmentsOfPositionsOnly) {
  commit(1);
  for (std::uint64_t i = 0; i < 300; ++i) {
    must(journal_->append(position_batch(Lsn{100 + i})));
  }
  ASSERT_GT(journal_->segment_list().snapshot()->size(), 4U);
  commit(1);
  EXPECT_EQ(read_all(*journal_), events_);
  EXPECT_EQ(read_all(*journal_, {2}), events_from({2}));
}

TEST_F(ReaderTest, SeesNothingOfATransactionThatWasTakenBack) {
  commit(1);
  Reader reader(journal_->segment_list(), {1});
  ASSERT_TRUE(must(reader.next(durable())));
  // Parts fill this segment and more; the reader has read ahead into them.
  const auto large = make_transaction(77, 30, 400);
  must(journal_->append(part_batch({large.begin(), large.begin() + 5}, false)));
  must(journal_->append(part_batch({large.begin() + 5, large.begin() + 15}, true)));
  must(journal_->append(part_batch({large.begin() + 15, large.end()}, true)));
  must(journal_->sync());
  EXPECT_FALSE(must(reader.next(durable())));
  std::vector<TestEvent> got{events_};
  for (int i = 0; i < 40; ++i) {
    commit(2, 150);
    while (const auto view = must(reader.next(durable()))) {
      collect(*view, got);
    }
    ASSERT_EQ(got, events_);
  }
}

TEST_F(ReaderTest, ToldWhenRetentionWasFaster) {
  fill(40);
  Reader slow(journal_->segment_list(), {1});
  Reader fresh(journal_->segment_list(), {2});
  ASSERT_TRUE(must(slow.next(durable())));
  must(journal_->retain(durable(), system_clock::now()));
  const Sequence oldest = slow.oldest();
  ASSERT_GT(oldest, Sequence{1});
  // An open segment is read to its end; then there is a gap.
  Status end;
  for (Result<std::optional<FrameView>> view = slow.next(durable());; view = slow.next(durable())) {
    if (!view) {
      end = cdc::fail(view.error());
      break;
    }
    ASSERT_TRUE(*view);
  }
  EXPECT_EQ(end.error().code, Errc::kNotFound);
  EXPECT_FALSE(end.error().hint.empty());
  const auto gone = fresh.next(durable());
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kNotFound);
  EXPECT_EQ(read_all(*journal_, {1}), events_from(oldest));
}

TEST_F(ReaderTest, ReadsFramesLargerThanItsBuffer) {
  commit(3);
  commit(2000, 1000);
  commit(3);
  commit(4000, 100);
  EXPECT_EQ(read_all(*journal_), events_);
  EXPECT_EQ(read_all(*journal_, {1500}), events_from({1500}));
}

TEST_F(ReaderTest, ReportsDamageWithItsPlace) {
  fill(40);
  const auto segments = journal_->segment_list().snapshot();
  const Segment& segment = (*segments)[1];
  std::string bytes = disk_.content(segment.path);
  bytes[kSegmentHeaderSize + 200] ^= 4;
  disk_.set_content(segment.path, bytes);
  Reader reader(journal_->segment_list(), segment.header.first);
  const auto view = reader.next(durable());
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Errc::kCorrupt);
  EXPECT_NE(view.error().message.find(segment.path.string()), std::string::npos);
  EXPECT_NE(view.error().message.find("offset 96"), std::string::npos);
  EXPECT_FALSE(view.error().hint.empty());
}

// A durable event that is not there is damage, not the end.
TEST_F(ReaderTest, ReportsMissingBytes) {
  fill(5);
  const auto path = journal_->segment_list().snapshot()->back().path;
  disk_.set_content(path, disk_.content(path).substr(0, kSegmentHeaderSize));
  Reader reader(journal_->segment_list(), {1});
  const auto view = reader.next(durable());
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace cdc::journal
