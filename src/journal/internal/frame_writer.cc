#include "journal/internal/frame_writer.h"

#include <limits>

#include "base/format.h"
#include "base/hash.h"

namespace cdc::journal {

namespace {

constexpr std::uint64_t kFieldMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::array<char, kFrameAlignment> kZeros{};

// False when the names are too large for the format.
bool encode_names(const std::vector<std::string>& tables, std::string& out) {
  out.clear();
  for (const std::string& table : tables) {
    if (table.size() > kFieldMax) {
      return false;
    }
    const auto size = static_cast<std::uint32_t>(table.size());
    out.append(std::string_view(reinterpret_cast<const char*>(&size), sizeof size));
    out.append(table);
  }
  out.resize(align_up(out.size()));
  return out.size() <= kFieldMax && tables.size() <= kFieldMax;
}

std::string_view bytes_of(std::span<const model::EventHeader> events) {
  return {reinterpret_cast<const char*>(events.data()), events.size_bytes()};
}

Error too_large(std::size_t events, std::size_t text_size) {
  return make_error(
      Errc::kUnsupported,
      format(
          "{} events with {} bytes of text exceed the 4 GiB of a journal frame", events, text_size),
      "leave the columns with the huge values out in the configuration of `tables`");
}

}  // namespace

Status FrameWriter::plan(const model::EventBatch& batch, Sequence next) {
  count_ = 0;
  // Offsets in event headers have 32 bits: beyond that they would have wrapped.
  if (batch.text().size() > kFieldMax) {
    return cdc::fail(too_large(batch.events().size(), batch.text().size()));
  }
  if (!encode_names(batch.tables(), names_)) {
    return cdc::fail(Errc::kUnsupported, "the table names of a batch exceed 4 GiB");
  }
  table_count_ = static_cast<std::uint32_t>(batch.tables().size());
  const std::span events(batch.events());
  const std::string_view text = batch.text().view();
  const std::size_t boundary = batch.boundary();
  if (boundary > 0 || batch.acknowledge()) {
    const FrameKind kind = boundary > 0 ? FrameKind::kWhole : FrameKind::kPosition;
    CDC_TRY(add({.kind = batch.continues() ? FrameKind::kLastPart : kind,
                 .first = next,
                 .acknowledge = batch.acknowledge()},
                events.first(boundary),
                text.substr(0, batch.boundary_text_size())));
  }
  if (boundary == events.size()) {
    return {};
  }
  const auto tail = events.subspan(boundary);
  const std::size_t tail_begin = batch.boundary_text_size();
  const std::size_t tail_end = std::size_t{tail.back().text_offset} + tail.back().text_size;
  std::span<const model::EventHeader> headers = tail;
  if (tail_begin > 0) {
    rebased_.assign(tail.begin(), tail.end());
    for (model::EventHeader& event : rebased_) {
      event.text_offset -= static_cast<std::uint32_t>(tail_begin);
    }
    headers = rebased_;
  }
  return add({.kind = FrameKind::kPart, .first = {next.value + boundary}},
             headers,
             text.substr(tail_begin, tail_end - tail_begin));
}

Status FrameWriter::add(FrameHeader header,
                        std::span<const model::EventHeader> events,
                        std::string_view text) {
  if (events.size() > kFieldMax) {
    return cdc::fail(too_large(events.size(), text.size()));
  }
  header.event_count = static_cast<std::uint32_t>(events.size());
  header.text_size = static_cast<std::uint32_t>(text.size());
  const bool has_names = !events.empty();
  header.table_count = has_names ? table_count_ : 0;
  header.names_size = has_names ? static_cast<std::uint32_t>(names_.size()) : 0;
  header.frame_size = frame_size_of(header);
  Frame& frame = frames_.at(count_++);
  frame.header = header;
  frame.names = has_names ? std::string_view(names_) : std::string_view{};
  frame.events = bytes_of(events);
  frame.text = text;
  return {};
}

std::uint64_t FrameWriter::size() const noexcept {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    size += frames_[i].header.frame_size;
  }
  return size;
}

std::span<const std::string_view> FrameWriter::render(std::uint64_t salt,
                                                      std::uint64_t offset,
                                                      std::uint64_t synced_size) {
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    Frame& frame = frames_[i];
    FrameHeader& header = frame.header;
    header.synced_size = synced_size;
    frame.header_bytes = encode_frame_header(header, {.salt = salt, .offset = offset});
    const std::size_t unpadded = static_cast<std::size_t>(header.text_offset()) + header.text_size;
    const std::string_view padding(kZeros.data(),
                                   static_cast<std::size_t>(header.frame_size) - unpadded);
    std::uint32_t sum = crc32c(checked_part(frame.header_bytes));
    for (const std::string_view part : {frame.names, frame.events, frame.text, padding}) {
      sum = crc32c(part, sum);
    }
    header.checksum = sum;
    finish_frame_header(frame.header_bytes, sum);
    const std::string_view header_view(frame.header_bytes.data(), frame.header_bytes.size());
    for (const std::string_view part :
         {header_view, frame.names, frame.events, frame.text, padding}) {
      pieces_[pieces++] = part;
    }
    offset += header.frame_size;
  }
  return std::span(pieces_).first(pieces);
}

}  // namespace cdc::journal
