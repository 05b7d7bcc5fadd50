// Proves that the appender syncs once for what is waiting, keeps a batch that finds no room and
// goes on when there is, ends for good on any other error, and finishes what was handed to it. The
// journal is scripted; concurrent_test.cc runs the appender on a real one.
#include "journal/appender.h"

#include <atomic>
#include <mutex>
#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include "base/sync/event_fd.h"
#include "journal/segment_list.h"
#include "journal/tests/simulated_file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

void wait_for(EventFd& event) {
  pollfd poller{event.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&poller, 1, 20'000), 1) << "nothing happened";
  event.drain();
}

// Counts calls, and answers append() with an error for as long as the test wants it.
class ScriptedJournal final : public Journal {
 public:
  Status append(const model::EventBatch& batch) override {
    const std::lock_guard lock(mutex_);
    ++attempts_;
    attempted.signal();
    if (failure_) {
      return cdc::fail(*failure_);
    }
    appended_ += batch.events().size();
    return {};
  }

  Status sync() override {
    const std::lock_guard lock(mutex_);
    ++syncs_;
    if (sync_failure_) {
      return cdc::fail(*sync_failure_);
    }
    sequence_.publish(appended_);
    synced.signal();
    return {};
  }

  Result<std::uint64_t> retain(Sequence passed, std::chrono::system_clock::time_point) override {
    retained_to.store(passed.value);
    retained.signal();
    return std::uint64_t{0};
  }

  Watermark& durable_sequence() noexcept override { return sequence_; }

  Watermark& durable_lsn() noexcept override { return lsn_; }

  Position last_position() const noexcept override { return {}; }

  const RecoveryReport& recovery() const noexcept override { return recovery_; }

  SegmentList& segment_list() noexcept override { return list_; }

  std::uint64_t bytes() const noexcept override { return 0; }

  void fail_appends(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }

  void fail_syncs(Error error) {
    const std::lock_guard lock(mutex_);
    sync_failure_ = std::move(error);
  }

  int attempts() {
    const std::lock_guard lock(mutex_);
    return attempts_;
  }

  int syncs() {
    const std::lock_guard lock(mutex_);
    return syncs_;
  }

  EventFd attempted;
  EventFd synced;
  EventFd retained;
  std::atomic<std::uint64_t> retained_to{0};

 private:
  std::mutex mutex_;
  std::optional<Error> failure_;
  std::optional<Error> sync_failure_;
  int attempts_ = 0;
  int syncs_ = 0;
  std::uint64_t appended_ = 0;
  Watermark sequence_;
  Watermark lsn_;
  RecoveryReport recovery_;
  SimulatedFileSystem disk_{1};
  SegmentList list_{disk_};
};

class AppenderTest : public testing::Test {
 protected:
  AppenderOptions options() {
    return {.passed = [this] { return Sequence{passed_.load()}; },
            .on_failure =
                [this](const Error& error) {
                  failures_.push_back(error);
                  failed_.signal();
                },
            .retry_delay = milliseconds{1},
            .retention_interval = seconds{100}};
  }

  void put(model::EventBatch batch) {
    while (!handoff_.try_put(batch)) {
      wait_for(handoff_.free_event());
    }
  }

  ScriptedJournal journal_;
  Handoff<model::EventBatch> handoff_;
  std::atomic<std::uint64_t> passed_{0};
  std::vector<Error> failures_;  // read only after failed_
  EventFd failed_;
};

TEST_F(AppenderTest, AppendsAndSyncs) {
  Appender appender(journal_, handoff_, options());
  EXPECT_EQ(appender.state(), AppenderState::kStopped);
  appender.start();
  put(whole_batch(make_transaction(1, 3)));
  wait_for(journal_.synced);
  EXPECT_EQ(journal_.durable_sequence().load(), 3U);
  EXPECT_EQ(appender.state(), AppenderState::kRunning);
  appender.stop();
  EXPECT_EQ(appender.state(), AppenderState::kStopped);
  EXPECT_EQ(appender.batches(), 1U);
  EXPECT_EQ(appender.frames(), 1U);
  EXPECT_EQ(appender.events(), 3U);
  EXPECT_GT(appender.bytes(), 3 * sizeof(model::EventHeader));
  EXPECT_EQ(appender.syncs(), 1U);
}

std::uint64_t count_of(const metrics::Histogram& histogram) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
    count += histogram.in_range(i);
  }
  return count;
}

