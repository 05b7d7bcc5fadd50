#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "journal/file_system.h"
#include "journal/internal/segment_scan.h"
#include "journal/segment_list.h"

namespace cdc::journal {

// Where a journal really ends: behind its last whole transaction.
struct JournalEnd {
  std::size_t segment = 0;  // index of the segment that becomes the last; later ones are deleted
  Boundary boundary;        // its end
  std::uint64_t cut_bytes = 0;  // written bytes behind, in all segments
};

// Finds the end without changing anything. Reads the last segment, and those before it only as long
// as they lie in one unfinished transaction. kCorrupt when what must be cut was durable once.
[[nodiscard]] Result<JournalEnd> find_end(FileSystem& file_system, const Segments& segments);

// Judges the end of a segment that others follow: kCorrupt unless its frames run to the end of the
// file and to the first sequence of the segment `after` it.
[[nodiscard]] Status judge_sealed(const Segment& segment,
                                  const Segment& after,
                                  const SegmentScan& scan);
// Judges the end of the last segment: the bytes written behind its last good frame, or kCorrupt
// when they cannot be the torn tail of a crash.
[[nodiscard]] Result<std::uint64_t> judge_last(const File& file,
                                               const Segment& segment,
                                               const SegmentScan& scan);

}  // namespace cdc::journal
