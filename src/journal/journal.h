#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/ids.h"
#include "base/result.h"
#include "base/sync/watermark.h"
#include "journal/file_system.h"
#include "model/event_batch.h"

namespace cdc::journal {

class SegmentList;

struct Options {
  std::filesystem::path directory;           // <data-dir>/events
  std::uint64_t segment_bytes = 64U << 20U;  // preallocated size of a segment file
  // Of all segments. Above it append says kLimit, unless an open transaction alone needs more.
  std::uint64_t bytes_max = 16ULL << 30U;
  std::chrono::seconds retention = std::chrono::hours{1};  // kept this long after all have passed
};

// What recovery found and did when the journal was opened.
struct RecoveryReport {
  std::uint64_t segments = 0;
  std::uint64_t events = 0;           // whole transactions only
  std::uint64_t truncated_bytes = 0;  // torn tail or unfinished transaction, cut off
  bool created = false;
};

// The append-only event log of one source: docs/formats/journal.md.
//
// Purpose     Makes events durable before the source hears of it, and numbers them for consumers.
// Invariants  J1 a Sequence, once published, names the same event for ever.
//             J2 durable_sequence() only ever stands at a transaction boundary.
//             J3 durable_lsn() never exceeds what a successful sync() has covered.
//             J4 frames hold whole transactions, or one part of one transaction.
//             J5 after a failed sync nothing is written again: every later call says kIo.
// Errors      open: kLocked, kCorrupt, kVersion, kIo, kNoSpace. append: kNoSpace and kLimit leave
//             the journal as it was, and the same batch may be offered again; kUnsupported: the
//             batch exceeds the format. sync: kIo is final.
// Thread      One appender thread owns it; the watermarks, last_position(), segment_list() and
//             bytes() are for any thread.
class Journal {
 public:
  // `file_system` outlives the journal. Creates the directory (0700) when there is none.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(FileSystem& file_system,
                                                             Options options);
  virtual ~Journal() = default;

  // Writes the batch as one frame, or two when it ends in a part of a transaction. Not yet durable.
  // A batch that does not continue() the open transaction abandons it: the source has begun anew,
  // and the parts written so far are taken back.
  [[nodiscard]] virtual Status append(const model::EventBatch& batch) = 0;
  // Makes all appended frames durable and publishes the watermarks.
  [[nodiscard]] virtual Status sync() = 0;
  // Deletes whole segments that `passed` covers and whose retention, counted from the first call
  // that covered them, is over. Returns bytes freed. Passed segments go earlier when append() would
  // otherwise have to say kLimit or kNoSpace.
  [[nodiscard]] virtual Result<std::uint64_t> retain(Sequence passed,
                                                     std::chrono::system_clock::time_point now) = 0;

  // Last event of the last durable whole transaction; Sequence, and the source position to
  // acknowledge.
  [[nodiscard]] virtual Watermark& durable_sequence() noexcept = 0;
  [[nodiscard]] virtual Watermark& durable_lsn() noexcept = 0;
  // Position of the event at durable_sequence(), to recognise what the source sends again.
  [[nodiscard]] virtual Position last_position() const noexcept = 0;
  [[nodiscard]] virtual const RecoveryReport& recovery() const noexcept = 0;
  // What readers open: an immutable snapshot of the segments, replaced on roll and retention.
  [[nodiscard]] virtual SegmentList& segment_list() noexcept = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
};

}  // namespace cdc::journal