TEST_F(AppenderTest, MeasuresBatchesSyncsAndCommits) {
  Appender appender(journal_, handoff_, options());
  appender.start();
  model::EventBatch batch = whole_batch(make_transaction(1, 3));
  const std::size_t bytes = batch.bytes();
  batch.note_commit(UnixMicros{unix_now().value - 3'000'000});
  batch.note_commit(unix_now());  // the first one counts
  put(std::move(batch));
  wait_for(journal_.synced);
  put(position_batch(Lsn{900}));
  wait_for(journal_.synced);
  batch = whole_batch(make_transaction(2, 1));
  batch.note_commit(UnixMicros{unix_now().value + 60'000'000});  // by a clock ahead of ours
  put(std::move(batch));
  wait_for(journal_.synced);
  appender.stop();
  EXPECT_EQ(count_of(appender.batch_bytes()), 3U);
  EXPECT_GT(appender.batch_bytes().sum(), bytes);
  EXPECT_EQ(count_of(appender.sync_micros()), 3U);
  EXPECT_EQ(count_of(appender.commit_micros()), 2U);
  EXPECT_GE(appender.commit_micros().sum(), 3'000'000U);
  EXPECT_LT(appender.commit_micros().sum(), 60'000'000U);
}

TEST_F(AppenderTest, GivesEmptiedBatchesBack) {
  Appender appender(journal_, handoff_, options());
  appender.start();
  model::EventBatch batch = whole_batch(make_transaction(1, 3));
  for (int i = 0; i < 10; ++i) {
    while (!handoff_.try_put(batch)) {
      wait_for(handoff_.free_event());
    }
    EXPECT_TRUE(batch.empty());
    EXPECT_TRUE(batch.tables().empty());
    batch = whole_batch(make_transaction(2, 1));
  }
  appender.stop();
}

TEST_F(AppenderTest, FinishesWhatWasHandedOverBeforeItStops) {
  for (const bool close : {false, true}) {
    SCOPED_TRACE(close);
    ScriptedJournal journal;
    Handoff<model::EventBatch> handoff;
    Appender appender(journal, handoff, options());
    model::EventBatch batch = whole_batch(make_transaction(1, 3));
    ASSERT_TRUE(handoff.try_put(batch));
    if (close) {
      handoff.close();
    }
    appender.start();
    appender.stop();
    EXPECT_EQ(journal.durable_sequence().load(), 3U);
    EXPECT_EQ(appender.state(), AppenderState::kStopped);
  }
}

TEST_F(AppenderTest, EndsWhenTheHandoffIsClosed) {
  Appender appender(journal_, handoff_, options());
  appender.start();
  put(whole_batch(make_transaction(1, 3)));
  handoff_.close();
  wait_for(journal_.synced);
  appender.stop();
  EXPECT_TRUE(failures_.empty());
}

