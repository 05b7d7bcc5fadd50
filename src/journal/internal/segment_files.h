#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/file_system.h"
#include "journal/segment_list.h"

namespace cdc::journal {

inline constexpr std::string_view kLockName = "lock";

// "0000000000000001.seg", so that names sort like numbers.
[[nodiscard]] std::string segment_name(std::uint64_t number);
[[nodiscard]] std::optional<std::uint64_t> parse_segment_name(std::string_view name);

// A segment file that is complete and durable, but not yet known under its name.
struct NewSegment {
  Segment segment;
  std::unique_ptr<File> file;
  std::filesystem::path temporary;
  bool preallocated = false;
};

// Creates the file under a temporary name, reserves `size` bytes and makes its header durable. A
// file with a segment's name therefore always has a good header. Leaves nothing behind on failure.
[[nodiscard]] Result<NewSegment> prepare_segment(FileSystem& file_system,
                                                 const std::filesystem::path& directory,
                                                 const SegmentHeader& header,
                                                 std::uint64_t size);
// Gives the file its name; durable only after sync_directory().
[[nodiscard]] Status name_segment(FileSystem& file_system, const NewSegment& created);

// The numbers of the segments in a directory, in order. Names that are no segment's are left alone.
[[nodiscard]] Result<std::vector<std::uint64_t>> list_segments(
    FileSystem& file_system, const std::filesystem::path& directory);
// Reads and checks a header. kCorrupt, kVersion; kNotFound when the file is gone.
[[nodiscard]] Result<Segment> load_segment(FileSystem& file_system,
                                           const std::filesystem::path& directory,
                                           std::uint64_t number);
// kCorrupt unless `after` can follow `before`.
[[nodiscard]] Status check_neighbours(const Segment& before, const Segment& after);
// All segments of a directory with their headers checked; empty when there are none.
[[nodiscard]] Result<Segments> load_segments(FileSystem& file_system,
                                             const std::filesystem::path& directory);
// Removes what a crash left of prepare_segment().
[[nodiscard]] Status remove_temporaries(FileSystem& file_system,
                                        const std::filesystem::path& directory);

}  // namespace cdc::journal
