#include "capture/source_status.h"

#include <algorithm>
#include <utility>

namespace cdc::capture {

std::uint64_t SourceStatus::View::lag_bytes() const noexcept {
  const Lsn end = std::max(stream.server_end, slot ? slot->server_end : Lsn{});
  return stream.position && end > stream.position ? end.value - stream.position.value : 0;
}

SourceStatus::View SourceStatus::view() const {
  MutexLock lock(mutex_);
  return view_;
}

void SourceStatus::streaming_begins() {
  MutexLock lock(mutex_);
  view_.is_streaming = true;
  view_.has_streamed = true;
  ++view_.connections;
  view_.error.clear();
}

void SourceStatus::round(const StreamFigures& figures) {
  MutexLock lock(mutex_);
  view_.stream = figures;
  view_.stream.received_bytes += received_before_;
}

void SourceStatus::streaming_ends(std::string error) {
  MutexLock lock(mutex_);
  received_before_ = view_.stream.received_bytes;
  view_.is_streaming = false;
  view_.error = std::move(error);
}

void SourceStatus::slot_seen(SlotFigures slot) {
  MutexLock lock(mutex_);
  view_.slot = std::move(slot);
  view_.slot_error.clear();
}

void SourceStatus::slot_unknown(std::string error) {
  MutexLock lock(mutex_);
  view_.slot.reset();
  view_.slot_error = std::move(error);
}

void SourceStatus::stalled(std::optional<std::chrono::seconds> duration) {
  MutexLock lock(mutex_);
  view_.stalled_for = duration;
}

std::optional<std::chrono::seconds> StallWatch::look(const SourceStatus::View& view,
                                                     MonotonicTime now) {
  const bool moved =
      view.stream.position != position_ || view.stream.received_bytes != received_bytes_;
  if (moved || view.lag_bytes() == 0) {
    position_ = view.stream.position;
    received_bytes_ = view.stream.received_bytes;
    since_ = now;
  }
  const auto duration = std::chrono::floor<std::chrono::seconds>(now - since_);
  return duration >= patience_ ? std::optional(duration) : std::nullopt;
}

}  // namespace cdc::capture
