#include "journal/internal/recovery.h"

#include "base/assert.h"
#include "journal/internal/damage.h"

namespace cdc::journal {

// Frames between two syncs reach the disk in any order, so after a crash a good frame may follow a
// bad one. Each frame tells how much of the segment was durable when it was written: if that covers
// the bad place, the bytes there were good once, and their loss is damage, not a crash.
Result<std::uint64_t> judge_last(const File& file,
                                 const Segment& segment,
                                 const SegmentScan& scan) {
  if (scan.fault == FrameFault::kNone) {
    return std::uint64_t{0};
  }
  CDC_ASSIGN(const SegmentTail tail, examine_tail(file, segment, scan.end));
  // A frame with a good checksum that does not follow the one before cannot come from a crash.
  if (tail.proven_durable > scan.end || scan.fault == FrameFault::kSequence) {
    return cdc::fail(corrupt(segment.path, scan.end, name_of(scan.fault)));
  }
  return tail.written_end - scan.end;
}

Status judge_sealed(const Segment& segment, const Segment& after, const SegmentScan& scan) {
  if (scan.fault != FrameFault::kNone) {
    return cdc::fail(corrupt(segment.path, scan.end, name_of(scan.fault)));
  }
  if (scan.next != after.header.first) {
    return cdc::fail(corrupt(segment.path, scan.end, "frames at its end are missing"));
  }
  return {};
}

Result<JournalEnd> find_end(FileSystem& file_system, const Segments& segments) {
  CDC_ASSERT(!segments.empty());
  std::uint64_t cut_bytes = 0;
  for (std::size_t i = segments.size(); i-- > 0;) {
    const Segment& segment = segments[i];
    CDC_ASSIGN(const auto file, file_system.open(segment.path, OpenMode::kRead));
    CDC_ASSIGN(const SegmentScan scan, scan_segment(*file, segment));
    if (i + 1 < segments.size()) {
      CDC_TRY(judge_sealed(segment, segments[i + 1], scan));
    } else {
      CDC_ASSIGN(cut_bytes, judge_last(*file, segment, scan));
    }
    if (scan.boundary) {
      cut_bytes += scan.end - scan.boundary->offset;
      return JournalEnd{.segment = i, .boundary = *scan.boundary, .cut_bytes = cut_bytes};
    }
    cut_bytes += scan.end - kSegmentHeaderSize;
  }
  return cdc::fail(corrupt(segments.front().path,
                           kSegmentHeaderSize,
                           "the beginning of its first transaction is missing"));
}

}  // namespace cdc::journal
