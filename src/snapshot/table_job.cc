#include "snapshot/table_job.h"

#include <algorithm>
#include <utility>

#include "base/format.h"

namespace cdc::snapshot {

namespace {

constexpr std::uint64_t kFirstChunkRows = 1'000;
constexpr std::uint64_t kChunkRowsMin = 10;
constexpr std::uint64_t kChunkRowsMax = 1'000'000;

const postgres::SnapshotPart* find_part(const Description& description, std::uint32_t oid) {
  const auto& parts = description.table.parts;
  const auto found = std::ranges::find(parts, oid, &postgres::SnapshotPart::oid);
  return found == parts.end() ? nullptr : &*found;
}

}  // namespace

TableJob::TableJob(state::BackfillTable record,
                   postgres::PublishedTable published,
                   std::shared_ptr<const postgres::TableRules> rules,
                   const ChunkLimits& limits)
    : record_(std::move(record)),
      published_(std::move(published)),
      rules_(std::move(rules)),
      limits_(limits),
      rows_per_chunk_(kFirstChunkRows),
      chunks_(record_.chunks),
      rows_seen_(record_.rows_read) {}

void TableJob::resume_ranges(const std::vector<state::BackfillRange>& ranges) {
  for (const state::BackfillRange& range : ranges) {
    ranges_.emplace_back(range);
  }
}

// ---- describing ---------------------------------------------------------------------------------

bool TableJob::wants_description() const noexcept {
  return describing_ == 0 && (phase == Phase::kDescribing ||
                              (phase == Phase::kReading && stale_description_ && out_.empty()));
}

DescribeJob TableJob::describe(std::uint64_t ticket, const std::string& publication) {
  describing_ = ticket;
  return DescribeJob{.ticket = ticket,
                     .table = published_,
                     .publication = publication,
                     .rules = rules_,
                     .split = true};
}

// The ranges that there are can go on under this description. A partition that is gone takes its
// ranges with it; anything else that changed has the table begin again.
bool TableJob::fits(const Description& description) {
  if (ranges_.empty() || record_.snapshot_id.empty()) {
    return false;
  }
  if (description.table.parts.size() > 1 ||
      (!description.table.parts.empty() && description.table.parts.front().oid != published_.oid)) {
    std::erase_if(ranges_, [&description](const RangeProgress& progress) {
      return find_part(description, progress.range().part_oid) == nullptr;
    });
  }
  return std::ranges::all_of(ranges_, [&description](const RangeProgress& progress) {
    const postgres::SnapshotPart* part = find_part(description, progress.range().part_oid);
    return part != nullptr && part->signature == progress.range().signature;
  });
}

bool TableJob::described(const Described& described, UnixMicros now) {
  describing_ = 0;
  stale_description_ = false;
  phase = Phase::kReading;
  const bool goes_on = fits(*described.description);
  description_ = described.description;
  if (!goes_on) {
    begin(described, now);
  }
  record_.state = state::BackfillState::kRunning;
  record_.updated = now;
  return !goes_on;
}

void TableJob::begin(const Described& described, UnixMicros now) {
  record_ = state::BackfillTable{
      .table = record_.table,
      .snapshot_id = format("{}_{}_{}", record_.table, published_.oid, now.value),
      .where = record_.where,
      .started = now,
  };
  std::int64_t total = 0;
  for (const postgres::SnapshotPart& part : described.description->table.parts) {
    total = total < 0 || part.rows < 0 ? -1 : total + part.rows;
  }
  record_.rows_total = total;
  chunks_ = 0;
  rows_seen_ = 0;
  repairing_ = false;
  ranges_.clear();
  std::uint32_t number = 0;
  for (const postgres::SnapshotRange& range : described.ranges) {
    const postgres::SnapshotPart* part = find_part(*description_, range.part_oid);
    ranges_.emplace_back(
        state::BackfillRange{.number = number++,
                             .part_oid = range.part_oid,
                             .signature = part == nullptr ? std::string{} : part->signature,
                             .lower = range.lower,
                             .upper = range.upper});
  }
}

std::vector<state::BackfillRange> TableJob::ranges() const {
  std::vector<state::BackfillRange> ranges;
  ranges.reserve(ranges_.size());
  for (const RangeProgress& progress : ranges_) {
    ranges.push_back(progress.range());
  }
  return ranges;
}

// ---- reading ------------------------------------------------------------------------------------

std::optional<ReadJob> TableJob::read_next(std::uint64_t ticket) {
  if (phase != Phase::kReading || stale_description_) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    auto task = ranges_[i].next_task();
    if (!task) {
      continue;
    }
    ranges_[i].taken(ticket);
    out_.emplace(ticket, Out{.range = i, .floor = latest_, .only = std::move(task->only)});
    return ReadJob{.ticket = ticket,
                   .description = description_,
                   .request = {.table = &description_->table,
                               .range = {.part_oid = ranges_[i].range().part_oid,
                                         .lower = std::move(task->lower),
                                         .upper = std::move(task->upper)},
                               .snapshot_id = record_.snapshot_id,
                               .snapshot_time = record_.started,
                               .chunk = chunks_++,
                               .rows_total = record_.rows_total,
                               .rows_done = rows_seen_,
                               .rows_max = rows_per_chunk_,
                               .bytes_max = limits_.bytes}};
  }
  return std::nullopt;
}

