#include "journal/internal/journal_writer.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "journal/internal/recovery.h"

namespace cdc::journal {

namespace {

constexpr std::uint64_t kSegmentBytesMin = 1024;

// At least four segments fit under the cap, so that deleting the oldest makes room for the next.
Options bounded(Options options) {
  const std::uint64_t most = std::max(options.bytes_max / 4, kSegmentBytesMin);
  options.segment_bytes = std::clamp(options.segment_bytes, kSegmentBytesMin, most);
  return options;
}

bool full(const Error& error) {
  return error.code == Errc::kNoSpace;
}

}  // namespace

JournalWriter::JournalWriter(FileSystem& file_system,
                             Options options,
                             std::unique_ptr<FileLock> lock)
    : file_system_(file_system),
      options_(bounded(std::move(options))),
      lock_(std::move(lock)),
      list_(file_system) {}

// ---- Opening ------------------------------------------------------------------------------------

Status JournalWriter::start() {
  CDC_TRY(remove_temporaries(file_system_, options_.directory));
  CDC_ASSIGN(Segments segments, load_segments(file_system_, options_.directory));
  if (segments.empty()) {
    CDC_TRY(create_first());
  } else {
    CDC_TRY(recover(std::move(segments)));
  }
  recovery_.segments = segments_.size();
  recovery_.events = boundary_.sequence.value + 1 - segments_.front().header.first.value;
  publish();
  return {};
}

Status JournalWriter::create_first() {
  const SegmentHeader header{.journal_id = file_system_.random64(),
                             .number = 1,
                             .salt = file_system_.random64(),
                             .first = {1},
                             .created_unix_micros = unix_now().value};
  CDC_ASSIGN(NewSegment created,
             prepare_segment(file_system_, options_.directory, header, options_.segment_bytes));
  CDC_TRY(name_segment(file_system_, created));
  CDC_TRY(file_system_.sync_directory(options_.directory));
  use(std::move(created));
  next_ = header.first;
  boundary_ = {.offset = kSegmentHeaderSize};
  boundary_segment_ = header.number;
  recovery_.created = true;
  return {};
}

Status JournalWriter::recover(Segments segments) {
  CDC_ASSIGN(const JournalEnd end, find_end(file_system_, segments));
  segments_ = std::move(segments);
  boundary_ = end.boundary;
  boundary_segment_ = segments_[end.segment].header.number;
  recovery_.truncated_bytes = end.cut_bytes;
  CDC_TRY(remove_segments_behind(boundary_segment_));
  return open_last(end.cut_bytes > 0);
}

// From the last one down and each made durable by itself, so that a crash never leaves a hole.
Status JournalWriter::remove_segments_behind(std::uint64_t number) {
  while (segments_.back().header.number > number) {
    CDC_TRY(file_system_.remove(segments_.back().path));
    CDC_TRY(file_system_.sync_directory(options_.directory));
    segments_.pop_back();
  }
  return {};
}

// Continues the last segment at boundary_. `cut`: there are bytes behind it. They are cut off and
// that is made durable before anything is written there, so that no frame of theirs can ever be
// taken for one of ours. Also makes durable what a killed process had only handed to the kernel.
Status JournalWriter::open_last(bool cut) {
  Segment& last = segments_.back();
  CDC_ASSIGN(file_, file_system_.open(last.path, OpenMode::kReadWrite));
  if (cut) {
    CDC_TRY(file_->truncate(boundary_.offset));
  }
  CDC_ASSIGN(const std::uint64_t size, file_->size());
  capacity_ = std::max(size, options_.segment_bytes);
  preallocated_ = true;
  if (size < capacity_) {
    auto allocated = file_->allocate(capacity_);
    if (!allocated && !full(allocated.error())) {
      return cdc::fail(std::move(allocated).error());
    }
    // With a full disk the journal opens all the same: consumers can drain it.
    preallocated_ = allocated.value_or(false);
  }
  CDC_TRY(file_->sync_all());
  last.size = capacity_;
  end_ = boundary_.offset;
  synced_size_ = end_;
  next_ = {boundary_.sequence.value + 1};
  last_position_ = boundary_.position;
  list_.replace(segments_);
  return {};
}

// ---- Appending ----------------------------------------------------------------------------------

Status JournalWriter::append(const model::EventBatch& batch) {
  if (failure_) {
    return cdc::fail(*failure_);
  }
  if (batch.empty()) {
    return {};
  }
  if (transaction_open() && !batch.continues()) {
    // The source begins anew: what it had sent of its last transaction will come again.
    if (auto abandoned = abandon_open_transaction(); !abandoned) {
      return poison(std::move(abandoned).error());
    }
  }
  if (batch.continues() && !transaction_open()) {
    return cdc::fail(Errc::kInternal, "a batch continues a transaction that the journal has not");
  }
  CDC_TRY(writer_.plan(batch, next_));
  if (end_ + writer_.size() > capacity_) {
    CDC_TRY(roll(writer_.size()));
  }
  CDC_TRY(write_frames());
  for (std::size_t i = 0; i < writer_.count(); ++i) {
    note_frame(writer_.frame(i), batch);
  }
  unsynced_ = true;
  return {};
}

Status JournalWriter::abandon_open_transaction() {
  CDC_TRY(remove_segments_behind(boundary_segment_));
  return open_last(true);
}

Status JournalWriter::write_frames() {
  const auto pieces = writer_.render(segments_.back().header.salt, end_, synced_size_);
  auto written = file_->write_at(end_, pieces);
  if (written) {
    return {};
  }
  if (!full(written.error())) {
    return poison(std::move(written).error());
  }
  // Give back what the failed write took. Preallocated space is kept: it is not what was short.
  if (!preallocated_) {
    if (auto cut = file_->truncate(end_); !cut) {
      return poison(std::move(cut).error());
    }
  }
  return written;
}

void JournalWriter::note_frame(const FrameHeader& header, const model::EventBatch& batch) {
  const std::size_t index = header.kind == FrameKind::kPart ? batch.boundary() : 0;
  end_ += header.frame_size;
  next_ = header.next();
  if (header.event_count > 0) {
    last_position_ = batch.events()[index + header.event_count - 1].position();
  }
  if (header.ends_transaction()) {
    boundary_ = {.offset = end_,
                 .sequence = {next_.value - 1},
                 .position = last_position_,
                 .acknowledge = std::max(boundary_.acknowledge, header.acknowledge)};
    boundary_segment_ = segments_.back().header.number;
  }
}

Status JournalWriter::sync() {
  if (failure_) {
    return cdc::fail(*failure_);
  }
  if (!unsynced_) {
    return {};
  }
  if (auto synced = file_->sync_data(); !synced) {
    return poison(std::move(synced).error());
  }
  synced_size_ = end_;
  unsynced_ = false;
  publish();
  return {};
}

void JournalWriter::publish() {
  {
    MutexLock lock(position_mutex_);
    durable_position_ = boundary_.position;
  }
  durable_sequence_.publish(boundary_.sequence.value);
  durable_lsn_.publish(boundary_.acknowledge.value);
}

// ---- Segments -----------------------------------------------------------------------------------

Status JournalWriter::roll(std::uint64_t frames_size) {
  const std::uint64_t size = std::max(options_.segment_bytes, kSegmentHeaderSize + frames_size);
  CDC_TRY(make_room(size));
  auto prepared = prepare_next(size);
  if (!prepared) {
    return full(prepared.error()) ? cdc::fail(std::move(prepared).error())
                                  : poison(std::move(prepared).error());
  }
  if (auto sealed = seal_last(); !sealed) {
    return poison(std::move(sealed).error());
  }
  if (auto named = name_segment(file_system_, *prepared); !named) {
    // A directory may need a block too; the sealed segment is full and the next append tries again.
    return full(named.error()) ? named : poison(std::move(named).error());
  }
  if (auto synced = file_system_.sync_directory(options_.directory); !synced) {
    return poison(std::move(synced).error());
  }
  use(*std::move(prepared));
  return {};
}

// On a full disk, segments that are kept only for the sake of `retention` go first.
Result<NewSegment> JournalWriter::prepare_next(std::uint64_t size) {
  const SegmentHeader& last = segments_.back().header;
  const SegmentHeader header{.journal_id = last.journal_id,
                             .number = last.number + 1,
                             .salt = file_system_.random64(),
                             .first = next_,
                             .created_unix_micros = unix_now().value,
                             .previous = last_position_,
                             .acknowledge = boundary_.acknowledge,
                             .last_whole = boundary_.sequence};
  for (;;) {
    auto created = prepare_segment(file_system_, options_.directory, header, size);
    if (created || !full(created.error()) || !oldest_is_passed()) {
      return created;
    }
    CDC_TRY(remove_oldest());
  }
}

Status JournalWriter::seal_last() {
  CDC_TRY(file_->truncate(end_));
  CDC_TRY(file_->sync_all());
  capacity_ = end_;
  synced_size_ = end_;
  segments_.back().size = end_;
  return {};
}

void JournalWriter::use(NewSegment created) {
  file_ = std::move(created.file);
  preallocated_ = created.preallocated;
  end_ = kSegmentHeaderSize;
  synced_size_ = kSegmentHeaderSize;
  capacity_ = created.segment.size;
  segments_.push_back(std::move(created.segment));
  list_.replace(segments_);
}

Status JournalWriter::make_room(std::uint64_t size) {
  for (;;) {
    std::uint64_t total = end_ + size;
    for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
      total += segments_[i].size;
    }
    if (total <= options_.bytes_max) {
      return {};
    }
    if (transaction_open() && passed_ >= boundary_.sequence) {
      // Nobody can be waited for: consumers see this transaction only when all of it is here.
      warn_of_large_transaction();
      return {};
    }
    if (!oldest_is_passed()) {
      return cdc::fail(Errc::kLimit,
                       format("the journal in {} has reached its limit of {} bytes",
                              options_.directory.string(),
                              options_.bytes_max),
                       "let the consumers catch up, or raise journal.max-bytes");
    }
    CDC_TRY(remove_oldest());
  }
}

