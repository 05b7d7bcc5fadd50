// Proves O1 and O2 of StdoutSink on real files, pipes, sockets and terminals: whole lines come out
// whatever the reader does, only whole lines are acknowledged, and nothing blocks.
#include "sink_stdout/stdout_sink.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/sync/thread.h"
#include "delivery/tests/line_frame.h"

namespace cdc::sink_stdout {
namespace {

using delivery::AckWindow;
using delivery::LineFrame;
using namespace std::chrono_literals;

struct Pair {
  UniqueFd reader;
  UniqueFd writer;
};

Pair make_pipe() {
  std::array<int, 2> fds{};
  EXPECT_EQ(::pipe2(fds.data(), O_CLOEXEC), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Pair make_sockets() {
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

Pair make_terminal() {
  int master = -1;
  int slave = -1;
  EXPECT_EQ(::openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  termios settings{};
  EXPECT_EQ(::tcgetattr(slave, &settings), 0);
  ::cfmakeraw(&settings);
  EXPECT_EQ(::tcsetattr(slave, TCSANOW, &settings), 0);
  return {UniqueFd(master), UniqueFd(slave)};
}

// What can be read within `timeout_ms`, up to `bytes`.
std::string read_some(const UniqueFd& fd, std::size_t bytes, int timeout_ms = 0) {
  pollfd input{.fd = fd.get(), .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, timeout_ms) <= 0 || (input.revents & POLLIN) == 0) {
    return {};
  }
  std::string text(bytes, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  EXPECT_GT(got, 0);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

bool is_ready(const StdoutSink& sink, int timeout_ms) {
  const auto interest = sink.interest();
  pollfd output{.fd = interest.fd, .events = interest.events, .revents = 0};
  return ::poll(&output, 1, timeout_ms) > 0;
}

LineFrame make_frame(std::uint64_t first, std::size_t count, std::size_t line_bytes) {
  LineFrame frame(Sequence{first});
  for (std::size_t i = 0; i < count; ++i) {
    std::string line = cdc::format("{{\"n\":{}", first + i);
    line.resize(std::max(line.size(), line_bytes - 2), ' ');
    frame.add(line + "}\n");
  }
  return frame;
}

// A sink and its window, driven as the worker drives them.
class Delivery {
 public:
  explicit Delivery(int fd) : sink_(fd) {}

  [[nodiscard]] StdoutSink& sink() { return sink_; }

  [[nodiscard]] AckWindow& window() { return window_; }

  Result<std::size_t> submit(const LineFrame& frame, std::size_t from) {
    window_.offer(frame.view(), from);
    Result<std::size_t> taken = sink_.submit(frame.view(), from, window_);
    if (taken) {
      window_.close_offer(*taken);
    } else {
      window_.abandon_offer();
    }
    return taken;
  }

  [[nodiscard]] std::uint64_t acknowledged() const { return window_.acknowledged_count(); }

 private:
  StdoutSink sink_;
  AckWindow window_{{.events = 1'000'000, .bytes = 1U << 30U}, {}};
};

// Delivers random frames to a reader that reads pieces of at most `read_max` bytes, and only when
// the sink can write no more. Checks after each step what a reader may see and what is
// acknowledged.
void deliver_to_slow_reader(const Pair& pair, std::size_t read_max, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Delivery delivery(pair.writer.get());
  ASSERT_TRUE(delivery.sink().start());
  std::string expected;
  std::string got;
  std::int64_t lines_seen = 0;
  std::uint64_t lines = 0;
  while (lines < 400) {
    const LineFrame frame = make_frame(lines + 1, 1 + random() % 80, 20 + random() % 9'000);
    expected += frame.text();
    lines += frame.size();
    std::size_t next = 0;
    while (next < frame.size()) {
      ASSERT_TRUE(delivery.sink().poll_acks(delivery.window()));
      const auto taken = delivery.submit(frame, next);
      ASSERT_TRUE(taken) << taken.error().to_string();
      next += *taken;
      while (next < frame.size() && !is_ready(delivery.sink(), 0)) {
        const std::string piece = read_some(pair.reader, 1 + random() % read_max);
        ASSERT_FALSE(piece.empty()) << "neither readable nor writable";
        lines_seen += std::ranges::count(piece, '\n');
        got += piece;
      }
      ASSERT_LE(lines_seen, static_cast<std::int64_t>(delivery.acknowledged()) + 1);
    }
  }
  while (!delivery.window().is_idle()) {
    got += read_some(pair.reader, 1 << 20);
    ASSERT_TRUE(delivery.sink().poll_acks(delivery.window()));
  }
  while (got.size() < expected.size()) {
    const std::string piece = read_some(pair.reader, 1 << 20);
    ASSERT_FALSE(piece.empty());
    got += piece;
  }
  EXPECT_TRUE(got == expected);
  EXPECT_EQ(delivery.acknowledged(), lines);
}

// Fills the other side until the sink can write no more, in the middle of a line.
struct Stuck {
  LineFrame frame;
  std::size_t taken;
};

Stuck fill(Delivery& delivery) {
  LineFrame frame = make_frame(1, 3'000, 1'003);
  const auto taken = delivery.submit(frame, 0);
  EXPECT_TRUE(taken);
  EXPECT_LT(*taken, frame.size());
  EXPECT_EQ(delivery.acknowledged() + 1, *taken) << "the last line is not whole";
  return {std::move(frame), *taken};
}

class StdoutSinkTest : public testing::Test {
 protected:
  StdoutSinkTest() { std::signal(SIGPIPE, SIG_IGN); }
};

TEST_F(StdoutSinkTest, WritesTheFrameAsItIs) {
  const Pair pipe = make_pipe();
  Delivery delivery(pipe.writer.get());
  ASSERT_TRUE(delivery.sink().start());
  const LineFrame frame = make_frame(1, 10, 30);
  ASSERT_EQ(delivery.submit(frame, 0).value(), 10U);
  EXPECT_EQ(read_some(pipe.reader, 1 << 20), frame.text());
  EXPECT_EQ(delivery.window().cursor().lowest(), Sequence{10});
}

TEST_F(StdoutSinkTest, WritesOnlyWhatIsOffered) {
  const Pair pipe = make_pipe();
  Delivery delivery(pipe.writer.get());
  ASSERT_TRUE(delivery.sink().start());
  const LineFrame frame = make_frame(1, 10, 30);
  journal::FrameView part = frame.view();
  part.events = part.events.first(6);
  delivery.window().offer(part, 4);
  ASSERT_EQ(delivery.sink().submit(part, 4, delivery.window()).value(), 2U);
  delivery.window().close_offer(2);
  EXPECT_EQ(read_some(pipe.reader, 1 << 20), frame.text().substr(120, 60));
}

TEST_F(StdoutSinkTest, LeavesTheFlagsOfTheGivenDescriptorAlone) {
  for (const Pair& pair : {make_pipe(), make_terminal(), make_sockets()}) {
    Delivery delivery(pair.writer.get());
    ASSERT_TRUE(delivery.sink().start());
    fill(delivery);
    EXPECT_EQ(::fcntl(pair.writer.get(), F_GETFL) & O_NONBLOCK, 0);
  }
}

TEST_F(StdoutSinkTest, ASlowReaderOfAnyKindSeesEveryLineOnce) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    deliver_to_slow_reader(make_pipe(), 100'000, seed);
    deliver_to_slow_reader(make_terminal(), 10'000, seed);
    deliver_to_slow_reader(make_sockets(), 100'000, seed);
  }
}

TEST_F(StdoutSinkTest, AReaderOfSingleBytesSeesEveryLineOnce) {
  deliver_to_slow_reader(make_pipe(), 1, 7);
}

TEST_F(StdoutSinkTest, APipeThatCannotBeOpenedOnceMoreIsFilledInPieces) {
  const Pair pipe = make_pipe();
  Delivery delivery(pipe.writer.get());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // No descriptor is left, so opening the output once more fails as it does without /proc.
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status started = delivery.sink().start();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(started);
  const LineFrame frame = make_frame(1, 3'000, 1'003);
  std::string got;
  std::size_t next = 0;
  while (got.size() < frame.text().size()) {
    ASSERT_TRUE(delivery.sink().poll_acks(delivery.window()));
    if (next < frame.size()) {
      next += delivery.submit(frame, next).value();
    }
    got += read_some(pipe.reader, 1 << 20);
  }
  EXPECT_TRUE(got == frame.text());
}

TEST_F(StdoutSinkTest, AFullPipeIsWritableAgainOnceItIsRead) {
  const Pair pipe = make_pipe();
  Delivery delivery(pipe.writer.get());
  ASSERT_TRUE(delivery.sink().start());
  const Stuck stuck = fill(delivery);
  EXPECT_FALSE(is_ready(delivery.sink(), 0));
  ASSERT_EQ(delivery.submit(stuck.frame, stuck.taken).value(), 0U);
  read_some(pipe.reader, 1 << 20);
  EXPECT_TRUE(is_ready(delivery.sink(), 0));
  EXPECT_GT(delivery.submit(stuck.frame, stuck.taken).value(), 0U);
}

TEST_F(StdoutSinkTest, AClosedReaderIsSeenWhileIdle) {
  for (Pair& pair : std::array{make_pipe(), make_terminal(), make_sockets()}) {
    Delivery delivery(pair.writer.get());
    ASSERT_TRUE(delivery.sink().start());
    EXPECT_FALSE(is_ready(delivery.sink(), 0)) << "nothing to wake up for";
    EXPECT_TRUE(delivery.sink().poll_acks(delivery.window()));
    pair.reader = UniqueFd();
    EXPECT_TRUE(is_ready(delivery.sink(), 0));
    const Status status = delivery.sink().poll_acks(delivery.window());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kClosed);
  }
}

TEST_F(StdoutSinkTest, AClosedReaderEndsASubmit) {
  for (Pair& pair : std::array{make_pipe(), make_terminal(), make_sockets()}) {
    Delivery delivery(pair.writer.get());
    ASSERT_TRUE(delivery.sink().start());
    const Stuck stuck = fill(delivery);
    const std::uint64_t acknowledged = delivery.acknowledged();
    pair.reader = UniqueFd();
    EXPECT_TRUE(is_ready(delivery.sink(), 0));
    const auto taken = delivery.submit(stuck.frame, stuck.taken);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, Errc::kClosed);
    EXPECT_EQ(delivery.acknowledged(), acknowledged);
  }
}

TEST_F(StdoutSinkTest, AFullDiskIsWorthARetry) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Delivery delivery(full.get());
  ASSERT_TRUE(delivery.sink().start());
  const auto taken = delivery.submit(make_frame(1, 5, 30), 0);
  ASSERT_FALSE(taken);
  EXPECT_TRUE(taken.error().is_retryable());
  EXPECT_EQ(delivery.acknowledged(), 0U);
}

TEST_F(StdoutSinkTest, ALineGoesOnWhereItStoppedWhenTheWorkerGoesBack) {
  const Pair pipe = make_pipe();
  Delivery delivery(pipe.writer.get());
  ASSERT_TRUE(delivery.sink().start());
  const Stuck stuck = fill(delivery);
  std::string got;
  std::size_t next = stuck.taken;
  while (got.size() < stuck.frame.text().size()) {
    // As after a retryable error: the line that is not whole yet is submitted again.
    delivery.window().rewind();
    next = delivery.acknowledged();
    if (next < stuck.frame.size()) {
      ASSERT_TRUE(delivery.submit(stuck.frame, next));
    }
    got += read_some(pipe.reader, 50'000);
  }
  EXPECT_TRUE(got == stuck.frame.text());
}

TEST_F(StdoutSinkTest, StopCompletesTheLine) {
  const Pair pipe = make_pipe();
  Delivery delivery(pipe.writer.get());
  ASSERT_TRUE(delivery.sink().start());
  const Stuck stuck = fill(delivery);
  std::string got;
  Thread reader("reader", [&] {
    while (got.size() < stuck.taken * 1'003) {
      got += read_some(pipe.reader, 10'000, 10'000);
    }
  });
  delivery.sink().stop(monotonic_now() + 60s);
  reader.join();
  EXPECT_EQ(got.back(), '\n');
  EXPECT_TRUE(got == stuck.frame.text().substr(0, stuck.taken * 1'003));
  ASSERT_TRUE(delivery.sink().poll_acks(delivery.window()));
  EXPECT_EQ(delivery.acknowledged(), stuck.taken);
}

TEST_F(StdoutSinkTest, StopGivesUpAtTheDeadline) {
  const Pair pipe = make_pipe();
  Delivery delivery(pipe.writer.get());
  ASSERT_TRUE(delivery.sink().start());
  const Stuck stuck = fill(delivery);
  const MonotonicTime deadline = monotonic_now() + 20ms;
  delivery.sink().stop(deadline);
  EXPECT_GE(monotonic_now(), deadline);
  EXPECT_EQ(delivery.acknowledged() + 1, stuck.taken);
}

// A file with `content`, opened as `>>` does it.
UniqueFd append_to(const std::filesystem::path& path, std::string_view content) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  EXPECT_EQ(::write(fd.get(), content.data(), content.size()),
            static_cast<ssize_t>(content.size()));
  return fd;
}

std::string content_of(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return read_some(fd, 1 << 20);
}

TEST_F(StdoutSinkTest, ABrokenLineAtTheEndOfAFileStaysALineOfItsOwn) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / cdc::format("stdout_sink_test_{}", ::getpid());
  const LineFrame frame = make_frame(1, 2, 30);
  for (const auto& [before, after] :
       {std::pair{"{\"half", "{\"half\n"}, {"{}\n", "{}\n"}, {"", ""}}) {
    const UniqueFd file = append_to(path, before);
    Delivery delivery(file.get());
    ASSERT_TRUE(delivery.sink().start());
    ASSERT_EQ(delivery.submit(frame, 0).value(), 2U);
    EXPECT_EQ(content_of(path), after + frame.text());
  }
  std::filesystem::remove(path);
}

TEST_F(StdoutSinkTest, AClosedDescriptorIsToldAtTheStart) {
  int fd = -1;
  {
    const Pair pipe = make_pipe();
    fd = pipe.writer.get();
  }
  StdoutSink sink(fd);
  const Status started = sink.start();
  ASSERT_FALSE(started);
  EXPECT_FALSE(started.error().is_retryable());
  EXPECT_FALSE(started.error().hint.empty());
}

}  // namespace
}  // namespace cdc::sink_stdout
