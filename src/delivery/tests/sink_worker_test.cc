// Proves D1 to D3 and the endings of SinkWorker, on a real journal with a sink that follows a
// script.
#include "delivery/sink_worker.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/sync/event_fd.h"
#include "base/sync/mutex.h"
#include "delivery/tests/journal_fixture.h"
#include "delivery/tests/memory_cursors.h"

namespace cdc::delivery {
namespace {

using namespace std::chrono_literals;
using journal::FrameView;

// Takes and acknowledges everything, unless `on_submit` or `on_poll` says otherwise. Read its
// members once the worker has ended.
class ScriptedSink final : public Sink {
 public:
  using Submit = std::function<Result<std::size_t>(const FrameView&, std::size_t, AckWindow&)>;

  Status start() override {
    ++start_calls;
    return on_start ? on_start() : Status{};
  }

  Result<std::size_t> submit(const FrameView& frame, std::size_t from, AckWindow& window) override {
    ++submit_calls;
    called.signal();
    if (on_submit) {
      return on_submit(frame, from, window);
    }
    return take_all(frame, from, window);
  }

  Status poll_acks(AckWindow& window) override {
    ++poll_calls;
    ready.drain();
    return on_poll ? on_poll(window) : Status{};
  }

  [[nodiscard]] Interest interest() const override { return {.fd = ready.fd(), .events = POLLIN}; }

  void stop(MonotonicTime deadline) override { stopped_by = deadline; }

  std::size_t take_all(const FrameView& frame, std::size_t from, AckWindow& window) {
    take(frame, from, frame.events.size() - from);
    window.acknowledge_through(Sequence{frame.first.value + frame.events.size() - 1});
    return frame.events.size() - from;
  }

  void take(const FrameView& frame, std::size_t from, std::size_t count) {
    for (std::size_t i = from; i < from + count; ++i) {
      sequences.push_back(frame.first.value + i);
      lines += frame.line(i);
    }
  }

  // Waits for one more call of submit().
  void await_submit() {
    pollfd waiting{.fd = called.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&waiting, 1, 30'000), 1);
    called.drain();
  }

  std::function<Status()> on_start;
  Submit on_submit;
  std::function<Status(AckWindow&)> on_poll;

  EventFd ready;   // what interest() names
  EventFd called;  // signalled by each submit()
  int start_calls = 0;
  int submit_calls = 0;
  int poll_calls = 0;
  std::vector<std::uint64_t> sequences;  // taken, in order
  std::string lines;
  MonotonicTime stopped_by = MonotonicTime::min();
};

std::vector<std::uint64_t> range(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> sequences;
  for (std::uint64_t i = first; i <= last; ++i) {
    sequences.push_back(i);
  }
  return sequences;
}

class SinkWorkerTest : public testing::Test {
 protected:
  SinkWorker::Options options() const {
    return {.consumer = "c", .backoff = {.first = 1ms, .longest = 2ms}, .cursor_interval = 1ms};
  }

  std::unique_ptr<SinkWorker> make_worker(SinkWorker::Options options) {
    return std::make_unique<SinkWorker>(
        *journal_, cursors_, sink_, std::move(options), [this](const Error& error) {
          end_ = error;
          ended_.signal();
        });
  }

  // Runs a worker until everything durable is delivered, or it ends by itself.
  void run_to_end() {
    const auto worker = make_worker(options());
    worker->start();
    worker->stop(monotonic_now() + 120s);
    worker->join();
    passed_ = worker->passed();
  }