TEST_F(AppenderTest, PausesOnAFullDiskAndResumes) {
  for (const Errc code : {Errc::kNoSpace, Errc::kLimit}) {
    SCOPED_TRACE(name_of(code));
    ScriptedJournal journal;
    Handoff<model::EventBatch> handoff;
    journal.fail_appends(make_error(code, "no room"));
    Appender appender(journal, handoff, options());
    appender.start();
    model::EventBatch batch = whole_batch(make_transaction(1, 3));
    ASSERT_TRUE(handoff.try_put(batch));
    while (journal.attempts() < 3) {
      wait_for(journal.attempted);
    }
    EXPECT_EQ(appender.state(), AppenderState::kPaused);
    EXPECT_EQ(journal.durable_sequence().load(), 0U);
    // The source can hand over some more batches, and must wait then.
    constexpr std::size_t kMore = Handoff<model::EventBatch>::kSlots;
    for (std::size_t i = 0; i < kMore; ++i) {
      batch = whole_batch(make_transaction(2 + i, 1));
      EXPECT_TRUE(handoff.try_put(batch));
    }
    batch = whole_batch(make_transaction(99, 1));
    EXPECT_FALSE(handoff.try_put(batch));
    EXPECT_EQ(appender.durable_batches().load(), 0U);
    journal.fail_appends(std::nullopt);
    while (journal.durable_sequence().load() < 3 + kMore) {
      wait_for(journal.synced);
    }
    appender.stop();
    EXPECT_EQ(appender.batches(), 1 + kMore);
    EXPECT_EQ(appender.durable_batches().load(), 1 + kMore);
    EXPECT_TRUE(failures_.empty());
  }
}

TEST_F(AppenderTest, LooksAtRetentionWhilePaused) {
  journal_.fail_appends(make_error(Errc::kLimit, "no room"));
  Appender appender(journal_, handoff_, options());
  appender.start();
  wait_for(journal_.retained);  // the first look, at the start
  passed_.store(42);
  put(whole_batch(make_transaction(1, 3)));
  while (journal_.retained_to.load() != 42) {
    wait_for(journal_.retained);
  }
  appender.stop();
}

TEST_F(AppenderTest, StopsWhilePaused) {
  journal_.fail_appends(make_error(Errc::kNoSpace, "no room"));
  AppenderOptions slow = options();
  slow.retry_delay = std::chrono::hours{1};
  Appender appender(journal_, handoff_, slow);
  appender.start();
  put(whole_batch(make_transaction(1, 3)));
  wait_for(journal_.attempted);
  appender.stop();
  EXPECT_EQ(appender.state(), AppenderState::kStopped);
  EXPECT_EQ(journal_.durable_sequence().load(), 0U);
}

TEST_F(AppenderTest, FailsForGood) {
  for (const bool at_sync : {false, true}) {
    SCOPED_TRACE(at_sync);
    ScriptedJournal journal;
    Handoff<model::EventBatch> handoff;
    failures_.clear();
    if (at_sync) {
      journal.fail_syncs(make_error(Errc::kIo, "bad disk"));
    } else {
      journal.fail_appends(make_error(Errc::kIo, "bad disk"));
    }
    Appender appender(journal, handoff, options());
    appender.start();
    model::EventBatch batch = whole_batch(make_transaction(1, 3));
    ASSERT_TRUE(handoff.try_put(batch));
    wait_for(failed_);
    EXPECT_EQ(appender.state(), AppenderState::kFailed);
    ASSERT_EQ(failures_.size(), 1U);
    EXPECT_EQ(failures_[0].code, Errc::kIo);
    // Nothing is taken any more.
    batch = whole_batch(make_transaction(2, 1));
    EXPECT_TRUE(handoff.try_put(batch));
    appender.stop();
    EXPECT_EQ(appender.state(), AppenderState::kFailed);
    EXPECT_EQ(journal.attempts(), 1);
  }
}

TEST_F(AppenderTest, SyncsOnceForAGroup) {
  AppenderOptions small_groups = options();
  small_groups.group_bytes_max = 1;  // a sync for each batch
  Appender appender(journal_, handoff_, small_groups);
  appender.start();
  for (std::uint64_t i = 1; i <= 20; ++i) {
    put(whole_batch(make_transaction(i, 1)));
  }
  handoff_.close();
  while (journal_.durable_sequence().load() < 20) {
    wait_for(journal_.synced);
  }
  appender.stop();
  EXPECT_EQ(appender.syncs(), 20U);
  EXPECT_EQ(appender.batches(), 20U);
}

}  // namespace
}  // namespace cdc::journal
