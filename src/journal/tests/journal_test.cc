// Proves what a journal promises while nothing breaks: what is appended comes back in order and
// once synced, transactions stay whole, segments roll, retention deletes only what was passed, and
// limits are told and survived. On real files, but for a full disk.
#include "journal/journal.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "journal/segment_list.h"
#include "journal/tests/simulated_file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr system_clock::time_point kNoon{seconds{1'800'000'000}};

class JournalTest : public testing::Test {
 protected:
  // Small segments, so that a few events fill one.
  std::unique_ptr<Journal> open(std::uint64_t segment_bytes = 4096) {
    return must(Journal::open(file_system_,
                              {.directory = directory_.path() / "events",
                               .segment_bytes = segment_bytes,
                               .retention = hours{1}}));
  }

  // Appends `events` as one transaction.
  static void commit(Journal& journal, const std::vector<TestEvent>& events) {
    must(journal.append(whole_batch(events)));
    must(journal.sync());
  }

  // Transactions of one event each, enough to fill `segments` segments of 4096 bytes.
  static std::vector<TestEvent> fill(Journal& journal, std::size_t segments) {
    std::vector<TestEvent> events;
    for (std::uint64_t i = 1; journal.segment_list().snapshot()->size() <= segments; ++i) {
      events.push_back(make_event(100 + i, 0, 600));
      commit(journal, {events.back()});
    }
    return events;
  }

  PosixFileSystem file_system_;
  TemporaryDirectory directory_;
};

TEST_F(JournalTest, GivesBackWhatWasAppended) {
  auto journal = open();
  EXPECT_TRUE(journal->recovery().created);
  const auto first = make_transaction(10, 3);
  const auto second = make_transaction(11, 2);
  commit(*journal, first);
  commit(*journal, second);
  auto expected = first;
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(read_all(*journal), expected);
  EXPECT_EQ(journal->durable_sequence().load(), 5U);
  EXPECT_EQ(journal->durable_lsn().load(), 11U);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{11}, 1}));
}

TEST_F(JournalTest, PublishesNothingBeforeTheSync) {
  auto journal = open();
  must(journal->append(whole_batch(make_transaction(10, 3))));
  EXPECT_EQ(journal->durable_sequence().load(), 0U);
  EXPECT_EQ(journal->durable_lsn().load(), 0U);
  EXPECT_TRUE(read_all(*journal).empty());
}

TEST_F(JournalTest, ContinuesAfterItWasOpenedAgain) {
  const auto first = make_transaction(10, 3);
  commit(*open(), first);
  auto journal = open();
  EXPECT_FALSE(journal->recovery().created);
  EXPECT_EQ(journal->recovery().events, 3U);
  EXPECT_EQ(journal->recovery().truncated_bytes, 0U);
  EXPECT_EQ(journal->durable_sequence().load(), 3U);
  EXPECT_EQ(journal->durable_lsn().load(), 10U);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{10}, 2}));
  commit(*journal, make_transaction(11, 1));
  EXPECT_EQ(read_all(*journal).size(), 4U);
}

TEST_F(JournalTest, MovesThePositionWithoutEvents) {
  auto journal = open();
  commit(*journal, make_transaction(10, 1));
  must(journal->append(position_batch(Lsn{50})));
  must(journal->sync());
  EXPECT_EQ(journal->durable_lsn().load(), 50U);
  EXPECT_EQ(journal->durable_sequence().load(), 1U);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{10}, 0}));
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->durable_lsn().load(), 50U);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{10}, 0}));
  EXPECT_EQ(read_all(*journal).size(), 1U);
}

TEST_F(JournalTest, KeepsThePositionWhenTheSourceNamesAnOlderOne) {
  auto journal = open();
  must(journal->append(position_batch(Lsn{50})));
  must(journal->append(position_batch(Lsn{40})));
  must(journal->sync());
  EXPECT_EQ(journal->durable_lsn().load(), 50U);
}

TEST_F(JournalTest, IgnoresAnEmptyBatch) {
  auto journal = open();
  must(journal->append(model::EventBatch{}));
  must(journal->sync());
  EXPECT_EQ(journal->durable_sequence().load(), 0U);
}