  void await_end() {
    pollfd ended{.fd = ended_.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  }

  [[nodiscard]] state::Cursor saved() { return cursors_.get("c"); }

  [[nodiscard]] Errc end_code() const { return end_ ? end_->code : Errc{}; }

  void save(std::uint64_t all_lanes) {
    state::Cursor cursor;
    cursor.lanes.fill(Sequence{all_lanes});
    ASSERT_TRUE(cursors_.save("c", cursor));
  }

  TestJournal journal_;
  MemoryCursors cursors_;
  ScriptedSink sink_;
  EventFd ended_;
  std::optional<Error> end_;
  Sequence passed_;
};

TEST_F(SinkWorkerTest, StopDeliversWhatIsDurableAndSavesTheCursor) {
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    journal_.commit(10);
  }
  for (std::uint64_t i = 1; i <= 200; ++i) {
    expected += TestJournal::line_of(i);
  }
  run_to_end();
  EXPECT_EQ(sink_.sequences, range(1, 200));
  EXPECT_EQ(sink_.lines, expected);
  EXPECT_EQ(saved().lowest(), Sequence{200});
  EXPECT_EQ(passed_, Sequence{200});
  EXPECT_FALSE(end_);
  EXPECT_GT(sink_.stopped_by, MonotonicTime::min());
}

TEST_F(SinkWorkerTest, DeliversWhatBecomesDurableWhileItRuns) {
  const auto worker = make_worker(options());
  worker->start();
  for (std::uint64_t i = 1; i <= 50; ++i) {
    journal_.commit(1);
    cursors_.await_lowest("c", Sequence{i});
  }
  worker->stop(monotonic_now() + 120s);
  worker->join();
  EXPECT_EQ(sink_.sequences, range(1, 50));
}

TEST_F(SinkWorkerTest, FiguresTellWhatWasAcknowledged) {
  const auto worker = make_worker(options());
  worker->start();
  for (std::uint64_t i = 1; i <= 5; ++i) {
    journal_.commit(10);
    cursors_.await_lowest("c", Sequence{10 * i});
  }
  const DeliveryFigures& figures = worker->figures();
  EXPECT_EQ(figures.acknowledged.load(), 50U);
  EXPECT_EQ(figures.delivered.load(), 50U);
  worker->stop(monotonic_now() + 120s);
  worker->join();
  EXPECT_GE(figures.cursors_saved.load(), 4U);  // the last one is counted after it is seen
  EXPECT_EQ(figures.deliver_errors.load(), 0U);
  std::uint64_t timed = 0;
  for (std::size_t i = 0; i <= figures.delay_micros.bounds().size(); ++i) {
    timed += figures.delay_micros.in_range(i);
  }
  EXPECT_EQ(timed, 5U);
}

TEST_F(SinkWorkerTest, GoesOnBehindTheSavedCursor) {
  journal_.commit(10);
  run_to_end();
  journal_.commit(5);
  run_to_end();
  EXPECT_EQ(sink_.sequences, range(1, 15));
}

TEST_F(SinkWorkerTest, SkipsInEachLaneWhatIsCovered) {
  journal_.commit(10);  // event N has key N - 1
  state::Cursor cursor;
  cursor.lanes.fill(Sequence{4});
  cursor.lanes[5] = Sequence{6};
  cursor.lanes[8] = Sequence{10};
  ASSERT_TRUE(cursors_.save("c", cursor));
  run_to_end();
  EXPECT_EQ(sink_.sequences, (std::vector<std::uint64_t>{5, 7, 8, 10}));
  EXPECT_EQ(saved().lowest(), Sequence{10});
}

TEST_F(SinkWorkerTest, ANewConsumerBeginsWithTheOldestEventOrBehindTheLatest) {
  journal_.commit(10);
  SinkWorker::Options latest = options();
  latest.start_at = StartAt::kLatest;
  {
    const auto worker = make_worker(latest);
    worker->start();
    cursors_.await_save();
    EXPECT_EQ(saved().lowest(), Sequence{10});
    journal_.commit(3);
    worker->stop(monotonic_now() + 120s);
    worker->join();
  }
  EXPECT_EQ(sink_.sequences, range(11, 13));
}

TEST_F(SinkWorkerTest, AClosedSinkEndsTheWorkerWithItsAcknowledgementsSaved) {
  journal_.commit(10);
  sink_.on_submit = [&](const FrameView& frame, std::size_t, AckWindow& window) {
    window.acknowledge_through(Sequence{frame.first.value + 3});
    return Result<std::size_t>(fail(Errc::kClosed, "gone"));
  };
  const auto worker = make_worker(options());
  worker->start();
  await_end();
  worker->join();
  EXPECT_EQ(end_code(), Errc::kClosed);
  EXPECT_EQ(saved().lowest(), Sequence{4});
  EXPECT_EQ(worker->passed(), Sequence{4});
  EXPECT_GT(sink_.stopped_by, MonotonicTime::min());
}

TEST_F(SinkWorkerTest, ARetryableErrorIsFollowedByTheLowestUnacknowledgedEvent) {
  journal_.commit(10);
  int failures = 0;
  sink_.on_submit =
      [&](const FrameView& frame, std::size_t from, AckWindow& window) -> Result<std::size_t> {
    if (++failures <= 5) {
      window.acknowledge(Sequence{frame.first.value + from});
      sink_.take(frame, from, 1);
      return fail(Errc::kUnavailable, "away");
    }
    return sink_.take_all(frame, from, window);
  };
  const auto worker = make_worker(options());
  worker->start();
  cursors_.await_lowest("c", Sequence{10});
  worker->stop(monotonic_now() + 120s);
  worker->join();
  EXPECT_EQ(sink_.sequences, range(1, 10));
  EXPECT_FALSE(end_);
}

TEST_F(SinkWorkerTest, AnErrorForgetsWhatWasInFlight) {
  journal_.commit(6);
  bool has_failed = false;
  sink_.on_submit = [&](const FrameView& frame, std::size_t from, AckWindow& window) {
    if (has_failed) {
      return Result<std::size_t>(sink_.take_all(frame, from, window));
    }
    sink_.take(frame, from, frame.events.size() - from);
    return Result<std::size_t>(frame.events.size() - from);
  };
  sink_.on_poll = [&](AckWindow& window) -> Status {
    if (window.events_in_flight() == 6) {
      window.acknowledge(Sequence{2});  // key 1, alone in its lane
      has_failed = true;
      return fail(Errc::kUnavailable, "away");
    }
    return {};
  };
  const auto worker = make_worker(options());
  worker->start();
  cursors_.await_lowest("c", Sequence{6});
  worker->stop(monotonic_now());
  worker->join();
  EXPECT_EQ(sink_.sequences, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 1, 3, 4, 5, 6}));
}

TEST_F(SinkWorkerTest, StartIsTriedAgain) {
  journal_.commit(1);
  sink_.on_start = [&] {
    return sink_.start_calls < 3 ? Status(fail(Errc::kUnavailable, "away")) : Status{};
  };
  const auto worker = make_worker(options());
  worker->start();
  cursors_.await_lowest("c", Sequence{1});
  worker->stop(monotonic_now());
  worker->join();
  EXPECT_EQ(sink_.start_calls, 3);
}

TEST_F(SinkWorkerTest, AnErrorForGoodEndsTheWorker) {
  journal_.commit(1);
  sink_.on_start = [] {
    return Status(fail(Errc::kAuthentication, "no"));
  };
  const auto worker = make_worker(options());
  worker->start();
  await_end();
  worker->join();
  EXPECT_EQ(end_code(), Errc::kAuthentication);
}

TEST_F(SinkWorkerTest, NewEventsDoNotWakeAWorkerWhoseSinkIsFull) {
  journal_.commit(1);
  sink_.on_submit = [](const FrameView&, std::size_t, AckWindow&) {
    return Result<std::size_t>(std::size_t{0});
  };
  const auto worker = make_worker(options());
  worker->start();
  sink_.await_submit();
  for (int i = 0; i < 500; ++i) {
    journal_.commit(1);
  }
  worker->stop(monotonic_now());
  worker->join();
  EXPECT_LE(sink_.submit_calls, 2);
  EXPECT_LE(sink_.poll_calls, 4);
}

TEST_F(SinkWorkerTest, AnIdleWorkerSleeps) {
  journal_.commit(1);
  const auto worker = make_worker(options());
  worker->start();
  cursors_.await_lowest("c", Sequence{1});
  // A worker that does not sleep would make many rounds while these are written to disk.
  journal_.commit(1, 8U << 20U);
  cursors_.await_lowest("c", Sequence{2});
  worker->stop(monotonic_now());
  worker->join();
  EXPECT_LE(sink_.poll_calls, 12);
}

TEST_F(SinkWorkerTest, StopsByTheDeadlineWhenTheSinkIsStuck) {
  journal_.commit(1);
  sink_.on_submit = [](const FrameView&, std::size_t, AckWindow&) {
    return Result<std::size_t>(std::size_t{0});
  };
  const auto worker = make_worker(options());
  worker->start();
  sink_.await_submit();
  worker->stop(monotonic_now() + 1h);
  const MonotonicTime earlier = monotonic_now() + 10ms;
  worker->stop(earlier);
  worker->join();
  EXPECT_EQ(sink_.stopped_by, earlier);
  EXPECT_FALSE(end_);
}

TEST_F(SinkWorkerTest, OffersNoMoreThanTheWindowHolds) {
  for (int i = 0; i < 10; ++i) {
    journal_.commit(10);
  }
  std::size_t most = 0;
  sink_.on_submit = [&](const FrameView& frame, std::size_t from, AckWindow& window) {
    const std::size_t count = frame.events.size() - from;
    most = std::max(most, window.events_in_flight() + count);
    sink_.take(frame, from, count);
    return Result<std::size_t>(count);
  };
  sink_.on_poll = [&](AckWindow& window) {
    if (!sink_.sequences.empty()) {
      window.acknowledge_through(Sequence{sink_.sequences.back()});
    }
    return Status{};
  };
  SinkWorker::Options small = options();
  small.in_flight.events = 7;
  const auto worker = make_worker(small);
  worker->start();
  sink_.await_submit();
  while (saved().lowest() < Sequence{100}) {
    sink_.ready.signal();
    cursors_.await_save();
  }
  worker->stop(monotonic_now());
  worker->join();
  EXPECT_LE(most, 7U);
  EXPECT_EQ(sink_.sequences, range(1, 100));
}

TEST_F(SinkWorkerTest, SavesTheCursorNoMoreOftenThanTheInterval) {
  SinkWorker::Options rare = options();
  rare.cursor_interval = 1h;
  const auto worker = make_worker(rare);
  worker->start();
  for (int i = 0; i < 50; ++i) {
    journal_.commit(1);
    sink_.await_submit();
  }
  worker->stop(monotonic_now() + 120s);
  worker->join();
  EXPECT_EQ(cursors_.save_count(), 2);  // where it began, and at the end
  EXPECT_EQ(saved().lowest(), Sequence{50});
}

TEST_F(SinkWorkerTest, AFullDiskUnderTheCursorsDoesNotStopDelivery) {
  const auto worker = make_worker(options());
  worker->start();
  cursors_.await_save();
  cursors_.fail_with(make_error(Errc::kNoSpace, "full"));
  journal_.commit(5);
  cursors_.await_save();
  EXPECT_EQ(worker->passed(), Sequence{0});
  cursors_.fail_with(std::nullopt);
  cursors_.await_lowest("c", Sequence{5});
  worker->stop(monotonic_now() + 120s);
  worker->join();
  EXPECT_EQ(worker->passed(), Sequence{5});
  EXPECT_FALSE(end_);
}

TEST_F(SinkWorkerTest, ABrokenCursorStoreEndsTheWorker) {
  const auto worker = make_worker(options());
  worker->start();
  cursors_.await_save();
  cursors_.fail_with(make_error(Errc::kIo, "broken"));
  journal_.commit(5);
  await_end();
  worker->join();
  EXPECT_EQ(end_code(), Errc::kIo);
}

TEST_F(SinkWorkerTest, RefusesACursorBeyondTheJournal) {
  journal_.commit(5);
  save(6);
  run_to_end();
  EXPECT_EQ(end_code(), Errc::kCorrupt);
  EXPECT_TRUE(sink_.sequences.empty());
  EXPECT_EQ(saved().lowest(), Sequence{6});
}

TEST(SinkWorkerRetention, RefusesACursorThatRetentionHasOvertaken) {
  TestJournal journal(64U << 10U);
  MemoryCursors cursors;
  for (int i = 0; i < 40; ++i) {
    journal.commit(10, 1'000);
  }
  ASSERT_GT(journal->retain(Sequence{400}, std::chrono::system_clock::now() + 24h).value(), 0U);
  ASSERT_TRUE(cursors.save("c", state::Cursor{}));
  ScriptedSink sink;
  std::optional<Error> end;
  SinkWorker worker(
      *journal, cursors, sink, {.consumer = "c"}, [&](const Error& error) { end = error; });
  worker.start();
  worker.join();
  EXPECT_EQ(end ? end->code : Errc{}, Errc::kNotFound);
  EXPECT_TRUE(sink.sequences.empty());

  // A new consumer begins with what is left.
  ScriptedSink other;
  SinkWorker fresh(*journal, cursors, other, {.consumer = "d"}, [](const Error&) {});
  fresh.start();
  fresh.stop(monotonic_now() + 120s);
  fresh.join();
  ASSERT_FALSE(other.sequences.empty());
  EXPECT_GT(other.sequences.front(), 1U);
  EXPECT_EQ(other.sequences.back(), 400U);
}

TEST_F(SinkWorkerTest, ACorruptJournalEndsTheWorker) {
  journal_.commit(100, 200);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(journal_.directory())) {
    if (!entry.is_regular_file() || entry.file_size() < 10'000) {
      continue;
    }
    const UniqueFd file(::open(entry.path().c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.get(), "?", 1, 9'000), 1);
  }
  const auto worker = make_worker(options());
  worker->start();
  await_end();
  worker->join();
  EXPECT_EQ(end_code(), Errc::kCorrupt);
  EXPECT_TRUE(sink_.sequences.empty());
}

}  // namespace
}  // namespace cdc::delivery
