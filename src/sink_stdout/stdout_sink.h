#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_handle.h"
#include "delivery/ack_window.h"
#include "delivery/sink.h"
#include "journal/reader.h"

namespace cdc::sink_stdout {

// Writes events as they lie in the journal, one JSON line each, to a descriptor of any kind.
//
// Purpose     One write() for as much of a frame as the other side takes. It never waits for a
//             reader, and never sets O_NONBLOCK on the descriptor it was given: that flag is shared
//             with the shell and every other process that has the terminal or pipe open.
//             pipe, FIFO, terminal   opened once more through /proc/self/fd, so that the flag is on
//             a
//                                    description of our own. Where that fails: poll() and pieces of
//                                    PIPE_BUF bytes, which a writable pipe takes without blocking.
//             socket                 send() with MSG_DONTWAIT
//             file, /dev/null, ...   plain write(), which waits for the disk at most
// Invariants  O1 the output is a sequence of whole lines, save for the last one while the reader is
//                behind; what follows a part of a line is its rest, also after an error.
//             O2 an event is acknowledged when its line is written to the end.
// Errors      kClosed: the reader is gone. kUnavailable: the disk is full. Others: kIo.
// Bounds      A copy of the one line that is written in part. submit() waits for file I/O only.
// Thread      The worker's. SIGPIPE must be ignored by the process.
class StdoutSink final : public delivery::Sink {
 public:
  // `fd` stays the caller's and outlives the sink.
  explicit StdoutSink(int fd);

  [[nodiscard]] Status start() override;
  [[nodiscard]] Result<std::size_t> submit(const journal::FrameView& frame,
                                           std::size_t from,
                                           delivery::AckWindow& window) override;
  [[nodiscard]] Status poll_acks(delivery::AckWindow& window) override;
  // While idle: no events, which still reports that the reader is gone.
  [[nodiscard]] Interest interest() const override;
  // Completes a line that is written in part, so that a reader does not end with half a line.
  void stop(std::chrono::steady_clock::time_point deadline) override;

 private:
  enum class Method : std::uint8_t {
    kWrite,
    kNonBlockingWrite,
    kPieces,
    kSend
  };

  // The one event that is taken but not written to its end. `line` is empty when there is none.
  struct PartialLine {
    Sequence sequence;
    std::string line;
    std::size_t written = 0;
  };

  struct Written {
    std::size_t bytes = 0;
    Status status;  // of the write that followed
  };

  void choose_method(unsigned int mode);
  [[nodiscard]] Status end_broken_line() const;
  [[nodiscard]] Written write(std::string_view bytes);
  [[nodiscard]] Result<std::size_t> write_once(std::string_view bytes) const;
  [[nodiscard]] Error write_error(int os_error) const;
  [[nodiscard]] Status write_partial();
  [[nodiscard]] Status finish_partial(delivery::AckWindow& window);
  void keep_partial(Sequence sequence, std::string_view line, std::size_t written);
  [[nodiscard]] Status check_open() const;

  int fd_;
  UniqueFd own_;  // fd_ once more, as a description of our own
  Method method_ = Method::kWrite;
  bool is_terminal_ = false;
  bool is_blocked_ = false;  // the last write was not taken whole
  PartialLine partial_;
};

}  // namespace cdc::sink_stdout
