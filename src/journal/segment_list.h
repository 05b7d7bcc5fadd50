#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/sync/mutex.h"
#include "journal/file_system.h"
#include "journal/segment_format.h"

namespace cdc::journal {

struct Segment {
  SegmentHeader header;
  std::filesystem::path path;
  std::uint64_t size = 0;  // bytes on disk; of the last segment the preallocated size
};

// In order of their numbers; never empty. The last one is being appended to.
using Segments = std::vector<Segment>;

// The segments of a journal, as an immutable snapshot that the appender replaces.
//
// Invariant  A snapshot taken after a durable watermark was read covers every event up to it,
//            unless retention has deleted some.
// Thread     snapshot() from any, replace() from the appender.
class SegmentList {
 public:
  explicit SegmentList(FileSystem& file_system) : file_system_(file_system) {}

  [[nodiscard]] std::shared_ptr<const Segments> snapshot() const;
  void replace(Segments segments);

  [[nodiscard]] FileSystem& file_system() const noexcept { return file_system_; }

 private:
  FileSystem& file_system_;
  mutable Mutex mutex_;
  std::shared_ptr<const Segments> segments_ CDC_GUARDED_BY(mutex_);
};

}  // namespace cdc::journal
