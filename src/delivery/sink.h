#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "delivery/ack_window.h"
#include "journal/reader.h"

namespace cdc::delivery {

// Where a consumer's events go. SinkWorker owns the loop, the cursor, back-off and limits once for
// all sinks; a sink only knows its own protocol.
//
// Thread     All calls come from the sink's own worker thread.
// Contract   submit() takes a prefix of `frame` (all of it, part of it, or nothing when the other
//            side is not ready) and returns how many events it took. It never blocks longer than
//            its own stated bound; when it takes less than all, or while anything is in flight,
//            interest() must name a descriptor that becomes ready once more can be taken or
//            acknowledged. Every taken event is acknowledged exactly once through the window,
//            in submit() or later in poll_acks(), which is called before each submit() and after
//            each wait.
// Errors     kClosed: the other side is gone for good (ends the process cleanly for stdout).
//            Retryable errors: the worker forgets what is in flight, backs off, and submits again
//            from the lowest unacknowledged event; a start() that failed is called again first.
//            Others end the worker. What was acknowledged before the error counts.
class Sink {
 public:
  virtual ~Sink() = default;

  [[nodiscard]] virtual Status start() = 0;
  // `from` is the index of the first event to take; frame.events[from..] in order. The view is
  // valid during the call only.
  [[nodiscard]] virtual Result<std::size_t> submit(const journal::FrameView& frame,
                                                   std::size_t from,
                                                   AckWindow& window) = 0;
  [[nodiscard]] virtual Status poll_acks(AckWindow& window) = 0;

  // Descriptor to poll for `events` (POLLIN or POLLOUT) while waiting, or -1.
  struct Interest {
    int fd = -1;
    short events = 0;
  };

  [[nodiscard]] virtual Interest interest() const = 0;
  // Finishes or abandons what is in flight before `deadline`.
  virtual void stop(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace cdc::delivery
