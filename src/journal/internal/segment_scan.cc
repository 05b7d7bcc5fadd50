#include "journal/internal/segment_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/hash.h"
#include "journal/internal/file_window.h"
#include "model/event_batch.h"

namespace cdc::journal {

namespace {

// Reads and checks frames at given places of one segment, in chunks.
class FrameProbe {
 public:
  FrameProbe(const File& file, std::uint64_t salt, std::uint64_t file_size)
      : salt_(salt), file_size_(file_size) {
    window_.attach(&file);
  }

  // The fault of the frame at `offset`, with its checksum.
  Result<FrameFault> probe(std::uint64_t offset, FrameHeader& header) {
    CDC_ASSIGN(const std::string_view bytes, window_.at(offset, kFrameHeaderSize));
    const FrameFault fault = decode_frame_header(
        bytes, {.salt = salt_, .offset = offset, .file_size = file_size_}, header);
    if (fault != FrameFault::kNone) {
      return fault;
    }
    std::uint32_t sum = 0;
    for (std::uint64_t at = 8; at < header.frame_size;) {
      const auto wanted = static_cast<std::size_t>(
          std::min<std::uint64_t>(header.frame_size - at, FileWindow::kChunkMax));
      CDC_ASSIGN(const std::string_view chunk, window_.at(offset + at, wanted));
      if (chunk.size() < wanted) {
        return FrameFault::kLength;
      }
      sum = crc32c(chunk, sum);
      at += wanted;
    }
    return sum == header.checksum ? FrameFault::kNone : FrameFault::kChecksum;
  }

 private:
  std::uint64_t salt_;
  std::uint64_t file_size_;
  FileWindow window_;
};

// F3: parts are ended by a last part before anything else comes.
bool fits_order(const FrameHeader& header, bool open) {
  switch (header.kind) {
    case FrameKind::kWhole:
    case FrameKind::kPosition:
      return !open;
    case FrameKind::kLastPart:
      return open;
    case FrameKind::kPart:
      return true;
  }
  return false;
}

// The walk over a segment: what it knows after each frame.
struct Walk {
  SegmentScan scan;
  bool open = false;
  Lsn acknowledge;
  std::uint64_t last_event_at = 0;           // file offset of the last event header, 0 = none here
  std::uint64_t boundary_last_event_at = 0;  // the same at the boundary

  explicit Walk(const SegmentHeader& header)
      : open(header.last_whole.value + 1 != header.first.value), acknowledge(header.acknowledge) {
    scan.next = header.first;
    if (!open) {
      note_boundary();
    }
  }

  FrameFault take(const FrameHeader& header) {
    if (header.first != scan.next || !fits_order(header, open)) {
      return FrameFault::kSequence;
    }
    if (header.event_count > 0) {
      last_event_at = scan.end + header.text_offset() - sizeof(model::EventHeader);
    }
    ++scan.frames;
    scan.end += header.frame_size;
    scan.next = header.next();
    acknowledge = std::max(acknowledge, header.acknowledge);
    open = !header.ends_transaction();
    if (!open) {
      note_boundary();
    }
    return FrameFault::kNone;
  }

 private:
  void note_boundary() {
    boundary_last_event_at = last_event_at;
    scan.boundary = Boundary{.offset = scan.end,
                             .sequence = {scan.next.value - 1},
                             .position = {},
                             .acknowledge = acknowledge};
  }
};

Result<Position> read_position(const File& file, std::uint64_t offset) {
  model::EventHeader event;
  std::array<char, sizeof event> bytes{};
  CDC_ASSIGN(const std::size_t got, file.read_at(offset, bytes));
  if (got < bytes.size()) {
    return cdc::fail(Errc::kIo, "a journal segment became shorter while it was read");
  }
  std::memcpy(&event, bytes.data(), sizeof event);
  return event.position();
}

// Equal to its own shift and beginning with zero: memcmp makes this the speed of memory.
bool is_zero(std::string_view bytes) {
  return bytes.empty() || (bytes.front() == '\0' &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Looks for good frames and for the last written byte, chunk by chunk.
struct TailSearch {
  FrameProbe frames;
  SegmentTail tail;
  std::uint64_t skip_to = 0;  // inside a good frame there is none to look for

  Status take(std::string_view chunk, std::uint64_t chunk_at) {
    if (is_zero(chunk)) {
      return {};
    }
    for (std::size_t i = 0; i < chunk.size(); i += kFrameAlignment) {
      const std::string_view word = chunk.substr(i, kFrameAlignment);
      if (is_zero(word)) {
        continue;
      }
      const std::uint64_t offset = chunk_at + i;
      tail.written_end = offset + word.find_last_not_of('\0') + 1;
      if (offset >= skip_to && word.starts_with(kFrameMagic)) {
        CDC_TRY(try_frame(offset));
      }
    }
    return {};
  }

 private:
  Status try_frame(std::uint64_t offset) {
    FrameHeader header;
    CDC_ASSIGN(const FrameFault fault, frames.probe(offset, header));
    if (fault == FrameFault::kNone) {
      tail.proven_durable = std::max(tail.proven_durable, header.synced_size);
      skip_to = offset + header.frame_size;
    }
    return {};
  }
};

}  // namespace

Result<SegmentScan> scan_segment(const File& file,
                                 const Segment& segment,
                                 const FrameVisitor& visit) {
  CDC_ASSIGN(const std::uint64_t file_size, file.size());
  FrameProbe frames(file, segment.header.salt, file_size);
  Walk walk(segment.header);
  while (walk.scan.end < file_size) {
    FrameHeader header;
    const std::uint64_t offset = walk.scan.end;
    CDC_ASSIGN(walk.scan.fault, frames.probe(offset, header));
    if (walk.scan.fault == FrameFault::kNone) {
      walk.scan.fault = walk.take(header);
    }
    if (walk.scan.fault != FrameFault::kNone) {
      break;
    }
    if (visit) {
      visit(header, offset);
    }
  }
  if (walk.scan.boundary) {
    walk.scan.boundary->position = segment.header.previous;
    if (walk.boundary_last_event_at != 0) {
      CDC_ASSIGN(walk.scan.boundary->position, read_position(file, walk.boundary_last_event_at));
    }
  }
  return walk.scan;
}

Result<SegmentTail> examine_tail(const File& file, const Segment& segment, std::uint64_t from) {
  CDC_ASSIGN(const std::uint64_t file_size, file.size());
  FileWindow window;
  window.attach(&file);
  TailSearch search{.frames = FrameProbe(file, segment.header.salt, file_size),
                    .tail = {.written_end = from}};
  for (std::uint64_t at = from; at < file_size;) {
    CDC_ASSIGN(const std::string_view chunk, window.at(at, FileWindow::kChunkMax));
    if (chunk.empty()) {
      break;
    }
    CDC_TRY(search.take(chunk, at));
    at += chunk.size();
  }
  return search.tail;
}

}  // namespace cdc::journal
