#pragma once

#include <string_view>

#include "journal/reader.h"
#include "journal/segment_format.h"

namespace cdc::journal {

// Reads the parts of one frame. `frame` is the whole frame as `header` describes it, its first byte
// at an address divisible by 8; `view` then points into it. Checks the checksum first, then every
// length, table index and operation (invariant B1 of EventBatch included).
[[nodiscard]] FrameFault parse_frame(const FrameHeader& header,
                                     std::string_view frame,
                                     FrameView& view);

}  // namespace cdc::journal