TEST_F(JournalTest, ShowsATransactionInPartsOnlyWhenItIsWhole) {
  auto journal = open();
  const auto before = make_transaction(10, 2);
  const auto large = make_transaction(11, 9);
  model::EventBatch batch = whole_batch(before);
  for (std::size_t i = 0; i < 3; ++i) {
    add(batch, large[i]);
  }
  must(journal->append(batch));
  must(journal->sync());
  EXPECT_EQ(journal->durable_sequence().load(), 2U);
  must(journal->append(part_batch({large.begin() + 3, large.begin() + 6}, true)));
  must(journal->sync());
  EXPECT_EQ(read_all(*journal), before);
  EXPECT_EQ(journal->durable_lsn().load(), 10U);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{10}, 1}));
  must(journal->append(last_part_batch({large.begin() + 6, large.end()}, Lsn{11})));
  must(journal->sync());
  auto expected = before;
  expected.insert(expected.end(), large.begin(), large.end());
  EXPECT_EQ(read_all(*journal), expected);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{11}, 8}));
}

TEST_F(JournalTest, EndsATransactionWithoutFurtherEvents) {
  auto journal = open();
  const auto events = make_transaction(11, 3);
  must(journal->append(part_batch(events, false)));
  must(journal->append(last_part_batch({}, Lsn{11})));
  must(journal->sync());
  EXPECT_EQ(read_all(*journal), events);
  EXPECT_EQ(journal->last_position(), (Position{Lsn{11}, 2}));
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->last_position(), (Position{Lsn{11}, 2}));
  EXPECT_EQ(read_all(*journal), events);
}

TEST_F(JournalTest, TakesBackATransactionThatTheSourceBeginsAnew) {
  auto journal = open();
  const auto before = make_transaction(10, 2, 500);
  const auto large = make_transaction(11, 40, 500);
  commit(*journal, before);
  // Parts in several segments.
  must(journal->append(part_batch({large.begin(), large.begin() + 10}, false)));
  must(journal->append(part_batch({large.begin() + 10, large.begin() + 20}, true)));
  must(journal->append(part_batch({large.begin() + 20, large.begin() + 30}, true)));
  must(journal->sync());
  ASSERT_GT(journal->segment_list().snapshot()->size(), 2U);
  commit(*journal, large);
  auto expected = before;
  expected.insert(expected.end(), large.begin(), large.end());
  EXPECT_EQ(read_all(*journal), expected);
  journal.reset();
  EXPECT_EQ(read_all(*open()), expected);
}

TEST_F(JournalTest, RefusesAContinuationOfNothing) {
  auto journal = open();
  const auto status = journal->append(part_batch(make_transaction(11, 1), true));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::kInternal);
  commit(*journal, make_transaction(12, 1));
}

TEST_F(JournalTest, RollsSegments) {
  auto journal = open();
  const auto events = fill(*journal, 4);
  const auto segments = journal->segment_list().snapshot();
  ASSERT_EQ(segments->size(), 5U);
  for (std::size_t i = 0; i + 1 < segments->size(); ++i) {
    const Segment& segment = (*segments)[i];
    EXPECT_EQ(std::filesystem::file_size(segment.path), segment.size) << "sealed to its frames";
    EXPECT_LE(segment.size, 4096U);
  }
  EXPECT_EQ(std::filesystem::file_size(segments->back().path), 4096U);
  EXPECT_EQ(read_all(*journal), events);
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->recovery().segments, 5U);
  EXPECT_EQ(read_all(*journal), events);
}

TEST_F(JournalTest, GivesALargeFrameASegmentOfItsOwn) {
  auto journal = open();
  const auto small = make_transaction(10, 1);
  const auto large = make_transaction(11, 100, 1000);
  const auto after = make_transaction(12, 1);
  commit(*journal, small);
  commit(*journal, large);
  commit(*journal, after);
  auto expected = small;
  expected.insert(expected.end(), large.begin(), large.end());
  expected.insert(expected.end(), after.begin(), after.end());
  EXPECT_EQ(read_all(*journal), expected);
  journal.reset();
  EXPECT_EQ(read_all(*open()), expected);
}

