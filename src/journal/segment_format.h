#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/event_batch.h"

// The bytes of a journal segment. Long form with reasons: docs/formats/journal.md.
//
// Purpose     Layout of the files <data-dir>/events/NNNNNNNNNNNNNNNN.seg, shared by writer, reader,
//             recovery and `kaptanto journal inspect`. Not a message format: it stays on disk.
// Layout      All numbers little-endian; everything starts at a multiple of 8 bytes.
//             segment := segment header, frame*, unused bytes (zeros)
//             frame   := frame header, table names, event headers, text, 0 to 7 zero bytes
//
//             segment header, 96 bytes          frame header, 72 bytes
//              0  8  magic "KAPTJRNL"            0  4  magic "KFRM"
//              8  4  format version, 1           4  4  CRC-32C
//             12  4  header size, 96             8  8  frame size with header and padding
//             16  8  journal id                 16  8  stamp: salt of the segment + file offset
//             24  8  segment number             24  8  sequence of the first (or the next) event
//             32  8  salt                       32  8  acknowledge LSN, 0 = none
//             40  8  first sequence             40  8  synced size of the segment at writing
//             48  8  created, Unix micros       48  4  event count
//             56  8  previous: commit LSN       52  4  table count
//             64  8  previous: index            56  4  bytes of the table names with padding
//             72  8  acknowledge LSN            60  4  bytes of the text
//             80  8  last whole sequence        64  4  kind: 1 whole 2 part 3 last part 4 position
//             88  4  reserved, 0                68  4  reserved, 0
//             92  4  CRC-32C
//
//             table names: for each a u32 size and its bytes; then zeros to a multiple of 8.
//             event headers: model::EventHeader as in memory, 48 bytes each.
//             text: the events' lines as they are delivered, each ending in '\n'.
// Checksum    Segment header: CRC-32C of its bytes before the checksum. Frame: CRC-32C of all its
//             bytes behind the checksum. Before the frame size is trusted: magic, stamp, that the
//             frame ends in the file, that its parts add up to its size.
// Limits      Text and table names of a frame 4 GiB - 1 each, 2^32 - 1 events. A frame larger than
//             a segment gets a segment of its own size. More is kUnsupported when written.
// Endings     Torn tail: a bad frame in the last segment that no frame behind it proves to have
//             been durable; cut off. Any other bad frame or header: kCorrupt. Newer: kVersion.
// Invariants  F1 a frame is valid only at the offset and in the segment it was written for (stamp).
//             F2 sequences run on without gaps from the segment's first sequence.
//             F3 parts are followed by parts or a last part of the same transaction.
//             F4 a sealed segment (any but the last) ends with its last frame and is durable whole.
// Thread      Free functions over bytes; any thread.
// Example     docs/formats/journal.md; the bytes are tests/golden/segment_v1.hex (format_test.cc).
namespace cdc::journal {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::size_t kSegmentHeaderSize = 96;
inline constexpr std::size_t kFrameHeaderSize = 72;
inline constexpr std::size_t kFrameAlignment = 8;
inline constexpr std::string_view kFrameMagic = "KFRM";

struct SegmentHeader {
  std::uint64_t journal_id = 0;  // the same in every segment of a journal
  std::uint64_t number = 0;      // from 1, without gaps; also the file's name
  std::uint64_t salt = 0;        // random
  Sequence first{};              // of the first event to be written into it
  std::int64_t created_unix_micros = 0;
  Position previous{};    // of the event before `first`, zero when there was none
  Lsn acknowledge{};      // the highest in all segments before
  Sequence last_whole{};  // last event before that ends a transaction: first - 1, or less in a part

  bool operator==(const SegmentHeader&) const = default;
};

enum class FrameKind : std::uint8_t {
  kWhole = 1,     // whole transactions only
  kPart = 2,      // part of one transaction, more is to come
  kLastPart = 3,  // the end of a transaction that earlier parts began; may hold no event
  kPosition = 4,  // no event: only moves the position to acknowledge
};

struct FrameHeader {
  FrameKind kind = FrameKind::kWhole;
  std::uint64_t frame_size = 0;
  Sequence first{};
  Lsn acknowledge{};
  std::uint64_t synced_size = 0;  // bytes of the segment that were durable when this was written
  std::uint32_t event_count = 0;
  std::uint32_t table_count = 0;
  std::uint32_t names_size = 0;  // with padding
  std::uint32_t text_size = 0;
  std::uint32_t checksum = 0;

  // The sequence that comes after this frame.
  [[nodiscard]] Sequence next() const noexcept { return {first.value + event_count}; }

  [[nodiscard]] bool ends_transaction() const noexcept { return kind != FrameKind::kPart; }

  [[nodiscard]] std::uint64_t events_offset() const noexcept {
    return kFrameHeaderSize + names_size;
  }

  [[nodiscard]] std::uint64_t text_offset() const noexcept {
    return events_offset() + std::uint64_t{event_count} * sizeof(model::EventHeader);
  }

  bool operator==(const FrameHeader&) const = default;
};

// Why bytes are not the frame that was expected there.
enum class FrameFault : std::uint8_t {
  kNone,
  kNothing,    // only zeros: nothing was ever written here
  kNotAFrame,  // no magic
  kMisplaced,  // written for another segment or offset
  kLength,     // lengths that do not add up or run past the end of the file
  kField,      // a field outside its range
  kChecksum,
  kSequence,  // does not follow the frame before it
  kBody,      // right checksum, but the parts inside contradict each other
};

[[nodiscard]] std::string_view name_of(FrameFault fault) noexcept;
[[nodiscard]] std::string_view name_of(FrameKind kind) noexcept;

[[nodiscard]] std::array<char, kSegmentHeaderSize> encode_segment_header(
    const SegmentHeader& header) noexcept;
inline constexpr std::size_t kSegmentHeaderSizeMax = 4096;  // of later versions
// `bytes`: the first kSegmentHeaderSizeMax bytes of a file, or fewer. kCorrupt or kVersion.
[[nodiscard]] Result<SegmentHeader> decode_segment_header(std::string_view bytes);

// The place a frame is written to, or expected at.
struct FramePlace {
  std::uint64_t salt = 0;
  std::uint64_t offset = 0;
  std::uint64_t file_size = 0;  // only for decoding

  [[nodiscard]] std::uint64_t stamp() const noexcept { return salt + offset; }
};

// Fills all of the header but the checksum, which finish_frame_header() adds once it is known.
[[nodiscard]] std::array<char, kFrameHeaderSize> encode_frame_header(
    const FrameHeader& header, const FramePlace& place) noexcept;
// The bytes of the header that the checksum covers; the rest of the frame follows.
[[nodiscard]] std::string_view checked_part(
    const std::array<char, kFrameHeaderSize>& header) noexcept;
void finish_frame_header(std::array<char, kFrameHeaderSize>& header,
                         std::uint32_t checksum) noexcept;

// Checks everything about a header that can be told without the body. `bytes` may be shorter than a
// header (end of file). On kNone `header` is filled and its lengths may be trusted.
[[nodiscard]] FrameFault decode_frame_header(std::string_view bytes,
                                             const FramePlace& place,
                                             FrameHeader& header) noexcept;

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t size) noexcept {
  return (size + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

// The size a frame of these parts must have.
[[nodiscard]] inline std::uint64_t frame_size_of(const FrameHeader& header) noexcept {
  return align_up(header.text_offset() + header.text_size);
}

}  // namespace cdc::journal
