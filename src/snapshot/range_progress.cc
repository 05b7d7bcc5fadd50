#include "snapshot/range_progress.h"

#include <algorithm>
#include <utility>

namespace cdc::snapshot {

RangeProgress::RangeProgress(state::BackfillRange range, KeySet only) : range_(std::move(range)) {
  if (!range_.complete) {
    pieces_.push_back(Piece{.lower = range_.lower, .upper = range_.upper, .only = std::move(only)});
  }
}

std::optional<RangeProgress::Task> RangeProgress::next_task() const {
  const auto found = std::ranges::find(pieces_, Stage::kToRead, &Piece::stage);
  if (found == pieces_.end()) {
    return std::nullopt;
  }
  return Task{.lower = found->lower, .upper = found->upper, .only = found->only};
}

void RangeProgress::taken(std::uint64_t ticket) {
  const auto found = std::ranges::find(pieces_, Stage::kToRead, &Piece::stage);
  found->stage = Stage::kOut;
  found->ticket = ticket;
}

std::deque<RangeProgress::Piece>::iterator RangeProgress::find(std::uint64_t ticket) {
  return std::ranges::find(pieces_, ticket, &Piece::ticket);
}

void RangeProgress::read(std::uint64_t ticket, const std::string& next, bool last) {
  const auto found = find(ticket);
  if (found == pieces_.end() || last) {
    return;
  }
  Piece rest{.lower = next, .upper = std::exchange(found->upper, next), .only = found->only};
  pieces_.insert(found + 1, std::move(rest));
}

void RangeProgress::again(std::uint64_t ticket, KeySet only) {
  const auto found = find(ticket);
  if (found != pieces_.end()) {
    if (only) {
      found->only = std::move(only);
    }
    found->stage = Stage::kToRead;
    found->ticket = 0;
  }
}

bool RangeProgress::delivered(std::uint64_t ticket) {
  const auto found = find(ticket);
  if (found == pieces_.end()) {
    return false;
  }
  found->stage = Stage::kDurable;
  bool moved = false;
  while (!pieces_.empty() && pieces_.front().stage == Stage::kDurable) {
    range_.lower = pieces_.front().upper;
    pieces_.pop_front();
    moved = true;
  }
  range_.complete = pieces_.empty();
  return moved;
}

}  // namespace cdc::snapshot