TEST_F(JournalTest, RefusesASecondOwner) {
  auto journal = open();
  const auto second = Journal::open(file_system_, {.directory = directory_.path() / "events"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kLocked);
  EXPECT_FALSE(second.error().hint.empty());
  journal.reset();
  EXPECT_TRUE(Journal::open(file_system_, {.directory = directory_.path() / "events"}));
}

TEST_F(JournalTest, RetainsWhatIsNotPassed) {
  auto journal = open();
  const auto events = fill(*journal, 4);
  EXPECT_EQ(must(journal->retain({0}, kNoon)), 0U);
  EXPECT_EQ(must(journal->retain({0}, kNoon + hours{100})), 0U);
  EXPECT_EQ(read_all(*journal), events);
}

TEST_F(JournalTest, RetainsForAnHourWhatIsPassed) {
  auto journal = open();
  const auto events = fill(*journal, 4);
  const auto segments = journal->segment_list().snapshot();
  const Sequence third = (*segments)[2].header.first;
  const std::uint64_t size_of_two = (*segments)[0].size + (*segments)[1].size;
  // One event short of the end of the second segment: only the first is passed.
  EXPECT_EQ(must(journal->retain({third.value - 2}, kNoon)), 0U);
  EXPECT_EQ(must(journal->retain({third.value - 1}, kNoon + hours{1} - seconds{1})), 0U);
  EXPECT_EQ(must(journal->retain({third.value - 1}, kNoon + hours{1})), (*segments)[0].size);
  EXPECT_EQ(must(journal->retain({third.value - 1}, kNoon + hours{2})), (*segments)[1].size);
  EXPECT_FALSE(std::filesystem::exists((*segments)[0].path));
  EXPECT_EQ(read_all(*journal),
            std::vector<TestEvent>(events.begin() + static_cast<std::ptrdiff_t>(third.value - 1),
                                   events.end()));
  const std::uint64_t bytes = journal->bytes();
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->bytes(), bytes);
  EXPECT_GT(size_of_two, 0U);
  EXPECT_EQ(journal->recovery().events, events.size() - (third.value - 1));
}

TEST_F(JournalTest, StopsTheClockWhenAConsumerGoesBack) {
  auto journal = open();
  fill(*journal, 3);
  const Sequence all{journal->durable_sequence().load()};
  EXPECT_EQ(must(journal->retain(all, kNoon)), 0U);
  EXPECT_EQ(must(journal->retain({0}, kNoon + seconds{10})), 0U);
  EXPECT_EQ(must(journal->retain(all, kNoon + hours{2})), 0U);
  EXPECT_GT(must(journal->retain(all, kNoon + hours{3})), 0U);
}

TEST_F(JournalTest, NeverDeletesTheActiveSegment) {
  auto journal = open();
  fill(*journal, 3);
  const Sequence far{1'000'000};
  must(journal->retain(far, kNoon));
  must(journal->retain(far, kNoon + hours{2}));
  EXPECT_EQ(journal->segment_list().snapshot()->size(), 1U);
  const std::uint64_t last = journal->durable_sequence().load();
  const Position position = journal->last_position();
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->durable_sequence().load(), last);
  EXPECT_EQ(journal->last_position(), position);
}

TEST_F(JournalTest, KnowsItsPositionThoughAllEventsAreDeleted) {
  auto journal = open();
  fill(*journal, 1);
  // The second segment is empty but for positions when the frame that rolled it is taken away; so
  // roll with a part, and let a restart drop it.
  const std::uint64_t last = journal->durable_sequence().load();
  const Position position = journal->last_position();
  must(journal->append(part_batch(make_transaction(500, 1, 5000), false)));
  must(journal->sync());
  must(journal->retain({last}, kNoon));
  must(journal->retain({last}, kNoon + hours{2}));
  journal.reset();
  journal = open();
  EXPECT_EQ(journal->durable_sequence().load(), last);
  EXPECT_EQ(journal->last_position(), position);
  commit(*journal, make_transaction(600, 1));
  EXPECT_EQ(journal->durable_sequence().load(), last + 1);
}

