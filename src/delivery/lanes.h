#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "model/event_batch.h"
#include "state/cursor_store.h"

namespace cdc::delivery {

// A set of lanes: bit i stands for lane i.
using LaneSet = std::uint64_t;
static_assert(state::kLaneCount == 64, "a LaneSet has one bit for each lane");

inline constexpr LaneSet kAllLanes = ~LaneSet{0};

// The lane of a key. Saved cursors depend on it for ever.
[[nodiscard]] constexpr std::size_t lane_of(std::uint64_t key_hash) noexcept {
  return key_hash % state::kLaneCount;
}

// The lanes in which an event keeps its order: one for most, two for a change of the key, all for
// an event that concerns every key.
[[nodiscard]] constexpr LaneSet lanes_of(const model::EventHeader& header) noexcept {
  if ((header.flags & model::EventHeader::kBarrier) != 0) {
    return kAllLanes;
  }
  return LaneSet{1} << lane_of(header.key_hash) | LaneSet{1} << lane_of(header.old_key_hash);
}

// Whether the cursor covers the event `sequence` in each of `lanes`.
[[nodiscard]] inline bool covers(const state::Cursor& cursor, LaneSet lanes, Sequence sequence) {
  for (std::size_t lane = 0; lane < state::kLaneCount; ++lane) {
    if ((lanes >> lane & 1) != 0 && cursor.lanes[lane] < sequence) {
      return false;
    }
  }
  return true;
}

}  // namespace cdc::delivery
