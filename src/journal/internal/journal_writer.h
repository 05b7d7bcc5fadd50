#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "base/sync/mutex.h"
#include "journal/internal/frame_writer.h"
#include "journal/internal/segment_files.h"
#include "journal/internal/segment_scan.h"
#include "journal/journal.h"
#include "journal/segment_list.h"

namespace cdc::journal {

// The one implementation of Journal.
//
// Invariants  W1 end_ is behind the last complete frame; bytes behind it are never part of one.
//             W2 boundary_ is the last place where no transaction is open, synced or not;
//                everything behind it can still be taken back.
//             W3 a segment becomes visible under its name only after the one before it was cut to
//                its frames and synced whole (F4).
class JournalWriter final : public Journal {
 public:
  JournalWriter(FileSystem& file_system, Options options, std::unique_ptr<FileLock> lock);

  // Recovers what is there or creates the first segment.
  [[nodiscard]] Status start();

  [[nodiscard]] Status append(const model::EventBatch& batch) override;
  [[nodiscard]] Status sync() override;
  [[nodiscard]] Result<std::uint64_t> retain(Sequence passed,
                                             std::chrono::system_clock::time_point now) override;

  [[nodiscard]] Watermark& durable_sequence() noexcept override { return durable_sequence_; }

  [[nodiscard]] Watermark& durable_lsn() noexcept override { return durable_lsn_; }

  [[nodiscard]] Position last_position() const noexcept override;

  [[nodiscard]] const RecoveryReport& recovery() const noexcept override { return recovery_; }

  [[nodiscard]] SegmentList& segment_list() noexcept override { return list_; }

  [[nodiscard]] std::uint64_t bytes() const noexcept override;

 private:
  [[nodiscard]] Status create_first();
  [[nodiscard]] Status recover(Segments segments);
  [[nodiscard]] Status remove_segments_behind(std::uint64_t number);
  [[nodiscard]] Status open_last(bool cut);
  [[nodiscard]] Status abandon_open_transaction();
  [[nodiscard]] Status write_frames();
  void note_frame(const FrameHeader& header, const model::EventBatch& batch);
  [[nodiscard]] Status roll(std::uint64_t frames_size);
  [[nodiscard]] Result<NewSegment> prepare_next(std::uint64_t size);
  [[nodiscard]] Status seal_last();
  [[nodiscard]] Status make_room(std::uint64_t size);
  void warn_of_large_transaction();
  void use(NewSegment created);
  [[nodiscard]] bool oldest_is_passed() const;
  [[nodiscard]] Status remove_oldest();
  void note_passed(std::chrono::system_clock::time_point now);
  void publish();
  // Ends all writing (J5) and returns the error to report.
  [[nodiscard]] std::unexpected<Error> poison(Error error);

  [[nodiscard]] bool transaction_open() const {
    return boundary_.sequence.value + 1 != next_.value;
  }

  FileSystem& file_system_;
  Options options_;
  std::unique_ptr<FileLock> lock_;
  RecoveryReport recovery_;
  std::optional<Error> failure_;

  Segments segments_;  // the appender's copy of the list
  SegmentList list_;
  FrameWriter writer_;

  // The last segment.
  std::unique_ptr<File> file_;
  bool preallocated_ = false;
  std::uint64_t end_ = 0;
  std::uint64_t capacity_ = 0;     // a frame that would end behind it goes to the next segment
  std::uint64_t synced_size_ = 0;  // everything before it is durable

  Sequence next_;           // of the next event
  Position last_position_;  // of the event before it
  Boundary boundary_;
  std::uint64_t boundary_segment_ = 0;
  bool unsynced_ = false;  // something was appended since the last sync()

  Sequence passed_;                    // as of the last retain()
  std::optional<Sequence> warned_of_;  // last event before the large transaction
  std::map<std::uint64_t, std::chrono::system_clock::time_point>
      passed_since_;  // by segment number

  Watermark durable_sequence_;
  Watermark durable_lsn_;
  mutable Mutex position_mutex_;
  Position durable_position_ CDC_GUARDED_BY(position_mutex_);
};

}  // namespace cdc::journal
