#include "snapshot/range_progress.h"

#include <algorithm>
#include <utility>

namespace cdc::snapshot {

namespace {

void add(RowCounts& sum, const RowCounts& more) noexcept {
  sum.read += more.read;
  sum.emitted += more.emitted;
  sum.dropped += more.dropped;
  sum.chunks += more.chunks;
}

}  // namespace

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

void RangeProgress::counted(std::uint64_t ticket, const RowCounts& counts) {
  const auto found = find(ticket);
  if (found != pieces_.end()) {
    add(found->counts, counts);
  }
}

std::optional<RowCounts> RangeProgress::delivered(std::uint64_t ticket, const RowCounts& counts) {
  const auto found = find(ticket);
  if (found == pieces_.end()) {
    return std::nullopt;
  }
  add(found->counts, counts);
  found->stage = Stage::kDurable;
  std::optional<RowCounts> passed;
  while (!pieces_.empty() && pieces_.front().stage == Stage::kDurable) {
    if (!passed) {
      passed.emplace();
    }
    add(*passed, pieces_.front().counts);
    range_.lower = pieces_.front().upper;
    pieces_.pop_front();
  }
  range_.complete = pieces_.empty();
  return passed;
}

}  // namespace cdc::snapshot
