#include "delivery/ack_window.h"

#include <algorithm>

#include "base/assert.h"

namespace cdc::delivery {
namespace {

// Looking for settled entries behind an unsettled one is worth a pass only after this many
// acknowledgements.
constexpr std::size_t kDropSettledMin = 64;

Sequence highest(const state::Cursor& cursor) {
  return *std::ranges::max_element(cursor.lanes);
}

}  // namespace

AckWindow::AckWindow(Limits limits, const state::Cursor& start)
    : limits_(limits),
      start_(start),
      start_highest_(highest(start)),
      submitted_through_(start.lowest()),
      drop_settled_at_(kDropSettledMin) {}

void AckWindow::acknowledge(Sequence sequence) {
  if (sequence > offered_last()) {
    return;
  }
  if (sequence > submitted_through_) {
    if (entries_.empty() && sequence.value == submitted_through_.value + 1) {
      submitted_through_ = sequence;
      ++acknowledged_count_;
      return;
    }
    record_through(sequence);
  }
  const auto entry = std::ranges::lower_bound(entries_, sequence, {}, &Entry::sequence);
  if (entry == entries_.end() || entry->sequence != sequence || entry->is_acknowledged) {
    return;
  }
  entry->is_acknowledged = true;
  bytes_ -= entry->bytes;
  ++acknowledged_entries_;
  ++acknowledged_count_;
  drop_front_through(Sequence{0});
  if (acknowledged_entries_ >= drop_settled_at_) {
    drop_settled();
  }
}

void AckWindow::acknowledge_through(Sequence last) {
  last = std::min(last, offered_last());
  drop_front_through(last);
  if (submitted_through_ < last) {
    acknowledged_count_ += last.value - submitted_through_.value;
    submitted_through_ = last;
  }
}

std::size_t AckWindow::room(const journal::FrameView& frame, std::size_t from) const {
  const auto events = frame.events.subspan(from);
  const std::size_t events_left = limits_.events - std::min(limits_.events, entries_.size());
  const std::size_t bytes_left = limits_.bytes - std::min(limits_.bytes, bytes_);
  const auto candidates = events.first(std::min(events_left, events.size()));
  const auto end = std::ranges::partition_point(candidates, [&](const model::EventHeader& event) {
    const std::size_t text_end = std::size_t{event.text_offset} + event.text_size;
    return text_end - events.front().text_offset <= bytes_left;
  });
  const auto count = static_cast<std::size_t>(end - candidates.begin());
  if (count == 0 && entries_.empty() && !events.empty()) {
    return 1;
  }
  return count;
}

void AckWindow::offer(const journal::FrameView& frame, std::size_t from) {
  CDC_ASSERT(offered_.empty());
  CDC_ASSERT(from < frame.events.size());
  CDC_ASSERT(frame.events.size() - from <= room(frame, from));
  offered_ = frame.events.subspan(from);
  offered_first_ = Sequence{frame.first.value + from};
  CDC_ASSERT(offered_first_ > submitted_through_);
  submitted_through_ = Sequence{offered_first_.value - 1};
}

void AckWindow::close_offer(std::size_t taken) {
  const Sequence last{offered_first_.value + taken - 1};
  // A sink can only acknowledge what it takes.
  CDC_ASSERT(taken <= offered_.size());
  CDC_ASSERT(submitted_through_ <= last);
  record_through(last);
  offered_ = {};
}

void AckWindow::abandon_offer() {
  offered_ = {};
}

void AckWindow::skip_through(Sequence last) {
  CDC_ASSERT(offered_.empty());
  submitted_through_ = std::max(submitted_through_, last);
}

void AckWindow::rewind() {
  CDC_ASSERT(offered_.empty());
  start_ = cursor();
  start_highest_ = highest(start_);
  submitted_through_ = start_.lowest();
  entries_.clear();
  bytes_ = 0;
  acknowledged_entries_ = 0;
  drop_settled_at_ = kDropSettledMin;
}

state::Cursor AckWindow::cursor() const {
  state::Cursor result = start_;
  for (Sequence& lane : result.lanes) {
    lane = std::max(lane, submitted_through_);
  }
  LaneSet held = 0;
  for (const Entry& entry : entries_) {
    if (held == kAllLanes) {
      break;
    }
    if (entry.is_acknowledged && (entry.lanes & held) == 0) {
      continue;
    }
    const LaneSet newly_held = entry.lanes & ~held;
    for (std::size_t lane = 0; newly_held != 0 && lane < state::kLaneCount; ++lane) {
      if ((newly_held >> lane & 1) != 0) {
        result.lanes[lane] = Sequence{entry.sequence.value - 1};
      }
    }
    held |= newly_held;
  }
  return result;
}

Sequence AckWindow::offered_last() const noexcept {
  if (offered_.empty()) {
    return submitted_through_;
  }
  return Sequence{offered_first_.value + offered_.size() - 1};
}

void AckWindow::record_through(Sequence last) {
  while (submitted_through_ < last) {
    ++submitted_through_.value;
    const model::EventHeader& header = offered_[submitted_through_.value - offered_first_.value];
    entries_.push_back(
        {.sequence = submitted_through_, .lanes = lanes_of(header), .bytes = header.text_size});
    bytes_ += header.text_size;
  }
}

// Drops the entries up to `last`, which are all acknowledged now, and what is settled thereby.
void AckWindow::drop_front_through(Sequence last) {
  while (!entries_.empty()) {
    const Entry& front = entries_.front();
    if (front.is_acknowledged) {
      --acknowledged_entries_;
    } else if (front.sequence <= last) {
      bytes_ -= front.bytes;
      ++acknowledged_count_;
    } else {
      return;
    }
    entries_.pop_front();
  }
}

// Without this, one event that is held back for long would keep an entry for each later event of
// every lane. The next pass waits until it can pay for itself, so the cost per event is constant.
void AckWindow::drop_settled() {
  LaneSet held = 0;
  std::size_t kept = 0;
  for (const Entry& entry : entries_) {
    if (entry.is_acknowledged && (entry.lanes & held) == 0) {
      --acknowledged_entries_;
      continue;
    }
    held |= entry.lanes;
    entries_[kept] = entry;
    ++kept;
  }
  entries_.resize(kept);
  drop_settled_at_ = acknowledged_entries_ + std::max(kDropSettledMin, kept / 2);
}

}  // namespace cdc::delivery
