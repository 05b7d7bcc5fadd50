#include "journal/segment_format.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/format.h"
#include "base/hash.h"

namespace cdc::journal {

static_assert(std::endian::native == std::endian::little,
              "event headers are persisted as they lie in memory");
static_assert(kSegmentHeaderSize % kFrameAlignment == 0 && kFrameHeaderSize % kFrameAlignment == 0);
static_assert(sizeof(model::EventHeader) % kFrameAlignment == 0);

namespace {

constexpr std::string_view kSegmentMagic = "KAPTJRNL";
constexpr std::size_t kSegmentChecksumOffset = kSegmentHeaderSize - sizeof(std::uint32_t);

template <class Number>
void put(char* base, std::size_t offset, Number value) noexcept {
  std::memcpy(base + offset, &value, sizeof value);
}

template <class Number>
Number get(const char* base, std::size_t offset) noexcept {
  Number value{};
  std::memcpy(&value, base + offset, sizeof value);
  return value;
}

FrameFault check_fields(const FrameHeader& header, std::uint32_t kind, const FramePlace& place) {
  if (kind < 1 || kind > 4 || header.first.value == 0) {
    return FrameFault::kField;
  }
  if (header.first.value > std::numeric_limits<std::uint64_t>::max() - header.event_count) {
    return FrameFault::kField;
  }
  if (header.synced_size < kSegmentHeaderSize || header.synced_size > place.offset) {
    return FrameFault::kField;
  }
  const bool may_be_empty =
      header.kind == FrameKind::kLastPart || header.kind == FrameKind::kPosition;
  if (header.event_count == 0) {
    const bool bare = header.table_count == 0 && header.text_size == 0;
    return may_be_empty && bare ? FrameFault::kNone : FrameFault::kField;
  }
  return header.kind == FrameKind::kPosition ? FrameFault::kField : FrameFault::kNone;
}

FrameFault check_lengths(const FrameHeader& header, const FramePlace& place) {
  // Every event has at least its '\n', every name its size.
  const bool parts_fit = header.names_size % kFrameAlignment == 0 &&
                         header.names_size / sizeof(std::uint32_t) >= header.table_count &&
                         header.text_size >= header.event_count;
  const bool adds_up = header.frame_size == frame_size_of(header);
  const bool in_file =
      place.offset <= place.file_size && header.frame_size <= place.file_size - place.offset;
  return parts_fit && adds_up && in_file ? FrameFault::kNone : FrameFault::kLength;
}

}  // namespace

std::string_view name_of(FrameFault fault) noexcept {
  switch (fault) {
    case FrameFault::kNone:
      return "no fault";
    case FrameFault::kNothing:
      return "nothing written here";
    case FrameFault::kNotAFrame:
      return "not the beginning of a frame";
    case FrameFault::kMisplaced:
      return "frame of another place or segment";
    case FrameFault::kLength:
      return "lengths contradict each other";
    case FrameFault::kField:
      return "field out of range";
    case FrameFault::kChecksum:
      return "checksum does not match";
    case FrameFault::kSequence:
      return "does not follow the frame before it";
    case FrameFault::kBody:
      return "contents contradict each other";
  }
  return "unknown fault";
}

std::string_view name_of(FrameKind kind) noexcept {
  switch (kind) {
    case FrameKind::kWhole:
      return "whole";
    case FrameKind::kPart:
      return "part";
    case FrameKind::kLastPart:
      return "last_part";
    case FrameKind::kPosition:
      return "position";
  }
  return "unknown";
}

std::array<char, kSegmentHeaderSize> encode_segment_header(const SegmentHeader& header) noexcept {
  std::array<char, kSegmentHeaderSize> bytes{};
  char* out = bytes.data();
  std::ranges::copy(kSegmentMagic, out);
  put(out, 8, kFormatVersion);
  put(out, 12, std::uint32_t{kSegmentHeaderSize});
  put(out, 16, header.journal_id);
  put(out, 24, header.number);
  put(out, 32, header.salt);
  put(out, 40, header.first.value);
  put(out, 48, header.created_unix_micros);
  put(out, 56, header.previous.commit.value);
  put(out, 64, header.previous.index);
  put(out, 72, header.acknowledge.value);
  put(out, 80, header.last_whole.value);
  put(out, kSegmentChecksumOffset, crc32c({out, kSegmentChecksumOffset}));
  return bytes;
}

Result<SegmentHeader> decode_segment_header(std::string_view bytes) {
  if (bytes.size() < kSegmentHeaderSize || !bytes.starts_with(kSegmentMagic)) {
    return cdc::fail(Errc::kCorrupt, "not a journal segment: its header is missing");
  }
  const char* in = bytes.data();
  const auto version = get<std::uint32_t>(in, 8);
  const auto size = get<std::uint32_t>(in, 12);
  if (version == kFormatVersion) {
    const bool sum_matches = get<std::uint32_t>(in, kSegmentChecksumOffset) ==
                             crc32c(bytes.substr(0, kSegmentChecksumOffset));
    if (size != kSegmentHeaderSize || !sum_matches) {
      return cdc::fail(Errc::kCorrupt, "the segment header's checksum does not match");
    }
  } else {
    // Magic, version, size and a checksum in the last four bytes stay in every version, so that a
    // flipped bit in the version is not taken for a newer file.
    const bool plausible = size >= 20 && size <= kSegmentHeaderSizeMax && size <= bytes.size();
    if (!plausible || get<std::uint32_t>(in, size - 4) != crc32c(bytes.substr(0, size - 4))) {
      return cdc::fail(Errc::kCorrupt, "the segment header's checksum does not match");
    }
    return cdc::fail(
        Errc::kVersion,
        format("journal format {} is not known; this program knows {}", version, kFormatVersion),
        "use the version that wrote the journal, or a newer one");
  }
  return SegmentHeader{
      .journal_id = get<std::uint64_t>(in, 16),
      .number = get<std::uint64_t>(in, 24),
      .salt = get<std::uint64_t>(in, 32),
      .first = {get<std::uint64_t>(in, 40)},
      .created_unix_micros = get<std::int64_t>(in, 48),
      .previous = {{get<std::uint64_t>(in, 56)}, get<std::uint64_t>(in, 64)},
      .acknowledge = {get<std::uint64_t>(in, 72)},
      .last_whole = {get<std::uint64_t>(in, 80)},
  };
}

std::array<char, kFrameHeaderSize> encode_frame_header(const FrameHeader& header,
                                                       const FramePlace& place) noexcept {
  std::array<char, kFrameHeaderSize> bytes{};
  char* out = bytes.data();
  std::ranges::copy(kFrameMagic, out);
  put(out, 8, header.frame_size);
  put(out, 16, place.stamp());
  put(out, 24, header.first.value);
  put(out, 32, header.acknowledge.value);
  put(out, 40, header.synced_size);
  put(out, 48, header.event_count);
  put(out, 52, header.table_count);
  put(out, 56, header.names_size);
  put(out, 60, header.text_size);
  put(out, 64, static_cast<std::uint32_t>(header.kind));
  return bytes;
}

std::string_view checked_part(const std::array<char, kFrameHeaderSize>& header) noexcept {
  return std::string_view(header.data(), header.size()).substr(8);
}

void finish_frame_header(std::array<char, kFrameHeaderSize>& header,
                         std::uint32_t checksum) noexcept {
  put(header.data(), 4, checksum);
}

FrameFault decode_frame_header(std::string_view bytes,
                               const FramePlace& place,
                               FrameHeader& header) noexcept {
  const std::string_view head = bytes.substr(0, kFrameHeaderSize);
  if (std::ranges::all_of(head, [](char c) { return c == '\0'; })) {
    return FrameFault::kNothing;
  }
  if (head.size() < kFrameHeaderSize) {
    return FrameFault::kLength;
  }
  const char* in = head.data();
  if (!head.starts_with(kFrameMagic)) {
    return FrameFault::kNotAFrame;
  }
  if (get<std::uint64_t>(in, 16) != place.stamp()) {
    return FrameFault::kMisplaced;
  }
  const auto kind = get<std::uint32_t>(in, 64);
  if (get<std::uint32_t>(in, 68) != 0) {
    return FrameFault::kField;
  }
  header = FrameHeader{
      .kind = static_cast<FrameKind>(kind),
      .frame_size = get<std::uint64_t>(in, 8),
      .first = {get<std::uint64_t>(in, 24)},
      .acknowledge = {get<std::uint64_t>(in, 32)},
      .synced_size = get<std::uint64_t>(in, 40),
      .event_count = get<std::uint32_t>(in, 48),
      .table_count = get<std::uint32_t>(in, 52),
      .names_size = get<std::uint32_t>(in, 56),
      .text_size = get<std::uint32_t>(in, 60),
      .checksum = get<std::uint32_t>(in, 4),
  };
  if (const FrameFault fault = check_fields(header, kind, place); fault != FrameFault::kNone) {
    return fault;
  }
  return check_lengths(header, place);
}

}  // namespace cdc::journal