TEST_F(JournalTest, TellsTheLimitAndGoesOnWhenConsumersPass) {
  auto journal = must(Journal::open(
      file_system_,
      {.directory = directory_.path() / "small", .segment_bytes = 4096, .bytes_max = 16'384}));
  std::vector<TestEvent> events;
  Status status;
  for (std::uint64_t i = 1; status; ++i) {
    events.push_back(make_event(i, 0, 600));
    status = journal->append(whole_batch({events.back()}));
    must(journal->sync());
    ASSERT_LT(i, 1000U);
  }
  EXPECT_EQ(status.error().code, Errc::kLimit);
  EXPECT_FALSE(status.error().hint.empty());
  EXPECT_LE(journal->bytes(), 16'384U);
  EXPECT_EQ(journal->append(whole_batch({events.back()})).error().code, Errc::kLimit);
  const std::uint64_t durable = journal->durable_sequence().load();
  EXPECT_EQ(durable, events.size() - 1);
  // Retention is not over, but room is needed.
  EXPECT_EQ(must(journal->retain({durable}, kNoon)), 0U);
  commit(*journal, {events.back()});
  EXPECT_LE(journal->bytes(), 16'384U);
  const auto kept = read_all(*journal);
  EXPECT_EQ(kept,
            std::vector<TestEvent>(events.end() - static_cast<std::ptrdiff_t>(kept.size()),
                                   events.end()));
}

TEST_F(JournalTest, SurvivesAFullDisk) {
  for (const bool preallocates : {true, false}) {
    SCOPED_TRACE(preallocates);
    SimulatedFileSystem disk(1);
    disk.set_capacity(13'000);
    if (!preallocates) {
      disk.refuse_allocation();
    }
    const Options options{.directory = "/events", .segment_bytes = 4096};
    auto journal = must(Journal::open(disk, options));
    std::vector<TestEvent> events;
    Status status;
    for (std::uint64_t i = 1; status; ++i) {
      events.push_back(make_event(i, 0, 600));
      status = journal->append(whole_batch({events.back()}));
      must(journal->sync());
      ASSERT_LT(i, 1000U);
    }
    EXPECT_EQ(status.error().code, Errc::kNoSpace);
    EXPECT_EQ(journal->append(whole_batch({events.back()})).error().code, Errc::kNoSpace);
    EXPECT_EQ(journal->durable_sequence().load(), events.size() - 1);
    // It opens on the full disk as well.
    journal.reset();
    journal = must(Journal::open(disk, options));
    EXPECT_EQ(read_all(*journal).size(), events.size() - 1);
    EXPECT_EQ(journal->append(whole_batch({events.back()})).error().code, Errc::kNoSpace);
    disk.set_capacity(100'000);
    commit(*journal, {events.back()});
    EXPECT_EQ(read_all(*journal), events);
  }
}

TEST_F(JournalTest, DeletesPassedSegmentsOnAFullDisk) {
  SimulatedFileSystem disk(1);
  disk.set_capacity(17'000);
  auto journal = must(Journal::open(disk, {.directory = "/events", .segment_bytes = 4096}));
  for (std::uint64_t i = 1; i < 200; ++i) {
    commit(*journal, {make_event(i, 0, 600)});
    must(journal->retain({i}, kNoon));
  }
  EXPECT_EQ(journal->durable_sequence().load(), 199U);
}

TEST_F(JournalTest, WritesNothingAfterAFailedSync) {
  SimulatedFileSystem disk(1);
  auto journal = must(Journal::open(disk, {.directory = "/events", .segment_bytes = 4096}));
  commit(*journal, make_transaction(1, 1));
  must(journal->append(whole_batch(make_transaction(2, 1))));
  disk.fail_next_sync();
  const auto failed = journal->sync();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kIo);
  EXPECT_EQ(journal->durable_sequence().load(), 1U);
  EXPECT_EQ(journal->durable_lsn().load(), 1U);
  const std::uint64_t operations = disk.operations();
  EXPECT_EQ(journal->sync().error().code, Errc::kIo);
  EXPECT_EQ(journal->append(whole_batch(make_transaction(3, 1))).error().code, Errc::kIo);
  EXPECT_EQ(journal->retain({1}, kNoon).error().code, Errc::kIo);
  EXPECT_EQ(disk.operations(), operations);
}

TEST_F(JournalTest, StopsWhenTheSyncOfARollFails) {
  SimulatedFileSystem disk(1);
  auto journal = must(Journal::open(disk, {.directory = "/events", .segment_bytes = 4096}));
  Status status;
  for (std::uint64_t i = 1; status; ++i) {
    disk.fail_next_sync();  // hits the first sync there is: one of the roll
    status = journal->append(whole_batch({make_event(i, 0, 600)}));
  }
  EXPECT_EQ(status.error().code, Errc::kIo);
  EXPECT_EQ(journal->durable_sequence().load(), 0U);
}

}  // namespace
}  // namespace cdc::journal
