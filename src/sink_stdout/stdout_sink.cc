#include "sink_stdout/stdout_sink.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/format.h"

namespace cdc::sink_stdout {
namespace {

using delivery::AckWindow;

// The default limit of the kernel for users without privileges.
constexpr int kPipeBytes = 1 << 20;

std::string path_of(int fd) {
  return cdc::format("/proc/self/fd/{}", fd);
}

std::size_t end_of(const model::EventHeader& event) {
  return std::size_t{event.text_offset} + event.text_size;
}

}  // namespace

StdoutSink::StdoutSink(int fd) : fd_(fd) {}

Status StdoutSink::start() {
  struct stat info{};

  if (::fstat(fd_, &info) != 0) {
    return fail(make_os_error(errno,
                              cdc::format("output descriptor {}", fd_),
                              "start the process with standard output open, or use --output none"));
  }
  choose_method(info.st_mode);
  if (S_ISREG(info.st_mode)) {
    return end_broken_line();
  }
  return {};
}

void StdoutSink::choose_method(unsigned int mode) {
  is_terminal_ = S_ISCHR(mode) && ::isatty(fd_) == 1;
  if (S_ISSOCK(mode)) {
    method_ = Method::kSend;
    return;
  }
  if (!S_ISFIFO(mode) && !is_terminal_) {
    method_ = Method::kWrite;
    return;
  }
  // More room means fewer wake-ups. A refusal leaves the pipe as it was.
  if (S_ISFIFO(mode)) {
    ::fcntl(fd_, F_SETPIPE_SZ, kPipeBytes);
  }
  own_ = UniqueFd(::open(path_of(fd_).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  method_ = own_ ? Method::kNonBlockingWrite : Method::kPieces;
  if (own_) {
    fd_ = own_.get();
  }
}

// A process that was killed in the middle of a line has left its beginning at the end of the file.
// A reader can skip a broken line, but not take apart two that have become one.
Status StdoutSink::end_broken_line() const {
  struct stat info{};

  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0 || ::fstat(fd_, &info) != 0 || info.st_size == 0) {
    return {};
  }
  const bool at_end = (flags & O_APPEND) != 0 || ::lseek(fd_, 0, SEEK_CUR) == info.st_size;
  const UniqueFd reader(::open(path_of(fd_).c_str(), O_RDONLY | O_CLOEXEC));
  char last = '\n';
  if (!at_end || !reader || ::pread(reader.get(), &last, 1, info.st_size - 1) != 1 ||
      last == '\n') {
    return {};
  }
  const Result<std::size_t> written = write_once("\n");
  return written ? Status{} : fail(written.error());
}

Result<std::size_t> StdoutSink::submit(const journal::FrameView& frame,
                                       std::size_t from,
                                       AckWindow& window) {
  const auto events = frame.events.subspan(from);
  const Sequence first{frame.first.value + from};
  std::size_t begin = events.front().text_offset;
  if (!partial_.line.empty() && partial_.sequence == first) {
    // The worker has gone back to it after an error.
    begin += partial_.written;
  } else if (!partial_.line.empty()) {
    CDC_TRY(finish_partial(window));
    if (!partial_.line.empty()) {
      return 0;
    }
  }
  const std::size_t end = end_of(events.back());
  const Written out = write(frame.text.substr(begin, end - begin));
  const std::size_t reached = begin + out.bytes;
  const auto lines_end = std::ranges::partition_point(
      events, [&](const model::EventHeader& event) { return end_of(event) <= reached; });
  const auto lines = static_cast<std::size_t>(lines_end - events.begin());
  if (lines > 0) {
    window.acknowledge_through(Sequence{first.value + lines - 1});
    partial_ = {};
  }
  std::size_t taken = lines;
  if (lines < events.size() && reached > events[lines].text_offset) {
    keep_partial(Sequence{first.value + lines},
                 frame.line(from + lines),
                 reached - events[lines].text_offset);
    ++taken;
  }
  if (!out.status) {
    return fail(out.status.error());
  }
  return taken;
}

Status StdoutSink::poll_acks(AckWindow& window) {
  if (!partial_.line.empty()) {
    return finish_partial(window);
  }
  return check_open();
}

delivery::Sink::Interest StdoutSink::interest() const {
  if (is_blocked_) {
    return {.fd = fd_, .events = POLLOUT};
  }
  return {.fd = method_ == Method::kWrite ? -1 : fd_, .events = 0};
}

void StdoutSink::stop(std::chrono::steady_clock::time_point deadline) {
  while (partial_.written < partial_.line.size()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - monotonic_now()).count();
    pollfd output{.fd = fd_, .events = POLLOUT, .revents = 0};
    const int timeout = static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
    if (::poll(&output, 1, timeout) <= 0 || !write_partial()) {
      return;
    }
  }
}

// Writes until all is written, or the other side takes no more for now.
StdoutSink::Written StdoutSink::write(std::string_view bytes) {
  Written out;
  is_blocked_ = false;
  while (out.bytes < bytes.size()) {
    const Result<std::size_t> written = write_once(bytes.substr(out.bytes));
    if (!written) {
      out.status = fail(written.error());
      return out;
    }
    out.bytes += *written;
    // A pipe that took a part is full: asking again would only cost a call.
    const bool full_when_short = method_ == Method::kNonBlockingWrite || method_ == Method::kSend;
    if (*written == 0 || (full_when_short && out.bytes < bytes.size())) {
      is_blocked_ = true;
      return out;
    }
  }
  return out;
}

// 0: the other side takes nothing for now.
Result<std::size_t> StdoutSink::write_once(std::string_view bytes) const {
  if (method_ == Method::kPieces) {
    pollfd output{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (::poll(&output, 1, 0) <= 0) {
      return 0;
    }
    bytes = bytes.substr(0, PIPE_BUF);
  }
  for (;;) {
    const ssize_t written =
        method_ == Method::kSend
            ? ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
            : ::write(fd_, bytes.data(), bytes.size());
    if (written >= 0) {
      return static_cast<std::size_t>(written);
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    if (errno != EINTR) {
      return fail(write_error(errno));
    }
  }
}

Error StdoutSink::write_error(int os_error) const {
  const bool is_hung_up = is_terminal_ && os_error == EIO;
  if (os_error == EPIPE || os_error == ECONNRESET || is_hung_up) {
    return make_error(Errc::kClosed, "standard output: the reader is gone");
  }
  Error error = make_os_error(os_error, "cannot write to standard output");
  if (error.code == Errc::kNoSpace) {
    // Unlike our own files, this one may be freed or rotated while we wait.
    error.code = Errc::kUnavailable;
    error.hint = "free space where standard output is redirected to; delivery goes on by itself";
  }
  return error;
}

Status StdoutSink::write_partial() {
  const Written out = write(std::string_view(partial_.line).substr(partial_.written));
  partial_.written += out.bytes;
  return out.status;
}

Status StdoutSink::finish_partial(AckWindow& window) {
  CDC_TRY(write_partial());
  if (partial_.written == partial_.line.size()) {
    window.acknowledge(partial_.sequence);
    partial_ = {};
  }
  return {};
}

// A long line may be cut many times but is copied once.
void StdoutSink::keep_partial(Sequence sequence, std::string_view line, std::size_t written) {
  if (partial_.sequence != sequence) {
    partial_.sequence = sequence;
    partial_.line = line;
  }
  partial_.written = written;
}

Status StdoutSink::check_open() const {
  if (method_ == Method::kWrite) {
    return {};
  }
  pollfd output{.fd = fd_, .events = 0, .revents = 0};
  if (::poll(&output, 1, 0) > 0) {
    return fail(Errc::kClosed, "standard output: the reader is gone");
  }
  return {};
}

}  // namespace cdc::sink_stdout
