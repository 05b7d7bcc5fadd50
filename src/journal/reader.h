#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/event_batch.h"

namespace cdc::journal {

class SegmentList;

// One frame's events as they lie in the reader's buffer. Valid until the next call on the reader.
struct FrameView {
  Sequence first;                              // of events[0]; the rest count up by one
  std::span<const model::EventHeader> events;  // text_offset is relative to `text`
  std::vector<std::string_view> tables;        // "schema.table", indexed by EventHeader::table
  std::string_view text;                       // the events' JSON lines, one after the other

  [[nodiscard]] std::string_view line(std::size_t i) const {
    return text.substr(events[i].text_offset, events[i].text_size);
  }
};

// Reads the journal in sequence order. Thread: one consumer each; safe beside the appender as long
// as `limit` comes from durable_sequence().
class Reader {
 public:
  // Starts at `from` (Sequence{1} or Sequence{0}: the oldest event there is).
  explicit Reader(SegmentList& segments, Sequence from);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // The next frame with events at or after the read position, cut to begin there, never beyond
  // `limit`; nullopt when there is none yet. kNotFound: retention has deleted the position (see
  // oldest()). kCorrupt: a checked frame fails its checks.
  [[nodiscard]] Result<std::optional<FrameView>> next(Sequence limit);
  // Gives the buffer back until the next call of next(); a view of it ends.
  void release_memory() noexcept;
  // Sequence of the oldest event that is still there.
  [[nodiscard]] Sequence oldest() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cdc::journal
