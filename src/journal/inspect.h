#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "journal/file_system.h"

namespace cdc::journal {

struct InspectOptions {
  bool events = false;  // each event, with its text
  bool json = false;    // one JSON object a line instead of text
};

// What an inspection has found. Faults are counted here and told, where they are, in the output.
struct Inspection {
  std::uint64_t segments = 0;
  std::uint64_t frames = 0;
  std::uint64_t events = 0;      // in good frames, whole transactions or not
  Sequence oldest;               // first sequence of the oldest segment
  Sequence last_whole;           // what a reader would be given
  Lsn acknowledge;               // what the source would be told
  std::uint64_t tail_bytes = 0;  // behind the last whole transaction: what a start would cut off
  std::uint64_t faults = 0;
};

// The work of `kaptanto journal inspect DIR`: lists segments, frames and their ranges, checks
// everything, and goes on behind damage where it can.
//
// Errors   kNotFound when `directory` holds no journal. Otherwise the first fault (kCorrupt,
//          kVersion, kIo), returned after all was printed.
// Thread   Any; beside a running appender too, for it only reads and takes no lock. The last frames
//          may then look torn.
[[nodiscard]] Result<Inspection> inspect(FileSystem& file_system,
                                         const std::filesystem::path& directory,
                                         const InspectOptions& options,
                                         const std::function<void(std::string_view)>& print);

}  // namespace cdc::journal
