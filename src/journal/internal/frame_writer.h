#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "journal/segment_format.h"
#include "model/event_batch.h"

namespace cdc::journal {

// Turns a batch into the pieces of one or two frames, without copying its text: whole transactions
// (or the end of one) up to the batch's boundary, and the part behind it.
//
// Lifetime  Pieces point into the batch and into the writer, until the next plan().
class FrameWriter {
 public:
  // Divides the batch; `next` is the sequence of its first event. kUnsupported when a frame would
  // exceed the limits of the format.
  [[nodiscard]] Status plan(const model::EventBatch& batch, Sequence next);

  // Of all planned frames; zero when there is nothing to write.
  [[nodiscard]] std::uint64_t size() const noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  [[nodiscard]] const FrameHeader& frame(std::size_t i) const { return frames_.at(i).header; }

  // Computes headers and checksums for frames that are written at `offset`, one after the other.
  [[nodiscard]] std::span<const std::string_view> render(std::uint64_t salt,
                                                         std::uint64_t offset,
                                                         std::uint64_t synced_size);

 private:
  static constexpr std::size_t kPieces = 5;  // header, names, events, text, padding

  struct Frame {
    FrameHeader header;
    std::array<char, kFrameHeaderSize> header_bytes{};
    std::string_view names;
    std::string_view events;
    std::string_view text;
  };

  [[nodiscard]] Status add(FrameHeader header,
                           std::span<const model::EventHeader> events,
                           std::string_view text);

  std::string names_;
  std::uint32_t table_count_ = 0;
  std::vector<model::EventHeader> rebased_;  // headers of the part, offsets from its own text
  std::array<Frame, 2> frames_;
  std::size_t count_ = 0;
  std::array<std::string_view, 2 * kPieces> pieces_;
};

}  // namespace cdc::journal
