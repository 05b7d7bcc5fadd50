#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "base/ids.h"
#include "delivery/lanes.h"
#include "journal/reader.h"
#include "model/event_batch.h"
#include "state/cursor_store.h"

namespace cdc::delivery {

// What one consumer has been sent and has acknowledged, in any order; yields its cursor.
//
// Purpose     An event is *settled* once it is acknowledged and every earlier event of each of its
//             lanes is settled. The cursor of a lane stands just before its lowest unsettled event.
// Invariants  W1 cursor() covers settled, skipped and initially covered events only: whatever
//                crashes, a resume from it leaves out none that was not acknowledged.
//             W2 an event of several lanes is covered in all of them or in none, so a resume
//                repeats each lane as a whole from its edge on, in order.
//             W3 an edge never falls back, except by a start cursor that breaks W2.
//             W4 at most Limits are in flight, except that one event of any size always has room.
// Cost        acknowledge_through() of what is just being offered, with nothing else in flight,
//             takes constant time for a whole frame. An event that stays in flight costs one entry.
// Thread      The consumer's worker; the sink calls acknowledge...() on that thread.
class AckWindow {
 public:
  struct Limits {
    std::size_t events = 64U << 10U;             // not yet settled
    std::size_t bytes = std::size_t{16} << 20U;  // of text, not yet acknowledged
  };

  // Everything that `start` covers counts as settled.
  AckWindow(Limits limits, const state::Cursor& start);

  // --- For sinks. ---
  // Sequences that are not in flight are ignored: after an error, acknowledgements of the earlier
  // attempt may still come in.

  // The event is the other side's now.
  void acknowledge(Sequence sequence);
  // So is every event up to and including `last`.
  void acknowledge_through(Sequence last);

  // --- For the worker. ---

  // How many of frame.events[from..] may be offered now.
  [[nodiscard]] std::size_t room(const journal::FrameView& frame, std::size_t from) const;
  // Announces the events that submit() is about to see, so that it can acknowledge them at once.
  // They must have room(). Ends with close_offer() or abandon_offer(), while the frame is valid.
  void offer(const journal::FrameView& frame, std::size_t from);
  // The sink has taken this many; those not acknowledged yet are in flight from here on.
  void close_offer(std::size_t taken);
  // submit() failed: of the offer, only what was acknowledged counts as taken.
  void abandon_offer();

  // The start cursor covers the event: the consumer has it.
  [[nodiscard]] bool is_covered(Sequence sequence, const model::EventHeader& header) const {
    return sequence <= start_highest_ && covers(start_, lanes_of(header), sequence);
  }

  // No event beyond this one is_covered().
  [[nodiscard]] Sequence start_highest() const noexcept { return start_highest_; }

  // Events up to and including `last` that were not offered are not for this consumer.
  void skip_through(Sequence last);

  // Forgets everything in flight. Reading goes on behind submitted_through(), and is_covered()
  // tells what need not be sent again.
  void rewind();

  [[nodiscard]] state::Cursor cursor() const;

  // The last event that was submitted or skipped.
  [[nodiscard]] Sequence submitted_through() const noexcept { return submitted_through_; }

  // Everything up to here is acknowledged or was skipped.
  [[nodiscard]] Sequence settled_through() const noexcept {
    return entries_.empty() ? submitted_through_ : Sequence{entries_.front().sequence.value - 1};
  }

  [[nodiscard]] bool is_idle() const noexcept { return entries_.empty(); }

  [[nodiscard]] std::size_t events_in_flight() const noexcept { return entries_.size(); }

  [[nodiscard]] std::size_t bytes_in_flight() const noexcept { return bytes_; }

  // Acknowledgements so far; a repeated event counts again.
  [[nodiscard]] std::uint64_t acknowledged_count() const noexcept { return acknowledged_count_; }

 private:
  struct Entry {
    Sequence sequence;
    LaneSet lanes = 0;
    std::uint32_t bytes = 0;
    bool is_acknowledged = false;
  };

  [[nodiscard]] Sequence offered_last() const noexcept;
  void record_through(Sequence last);
  void drop_front_through(Sequence last);
  void drop_settled();

  Limits limits_;
  state::Cursor start_;
  Sequence start_highest_;
  Sequence submitted_through_;
  // Unsettled events in order, the first one unacknowledged. May hold settled ones further back for
  // a while, which change nothing.
  std::deque<Entry> entries_;
  std::size_t bytes_ = 0;
  std::size_t acknowledged_entries_ = 0;
  std::size_t drop_settled_at_ = 0;
  std::uint64_t acknowledged_count_ = 0;
  // Events that submit() may acknowledge; those beyond submitted_through_ have no entry yet.
  std::span<const model::EventHeader> offered_;
  Sequence offered_first_;
};

}  // namespace cdc::delivery
