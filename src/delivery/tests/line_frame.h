#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "journal/reader.h"
#include "model/event_batch.h"

namespace cdc::delivery {

// A frame made of given lines, for tests of sinks without a journal.
class LineFrame {
 public:
  explicit LineFrame(Sequence first) : first_(first) {}

  // `line` ends in '\n'.
  void add(std::string_view line) {
    events_.push_back({.text_offset = static_cast<std::uint32_t>(text_.size()),
                       .text_size = static_cast<std::uint32_t>(line.size()),
                       .key_hash = events_.size(),
                       .old_key_hash = events_.size()});
    text_ += line;
  }

  [[nodiscard]] std::size_t size() const { return events_.size(); }

  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] Sequence last() const { return Sequence{first_.value + events_.size() - 1}; }

  // Valid until the next add().
  [[nodiscard]] journal::FrameView view() const {
    return {.first = first_, .events = events_, .tables = {"public.t"}, .text = text_};
  }

 private:
  Sequence first_;
  std::vector<model::EventHeader> events_;
  std::string text_;
};

}  // namespace cdc::delivery
