// Proves that a worker with a StdoutSink delivers a journal line by line, sleeps while its reader
// is blocked, and ends when the reader is gone: with real pipes and a real journal.
#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/sync/event_fd.h"
#include "base/sync/level.h"
#include "delivery/sink_worker.h"
#include "delivery/tests/journal_fixture.h"
#include "delivery/tests/memory_cursors.h"
#include "sink_stdout/stdout_sink.h"
#include "state/cursor_store.h"

namespace cdc::sink_stdout {
namespace {

using delivery::AckWindow;
using delivery::SinkWorker;
using delivery::TestJournal;
using namespace std::chrono_literals;

// Counts the rounds of the worker, and tells when the other side is full.
class CountingSink final : public delivery::Sink {
 public:
  explicit CountingSink(int fd) : sink_(fd) {}

  Status start() override { return sink_.start(); }

  Result<std::size_t> submit(const journal::FrameView& frame,
                             std::size_t from,
                             AckWindow& window) override {
    auto taken = sink_.submit(frame, from, window);
    if (taken && from + *taken < frame.events.size()) {
      blocked_.signal();
    }
    return taken;
  }

  Status poll_acks(AckWindow& window) override {
    rounds_.store(rounds_.load() + 1);
    return sink_.poll_acks(window);
  }

  [[nodiscard]] Interest interest() const override { return sink_.interest(); }

  void stop(MonotonicTime deadline) override { sink_.stop(deadline); }

  [[nodiscard]] int rounds() const { return rounds_.load(); }

  void await_blocked() {
    pollfd blocked{.fd = blocked_.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&blocked, 1, 30'000), 1);
    blocked_.drain();
  }

 private:
  StdoutSink sink_;
  AtomicLevel rounds_{0};
  EventFd blocked_;
};

class StdoutDeliveryTest : public testing::Test {
 protected:
  StdoutDeliveryTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> fds{};
    EXPECT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
    reader_ = UniqueFd(fds[0]);
    writer_ = UniqueFd(fds[1]);
  }

  std::unique_ptr<SinkWorker> make_worker(delivery::Sink& sink) {
    return make_worker(sink, cursors_);
  }

  std::unique_ptr<SinkWorker> make_worker(delivery::Sink& sink, state::CursorStore& cursors) {
    return std::make_unique<SinkWorker>(*journal_,
                                        cursors,
                                        sink,
                                        SinkWorker::Options{.consumer = "stdout"},
                                        [this](const Error& error) {
                                          end_ = error;
                                          ended_.signal();
                                        });
  }

  void commit(int transactions) {
    for (int i = 0; i < transactions; ++i) {
      journal_.commit(100, 401);
    }
  }

  [[nodiscard]] std::string expected() const {
    std::string text;
    for (std::uint64_t i = 1; i <= journal_.last().value; ++i) {
      text += TestJournal::line_of(i, 401);
    }
    return text;
  }

  // Reads at most `piece` bytes at a time until there are `bytes`.
  std::string read(std::size_t bytes, std::size_t piece) {
    std::string text(bytes, '\0');
    std::size_t got = 0;
    while (got < bytes) {
      const ssize_t n = ::read(reader_.get(), &text[got], std::min(piece, bytes - got));
      if (n <= 0) {
        break;
      }
      got += static_cast<std::size_t>(n);
    }
    text.resize(got);
    return text;
  }

  [[nodiscard]] Errc end_code() const { return end_ ? end_->code : Errc{}; }

  void await_end() {
    pollfd ended{.fd = ended_.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ended, 1, 30'000), 1);
  }

  TestJournal journal_;
  delivery::MemoryCursors cursors_;
  UniqueFd reader_;
  UniqueFd writer_;
  EventFd ended_;
  std::optional<Error> end_;
};

TEST_F(StdoutDeliveryTest, ABlockedReaderLetsTheWorkerSleep) {
  commit(50);
  CountingSink sink(writer_.get());
  const auto worker = make_worker(sink);
  worker->start();
  sink.await_blocked();
  const int rounds = sink.rounds();
  commit(200);
  EXPECT_LE(sink.rounds(), rounds + 3) << "woken though the reader is blocked";
  EXPECT_TRUE(read(expected().size(), 1 << 20) == expected());
  worker->stop(monotonic_now() + 120s);
  worker->join();
  EXPECT_EQ(worker->passed(), journal_.last());
  EXPECT_FALSE(end_);
}

TEST_F(StdoutDeliveryTest, AReaderOfSingleBytesWakesTheWorkerOncePerPage) {
  commit(40);
  CountingSink sink(writer_.get());
  const auto worker = make_worker(sink);
  worker->start();
  const std::string text = expected();
  EXPECT_TRUE(read(text.size(), 1) == text);
  worker->stop(monotonic_now() + 120s);
  worker->join();
  EXPECT_LE(sink.rounds(), static_cast<int>(text.size() / PIPE_BUF) + 200);
}

TEST_F(StdoutDeliveryTest, AReaderThatGoesAwayEndsAnIdleWorker) {
  commit(1);
  CountingSink sink(writer_.get());
  const auto worker = make_worker(sink);
  worker->start();
  cursors_.await_lowest("stdout", journal_.last());
  reader_ = UniqueFd();
  await_end();
  worker->join();
  EXPECT_EQ(end_code(), Errc::kClosed);
}

TEST_F(StdoutDeliveryTest, AReaderThatGoesAwayEndsABlockedWorkerAndTheNextGoesOn) {
  commit(50);
  std::uint64_t passed = 0;
  {
    CountingSink sink(writer_.get());
    const auto worker = make_worker(sink);
    worker->start();
    sink.await_blocked();
    reader_ = UniqueFd();
    await_end();
    worker->join();
    EXPECT_EQ(end_code(), Errc::kClosed);
    passed = worker->passed().value;
  }
  EXPECT_LT(passed, journal_.last().value);
  std::array<int, 2> fds{};
  ASSERT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
  reader_ = UniqueFd(fds[0]);
  writer_ = UniqueFd(fds[1]);
  CountingSink sink(writer_.get());
  const auto worker = make_worker(sink);
  worker->start();
  const std::string rest = expected().substr(passed * 401);
  EXPECT_TRUE(read(rest.size(), 1 << 20) == rest);
}

TEST_F(StdoutDeliveryTest, AStopInTheMiddleOfALineCompletesIt) {
  commit(50);
  CountingSink sink(writer_.get());
  const auto worker = make_worker(sink);
  worker->start();
  sink.await_blocked();
  worker->stop(monotonic_now() + 120s);
  std::string text = read(expected().size(), 1 << 20);
  worker->join();
  EXPECT_TRUE(text == expected());
  EXPECT_EQ(worker->passed(), journal_.last());
}

TEST_F(StdoutDeliveryTest, AFileHoldsEveryLineAcrossRestarts) {
  const auto path = journal_.directory() / "out";
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  for (int i = 0; i < 3; ++i) {
    commit(20);
    StdoutSink sink(file.get());
    const auto cursors = state::CursorStore::open(journal_.directory() / "cursors.db");
    ASSERT_TRUE(cursors) << cursors.error().to_string();
    const auto worker = make_worker(sink, **cursors);
    worker->start();
    worker->stop(monotonic_now() + 120s);
    worker->join();
    EXPECT_EQ(worker->passed(), journal_.last());
  }
  reader_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(std::filesystem::file_size(path), expected().size());
  EXPECT_TRUE(read(expected().size(), 1 << 20) == expected());
  EXPECT_FALSE(end_);
}

}  // namespace
}  // namespace cdc::sink_stdout
