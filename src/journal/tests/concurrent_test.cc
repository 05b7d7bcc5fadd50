// Proves, with real files and threads and for ThreadSanitizer to watch: consumers that follow the
// watermark while the appender writes, rolls and deletes see every event once and in order.
#include <atomic>
#include <memory>
#include <optional>

#include <poll.h>

#include <gtest/gtest.h>

#include "base/sync/thread.h"
#include "journal/appender.h"
#include "journal/segment_list.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

constexpr std::uint64_t kTransactions = 1500;

std::size_t events_in(std::uint64_t commit) {
  return 1 + commit % 4;
}

// Checks that events arrive in the order of their commits.
struct Follower {
  std::uint64_t commit = 1;
  std::uint64_t index = 0;
  std::atomic<std::uint64_t> passed{0};
  std::uint64_t events = 0;

  bool take(const FrameView& view) {
    for (std::size_t i = 0; i < view.events.size(); ++i) {
      const Position expected{Lsn{commit}, index};
      const bool good = view.events[i].position() == expected &&
                        view.line(i) == make_event(commit, index, 200).line;
      if (!good) {
        ADD_FAILURE() << "event " << view.first.value + i << " is not " << commit << "/" << index;
        return false;
      }
      ++events;
      if (++index == events_in(commit)) {
        index = 0;
        ++commit;
      }
    }
    passed.store(view.first.value + view.events.size() - 1);
    return true;
  }

  [[nodiscard]] bool finished() const { return commit > kTransactions; }
};

void wait_for_more(Watermark::Reader& watermark, std::uint64_t seen) {
  watermark.event().drain();
  if (watermark.load() == seen) {
    pollfd poller{watermark.event().fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&poller, 1, 60'000), 1) << "the watermark stands still at " << seen;
  }
}

// A consumer that retention waits for.
void follow(Journal& journal, Follower& follower) {
  Watermark::Reader watermark(journal.durable_sequence());
  Reader reader(journal.segment_list(), {1});
  while (!follower.finished()) {
    const std::uint64_t limit = watermark.load();
    const auto next = reader.next({limit});
    ASSERT_TRUE(next) << next.error().to_string();
    const std::optional<FrameView>& view = *next;
    if (view) {
      ASSERT_TRUE(follower.take(*view));
    } else {
      ASSERT_NO_FATAL_FAILURE(wait_for_more(watermark, limit));
    }
  }
}

// A consumer that retention does not know: what it misses it is told.
void drop_in(Journal& journal, std::atomic<bool>& done) {
  std::uint64_t from = 1;
  while (!done.load()) {
    Reader reader(journal.segment_list(), {from});
    for (int i = 0; i < 50; ++i) {
      const auto next = reader.next({journal.durable_sequence().load()});
      if (!next) {
        ASSERT_EQ(next.error().code, Errc::kNotFound) << next.error().to_string();
        from = reader.oldest().value;
        break;
      }
      const std::optional<FrameView>& view = *next;
      if (!view) {
        break;
      }
      ASSERT_GE(view->first.value, from);
      from = view->first.value;
    }
  }
}

TEST(Concurrent, ConsumersSeeEveryEventOnceAndInOrder) {
  const TemporaryDirectory directory;
  PosixFileSystem file_system;
  const auto journal = must(Journal::open(file_system,
                                          {.directory = directory.path(),
                                           .segment_bytes = 16'384,
                                           .retention = std::chrono::seconds{0}}));
  Handoff<model::EventBatch> handoff;
  Follower first;
  Follower second;
  std::atomic<bool> done{false};
  Appender appender(
      *journal,
      handoff,
      {.passed = [&] { return Sequence{std::min(first.passed.load(), second.passed.load())}; },
       .on_failure = [](const Error& error) { ADD_FAILURE() << error.to_string(); },
       .retention_interval = std::chrono::milliseconds{1}});
  appender.start();
  Thread first_thread("first", [&] { follow(*journal, first); });
  Thread second_thread("second", [&] { follow(*journal, second); });
  Thread third_thread("third", [&] { drop_in(*journal, done); });

  model::EventBatch batch;
  for (std::uint64_t commit = 1; commit <= kTransactions; ++commit) {
    for (std::size_t i = 0; i < events_in(commit); ++i) {
      add(batch, make_event(commit, i, 200));
    }
    batch.mark_boundary(Lsn{commit});
    // Like a source: goes on filling while the journal is busy, up to a bound.
    while (!handoff.try_put(batch) && batch.bytes() > 20'000) {
      pollfd poller{handoff.free_event().fd(), POLLIN, 0};
      ::poll(&poller, 1, -1);
      handoff.free_event().drain();
    }
  }
  while (!batch.empty() && !handoff.try_put(batch)) {
    pollfd poller{handoff.free_event().fd(), POLLIN, 0};
    ::poll(&poller, 1, -1);
    handoff.free_event().drain();
  }
  first_thread.join();
  second_thread.join();
  done.store(true);
  third_thread.join();
  handoff.close();
  appender.stop();
  EXPECT_EQ(first.events, second.events);
  EXPECT_EQ(first.events, journal->durable_sequence().load());
  EXPECT_GT(journal->segment_list().snapshot()->front().header.number, 1U) << "nothing was deleted";
}

}  // namespace
}  // namespace cdc::journal