void TableJob::read(std::uint64_t ticket, const postgres::SnapshotChunk& chunk) {
  const auto out = out_.find(ticket);
  if (out == out_.end()) {
    return;
  }
  out->second.rows_read = chunk.rows_read;
  ranges_[out->second.range].read(ticket, chunk.next, chunk.last);
  rows_seen_ += chunk.rows_read;
  latest_ = std::make_shared<const postgres::SnapshotView>(chunk.view);
  if (!record_.from) {
    record_.from = chunk.view.high;
  }
  record_.to = std::max(record_.to, chunk.view.high);
  adapt(chunk);
}

// Towards the wanted time or the wanted bytes, whatever is reached first; a chunk that is cut by
// its bytes has made the server work in vain.
void TableJob::adapt(const postgres::SnapshotChunk& chunk) {
  const std::uint64_t bytes = chunk.rows.bytes();
  std::uint64_t rows = rows_per_chunk_;
  if (chunk.took > limits_.time) {
    rows /= 2;
  } else if (bytes >= limits_.bytes) {
    rows = chunk.rows_read - chunk.rows_read / 8;
  } else if (!chunk.last && 2 * chunk.took < limits_.time) {
    const std::uint64_t fitting =
        bytes == 0 ? kChunkRowsMax : chunk.rows_read * (limits_.bytes - limits_.bytes / 8) / bytes;
    rows = std::min(2 * rows, std::max<std::uint64_t>(fitting, 1));
  }
  rows_per_chunk_ = std::clamp(rows, kChunkRowsMin, kChunkRowsMax);
}

void TableJob::again(std::uint64_t ticket) {
  const auto out = out_.find(ticket);
  if (out != out_.end()) {
    ranges_[out->second.range].again(ticket);
    rows_seen_ -= std::min(rows_seen_, out->second.rows_read);
    out_.erase(out);
  }
}

KeySet TableJob::only(std::uint64_t ticket) const {
  const auto out = out_.find(ticket);
  return out == out_.end() ? nullptr : out->second.only;
}

const RangeProgress* TableJob::delivered(const Delivered& delivered) {
  const auto out = out_.find(delivered.ticket);
  if (out == out_.end()) {
    return nullptr;
  }
  refusals = 0;
  RangeProgress& range = ranges_[out->second.range];
  RowCounts counts{.emitted = delivered.emitted};
  if (!out->second.only) {
    counts.read = out->second.rows_read;
    counts.dropped = delivered.dropped;
    counts.chunks = 1;
  }
  out_.erase(out);
  if (!delivered.missing.empty()) {
    range.counted(delivered.ticket, counts);
    range.again(delivered.ticket,
                std::make_shared<const std::unordered_set<std::uint64_t>>(delivered.missing.begin(),
                                                                          delivered.missing.end()));
    return nullptr;
  }
  const auto passed = range.delivered(delivered.ticket, counts);
  if (!passed) {
    return nullptr;
  }
  record_.rows_emitted += passed->emitted;
  if (repairing_) {
    return nullptr;
  }
  record_.rows_read += passed->read;
  record_.rows_dropped += passed->dropped;
  record_.chunks += passed->chunks;
  return &range;
}

void TableJob::repair(const KeySet& keys) {
  repairing_ = true;
  phase = Phase::kReading;
  ranges_.clear();
  for (const postgres::SnapshotPart& part : description_->table.parts) {
    ranges_.emplace_back(state::BackfillRange{.part_oid = part.oid, .signature = part.signature},
                         keys);
  }
}

SharedView TableJob::take_oldest_view() {
  const SharedView& oldest = out_.empty() ? latest_ : out_.begin()->second.floor;
  if (!oldest || oldest == pruned_) {
    return nullptr;
  }
  pruned_ = oldest;
  return oldest;
}

bool TableJob::all_read() const noexcept {
  return out_.empty() && std::ranges::all_of(ranges_, &RangeProgress::complete);
}

}  // namespace cdc::snapshot