void JournalWriter::warn_of_large_transaction() {
  if (warned_of_ != boundary_.sequence) {
    warned_of_ = boundary_.sequence;
    log::warn("one transaction is larger than journal.max-bytes allows; the journal grows past it",
              {{"directory", options_.directory.string()}, {"max_bytes", options_.bytes_max}});
  }
}

// ---- Retention ----------------------------------------------------------------------------------

Result<std::uint64_t> JournalWriter::retain(Sequence passed,
                                            std::chrono::system_clock::time_point now) {
  if (failure_) {
    return cdc::fail(*failure_);
  }
  passed_ = std::min(passed, Sequence{durable_sequence_.load()});
  note_passed(now);
  std::uint64_t freed = 0;
  while (oldest_is_passed()) {
    const Segment& oldest = segments_.front();
    if (now - passed_since_.at(oldest.header.number) < options_.retention) {
      break;
    }
    freed += oldest.size;
    CDC_TRY(remove_oldest());
  }
  return freed;
}

// Starts the clock of segments that are newly passed and stops it where a consumer has gone back. A
// restart begins to count anew: keeping longer is the safe side.
void JournalWriter::note_passed(std::chrono::system_clock::time_point now) {
  for (std::size_t i = 0; i + 1 < segments_.size(); ++i) {
    const std::uint64_t number = segments_[i].header.number;
    if (segments_[i + 1].header.first.value - 1 > passed_.value) {
      passed_since_.erase(passed_since_.lower_bound(number), passed_since_.end());
      return;
    }
    passed_since_.try_emplace(number, now);
  }
}

