#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/sync/event_fd.h"
#include "base/sync/mutex.h"
#include "base/sync/thread.h"
#include "base/sync/watermark.h"
#include "delivery/ack_window.h"
#include "delivery/delivery_figures.h"
#include "delivery/sink.h"
#include "journal/journal.h"
#include "journal/reader.h"
#include "state/cursor_store.h"

namespace cdc::delivery {

// Where a consumer begins that has no saved cursor.
enum class StartAt : std::uint8_t {
  kEarliest,  // the oldest event that is still in the journal
  kLatest,    // behind the last durable event
};

// Delivers the journal to one sink: reads up to the durable watermark, submits, collects
// acknowledgements, saves the cursor, backs off after errors.
//
// Purpose     The loop that all sinks share. Sinks never see the journal, the cursor or the clock.
// Endings     stop(): delivers what is durable for the first half of the time left, then gives the
//             sink the rest, saves the cursor, and ends without calling EndHandler.
//             The sink says kClosed, or anything fails for good (kCorrupt or kNotFound from the
//             journal, an error of the cursor store, a sink error that is not retryable): the same,
//             with a second for the sink, and then EndHandler with the error.
//             A retryable sink error: waits a random time of up to 100 ms, doubling to 30 s until
//             an event is acknowledged, and submits again from the lowest unacknowledged event.
// Invariants  D1 a saved cursor covers acknowledged events only (W1).
//             D2 no event is submitted before it is durable.
//             D3 the worker only waits in poll(), and never for something it cannot use: while the
//                sink is full, new events do not wake it.
// Bounds      AckWindow::Limits in flight and one frame of the journal in the reader.
// Thread      start(), stop(), join() from the owner; passed(), figures() from any; EndHandler is
//             called on the worker's thread as its last act and must not join().
// Lifetime    journal, cursors and sink outlive the worker. The destructor stops without delay.
class SinkWorker {
 public:
  struct Options {
    std::string consumer;  // name of the cursor
    StartAt start_at = StartAt::kEarliest;
    AckWindow::Limits in_flight{};
    Backoff::Options backoff{};
    // While events move, the cursor is saved this often. At rest it is saved at once, unless the
    // last time was less than this ago: a steady trickle costs no more than a flood.
    std::chrono::milliseconds cursor_interval{100};
  };

  using EndHandler = std::function<void(const Error&)>;

  SinkWorker(journal::Journal& journal,
             state::CursorStore& cursors,
             Sink& sink,
             Options options,
             EndHandler on_end);
  ~SinkWorker();
  SinkWorker(const SinkWorker&) = delete;
  SinkWorker& operator=(const SinkWorker&) = delete;

  void start();
  // Asks the worker to end by `deadline`. May be called again with an earlier one.
  void stop(MonotonicTime deadline);
  void join();

  // Everything up to here is acknowledged and saved, so retention may have it. Zero until the
  // cursor is loaded.
  [[nodiscard]] Sequence passed() const noexcept { return Sequence{passed_.load()}; }

  [[nodiscard]] const DeliveryFigures& figures() const noexcept { return figures_; }

  [[nodiscard]] const std::string& consumer() const noexcept { return options_.consumer; }

 private:
  // What the loop does next.
  enum class Step : std::uint8_t {
    kAgain,         // something moved
    kAwaitJournal,  // everything durable is submitted
    kAwaitSink,     // the sink or the window is full
  };

  struct StopRequest {
    MonotonicTime drain_until;
    MonotonicTime deadline;
  };

  void run();
  [[nodiscard]] Status serve();
  [[nodiscard]] Result<bool> react(const Result<Step>& step, bool is_stopping);
  [[nodiscard]] Status open();
  [[nodiscard]] Status check_in_journal(Sequence oldest, Sequence last) const;
  [[nodiscard]] Result<Step> advance();
  [[nodiscard]] Result<Step> submit(std::size_t end);
  [[nodiscard]] Result<bool> load_frame();
  [[nodiscard]] bool skip_unwanted();
  [[nodiscard]] std::size_t wanted_end() const;
  void publish_figures();
  [[nodiscard]] bool is_wanted(std::size_t i) const;
  [[nodiscard]] Status back_off(const Error& error);
  void seek(Sequence next);
  void wait(Step step);
  [[nodiscard]] Status save_cursor_when_due();
  [[nodiscard]] Status save_cursor();
  void finish();
  [[nodiscard]] std::optional<StopRequest> stop_request() const;

  journal::Journal& journal_;
  state::CursorStore& cursors_;
  Sink& sink_;
  Options options_;
  EndHandler on_end_;

  mutable Mutex mutex_;
  std::optional<StopRequest> stop_request_ CDC_GUARDED_BY(mutex_);
  EventFd stop_event_;
  Watermark passed_;
  DeliveryFigures figures_;

  // Below: the worker's thread only.
  Watermark::Reader durable_;
  AckWindow window_;
  Backoff backoff_;
  std::unique_ptr<journal::Reader> reader_;
  journal::FrameView frame_;  // being delivered; frame_.events[next_..] are still to go
  std::size_t next_ = 0;
  Sequence limit_;  // durable_ as last seen
  state::Cursor saved_;
  MonotonicTime saved_at_;
  std::uint64_t acknowledged_count_ = 0;  // when the back-off was last reset
  // The event whose delivery is being timed; zero: none.
  Sequence timed_;
  MonotonicTime timed_since_;
  bool sink_started_ = false;
  bool save_failing_ = false;

  Thread thread_;
};

}  // namespace cdc::delivery
