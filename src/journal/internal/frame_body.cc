#include "journal/internal/frame_body.h"

#include <cstdint>
#include <cstring>

#include "base/assert.h"
#include "base/hash.h"

namespace cdc::journal {

namespace {

FrameFault parse_names(std::string_view names,
                       std::uint32_t count,
                       std::vector<std::string_view>& tables) {
  tables.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t size = 0;
    if (names.size() < sizeof size) {
      return FrameFault::kBody;
    }
    std::memcpy(&size, names.data(), sizeof size);
    names.remove_prefix(sizeof size);
    if (size > names.size()) {
      return FrameFault::kBody;
    }
    tables.push_back(names.substr(0, size));
    names.remove_prefix(size);
  }
  return names.size() < kFrameAlignment ? FrameFault::kNone : FrameFault::kBody;
}

FrameFault check_events(const FrameView& view) {
  std::uint64_t expected_offset = 0;
  bool good = true;
  for (const model::EventHeader& event : view.events) {
    const std::uint64_t end = expected_offset + event.text_size;
    if (event.text_offset != expected_offset || event.text_size == 0 || end > view.text.size()) {
      return FrameFault::kBody;
    }
    const auto operation = static_cast<std::uint8_t>(event.operation);
    good = good && event.table < view.tables.size() && operation >= 1 &&
           operation <= model::kOperationMax && view.text[end - 1] == '\n';
    expected_offset = end;
  }
  return good && expected_offset == view.text.size() ? FrameFault::kNone : FrameFault::kBody;
}

}  // namespace

FrameFault parse_frame(const FrameHeader& header, std::string_view frame, FrameView& view) {
  CDC_ASSERT(frame.size() == header.frame_size);
  if (crc32c(frame.substr(8)) != header.checksum) {
    return FrameFault::kChecksum;
  }
  view.first = header.first;
  view.tables.clear();
  const FrameFault fault = parse_names(
      frame.substr(kFrameHeaderSize, header.names_size), header.table_count, view.tables);
  if (fault != FrameFault::kNone) {
    return fault;
  }
  const void* events = frame.data() + header.events_offset();
  view.events = {static_cast<const model::EventHeader*>(events), header.event_count};
  view.text = frame.substr(header.text_offset(), header.text_size);
  return check_events(view);
}

}  // namespace cdc::journal
