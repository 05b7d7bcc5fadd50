// Cuts tables into ranges: by key at the quantiles of a sample, by block evenly.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "postgres/internal/snapshot_sql.h"
#include "postgres/snapshot_table.h"

namespace cdc::postgres {

namespace {

// Whole blocks are sampled, and rows of a block often have keys side by side: what counts for the
// evenness of the ranges is the number of blocks.
constexpr std::uint64_t kSampleBlocksPerRange = 20;
constexpr std::uint64_t kSampleBlocksMax = 1'000;
constexpr std::uint64_t kRowsPerPageGuess = 50;

std::uint64_t rows_of(const SnapshotPart& part) noexcept {
  return part.rows >= 0 ? static_cast<std::uint64_t>(part.rows) : part.pages * kRowsPerPageGuess;
}

// How many ranges each part is worth, together at most `ranges_max` unless the parts are more.
std::vector<std::uint64_t> shares_of(const SnapshotTable& table,
                                     std::uint64_t rows_wanted,
                                     std::size_t ranges_max) {
  std::vector<std::uint64_t> shares;
  std::uint64_t more = 0;
  for (const SnapshotPart& part : table.parts) {
    const std::uint64_t rows = rows_of(part);
    const std::uint64_t wanted = rows < 2 * rows_wanted ? 1 : rows / rows_wanted;
    shares.push_back(table.by_key() ? wanted
                                    : std::min(wanted, std::max<std::uint64_t>(part.pages, 1)));
    more += shares.back() - 1;
  }
  const std::uint64_t allowed = ranges_max > shares.size() ? ranges_max - shares.size() : 0;
  if (more > allowed) {
    for (std::uint64_t& share : shares) {
      share =
          1 + static_cast<std::uint64_t>(static_cast<double>(share - 1) /
                                         static_cast<double>(more) * static_cast<double>(allowed));
    }
  }
  return shares;
}

void split_blocks(const SnapshotPart& part,
                  std::uint64_t share,
                  std::vector<SnapshotRange>& ranges) {
  std::string lower;
  for (std::uint64_t i = 1; i <= share; ++i) {
    std::string upper = i == share ? std::string{} : format("{}", part.pages * i / share);
    ranges.push_back({.part_oid = part.oid, .lower = std::move(lower), .upper = upper});
    lower = std::move(upper);
  }
}

// Keys of a sample, in order. A table that cannot be sampled has none, and is one range.
Result<std::vector<std::string>> sample_keys(Connection& connection,
                                             const SnapshotTable& table,
                                             const SnapshotPart& part,
                                             std::uint64_t share) {
  const std::uint64_t blocks = std::min(share * kSampleBlocksPerRange, kSampleBlocksMax);
  const double percent = std::clamp(100.0 * static_cast<double>(blocks) /
                                        static_cast<double>(std::max<std::uint64_t>(part.pages, 1)),
                                    0.0001,
                                    100.0);
  CDC_TRY(
      connection.query("BEGIN READ ONLY; SET LOCAL statement_timeout = '15s';"
                       " SET LOCAL lock_timeout = '5s'"));
  const std::string keys = internal::key_list_sql(table);
  const auto sample =
      connection.query(format("SELECT {} FROM ONLY {} TABLESAMPLE SYSTEM ({:.6f}) ORDER BY {}",
                              keys,
                              part.quoted,
                              percent,
                              keys));
  CDC_TRY(connection.query("ROLLBACK"));
  std::vector<std::string> bounds;
  if (!sample) {
    log::info("cannot sample the table, it is read as one range",
              {{"table", part.quoted}, {"error", sample.error().message}});
    return bounds;
  }
  std::vector<std::string> values(table.key.size());
  for (int row = 0; row < sample->rows(); ++row) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = sample->text(row, static_cast<int>(i));
    }
    bounds.push_back(encode_bound(values));
  }
  return bounds;
}

Status split_keys(Connection& connection,
                  const SnapshotTable& table,
                  const SnapshotPart& part,
                  std::uint64_t share,
                  std::vector<SnapshotRange>& ranges) {
  std::vector<std::string> sample;
  if (share > 1) {
    CDC_ASSIGN(sample, sample_keys(connection, table, part, share));
  }
  // A sample of fewer rows than ranges bounds none of them well.
  const std::uint64_t cuts = sample.size() < 2 * share ? 0 : share - 1;
  std::string lower;
  for (std::uint64_t i = 1; i <= cuts; ++i) {
    std::string& upper = sample[sample.size() * i / share];
    ranges.push_back({.part_oid = part.oid, .lower = std::move(lower), .upper = upper});
    lower = std::move(upper);
  }
  ranges.push_back({.part_oid = part.oid, .lower = std::move(lower), .upper = {}});
  return {};
}

}  // namespace

Result<std::vector<SnapshotRange>> split_snapshot_table(Connection& connection,
                                                        const SnapshotTable& table,
                                                        std::uint64_t rows_wanted,
                                                        std::size_t ranges_max) {
  const std::vector<std::uint64_t> shares =
      shares_of(table, std::max<std::uint64_t>(rows_wanted, 1), ranges_max);
  std::vector<SnapshotRange> ranges;
  for (std::size_t i = 0; i < table.parts.size(); ++i) {
    if (table.by_key()) {
      CDC_TRY(split_keys(connection, table, table.parts[i], shares[i], ranges));
    } else {
      split_blocks(table.parts[i], shares[i], ranges);
    }
  }
  return ranges;
}

}  // namespace cdc::postgres