bool JournalWriter::oldest_is_passed() const {
  return segments_.size() > 1 && segments_[1].header.first.value - 1 <= passed_.value;
}

// Oldest first and each made durable by itself, so that a crash never leaves a hole.
Status JournalWriter::remove_oldest() {
  CDC_TRY(file_system_.remove(segments_.front().path));
  passed_since_.erase(segments_.front().header.number);
  segments_.erase(segments_.begin());
  list_.replace(segments_);
  if (auto synced = file_system_.sync_directory(options_.directory); !synced) {
    return poison(std::move(synced).error());
  }
  return {};
}

// ---- The rest -----------------------------------------------------------------------------------

std::unexpected<Error> JournalWriter::poison(Error error) {
  if (failure_) {
    return cdc::fail(*failure_);
  }
  error.code = Errc::kIo;
  error.message = "the journal has stopped: " + error.message;
  error.hint = "what was acknowledged is safe; check the disk, then start again";
  failure_ = error;
  return cdc::fail(std::move(error));
}

Position JournalWriter::last_position() const noexcept {
  MutexLock lock(position_mutex_);
  return durable_position_;
}

std::uint64_t JournalWriter::bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Segment& segment : *list_.snapshot()) {
    bytes += segment.size;
  }
  return bytes;
}

}  // namespace cdc::journal
