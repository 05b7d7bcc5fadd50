#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "journal/file_system.h"
#include "journal/segment_format.h"
#include "journal/segment_list.h"

namespace cdc::journal {

// A place where no transaction is open: everything before it is whole.
struct Boundary {
  std::uint64_t offset = 0;  // in its segment
  Sequence sequence{};       // of the last event before it
  Position position{};       // of that event
  Lsn acknowledge{};         // the highest so far

  bool operator==(const Boundary&) const = default;
};

// What a walk over a segment's frames has found.
struct SegmentScan {
  std::uint64_t end = kSegmentHeaderSize;  // behind the last good frame
  FrameFault fault = FrameFault::kNone;    // what lies there; kNone: the end of the file
  Sequence next{};                         // sequence after the last good frame
  std::uint64_t frames = 0;
  std::optional<Boundary>
      boundary;  // the last one; none when the whole segment lies in one transaction
};

using FrameVisitor = std::function<void(const FrameHeader&, std::uint64_t offset)>;

// Walks the frames and checks headers, checksums, sequences and the order of parts; reads in
// chunks, whatever the size of a frame. Only reading may fail; damage is reported in the scan.
[[nodiscard]] Result<SegmentScan> scan_segment(const File& file,
                                               const Segment& segment,
                                               const FrameVisitor& visit = {});

// What lies behind the last good frame of a segment.
struct SegmentTail {
  std::uint64_t written_end =
      0;  // behind the last byte that is not zero; `from` when there is none
  // The highest synced size that a good frame behind the bad place carries: all before it was
  // durable when that frame was written. Zero when there is no such frame.
  std::uint64_t proven_durable = 0;
};

[[nodiscard]] Result<SegmentTail> examine_tail(const File& file,
                                               const Segment& segment,
                                               std::uint64_t from);

}  // namespace cdc::journal
