#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "http/stream.h"
#include "journal/journal.h"
#include "journal/reader.h"
#include "serve/event_filter.h"

namespace cdc::serve {

// Events that a client cannot be given any more, or never could.
struct Gap {
  Sequence from;
  Sequence to;
  std::string_view reason;  // a literal
};

// Where a client begins.
struct StartPoint {
  Sequence next;                 // the first event to look at
  std::int64_t skip_before = 0;  // Unix milliseconds: events of older commits are passed over
  std::optional<Gap> gap;
};

// One client of /events: reads the journal at its own pace and writes frames of server-sent events.
//
// Bounds     A helping holds `helping_bytes` and what its last event has beyond that. Beside it the
//            client holds a frame of the journal, which park() gives back.
// Thread     The server's.
class SseClient final : public http::Stream {
 public:
  SseClient(journal::Journal& journal,
            EventFilter filter,
            const StartPoint& start,
            std::size_t helping_bytes);

  bool more(std::string& out) override;

  // The last event up to which everything was given to the socket or was not wanted.
  [[nodiscard]] Sequence taken() const noexcept { return taken_; }

  // When it was last asked for more.
  [[nodiscard]] MonotonicTime asked_at() const noexcept { return asked_at_; }

  // When it last gave something.
  [[nodiscard]] MonotonicTime gave_at() const noexcept { return gave_at_; }

  void beat();  // gives a comment, unless there is something else to give
  void end(std::string_view comment);
  // Gives memory back until it is asked again.
  void park();

 private:
  void forget_frame();
  void greet(std::string& out);
  void fill(std::string& out);
  [[nodiscard]] bool load_frame(std::string& out);
  void write_events(std::string& out);
  void write_event(std::size_t index, std::string& out);
  void write_gap(const Gap& gap, std::string& out);
  void write_beat(std::string& out);

  journal::Journal& journal_;
  EventFilter filter_;
  std::size_t helping_bytes_;
  std::optional<Gap> gap_;    // to be told first
  std::int64_t skip_before_;  // 0 once an event was young enough
  Sequence next_;             // to look at
  Sequence taken_;
  Sequence told_;  // the last id that was written
  std::unique_ptr<journal::Reader> reader_;
  journal::FrameView frame_;  // empty: none
  std::size_t index_ = 0;     // in the frame, of next_
  MonotonicTime asked_at_;
  MonotonicTime gave_at_;
  std::string farewell_;
  bool is_greeted_ = false;
  bool is_beat_due_ = false;
  bool is_ending_ = false;
};

}  // namespace cdc::serve
