#include "postgres/recent_changes.h"

#include <algorithm>
#include <utility>

namespace cdc::postgres {

namespace {

// More transactions than can be between their commit record and their end at any time, which is
// bounded by max_connections, and those that others commit meanwhile.
constexpr std::size_t kStreamedMax = 1U << 16U;

// Row and writer together: rows of an earlier epoch with the same id must not be taken for these.
std::uint64_t row_of_writer(std::uint64_t row_hash, std::uint32_t writer) noexcept {
  return row_hash ^ (0x9E3779B97F4A7C15ULL * (writer + 1ULL));
}

}  // namespace

RecentChanges::RecentChanges(std::size_t changes_max) : changes_max_(changes_max) {}

void RecentChanges::watch(std::uint32_t table) {
  forget(table);
  tables_[table].transactions_before = streamed_count_;
}

void RecentChanges::forget(std::uint32_t table) {
  const auto found = tables_.find(table);
  if (found != tables_.end()) {
    const Table& known = found->second;
    changes_ -= known.changed.size() + known.written.size() + known.moved.size();
    tables_.erase(found);
  }
}

void RecentChanges::add_transaction(std::uint32_t xid) {
  if (streamed_.size() < kStreamedMax) {
    streamed_.push_back(xid);
  } else {
    streamed_[streamed_count_ % kStreamedMax] = xid;
  }
  ++streamed_count_;
}

void RecentChanges::add_skipped_transaction(std::uint32_t xid, Lsn commit_lsn) {
  add_transaction(xid);
  for (auto& [oid, table] : tables_) {
    table.lost.push_back({.xid = xid, .commit_lsn = commit_lsn});
  }
}

void RecentChanges::add_row(const RowChange& change) {
  const auto found = tables_.find(change.table);
  if (found == tables_.end()) {
    return;
  }
  Table& table = found->second;
  Transaction transaction{
      .xid = change.xid, .commit_lsn = change.commit_lsn, .partial = change.partial};
  if (!change.whole_row) {
    const bool moves = change.old_key_hash != change.key_hash;
    if (moves && change.partial && table.moved.insert(change.key_hash).second) {
      ++changes_;
    }
    remember(table, change.key_hash, transaction);
    if (moves) {
      transaction.partial = false;  // under the old key there is nothing left
      remember(table, change.old_key_hash, transaction);
    }
    return;
  }
  if (!change.inserts) {
    remember(table, change.old_key_hash, transaction);
  }
  if (!change.deletes && changes_ < changes_max_ &&
      table.written.insert(row_of_writer(change.key_hash, change.xid)).second) {
    ++changes_;
  }
}

void RecentChanges::remember(Table& table, std::uint64_t hash, const Transaction& transaction) {
  const auto found = table.changed.find(hash);
  if (found != table.changed.end()) {
    const bool partial = transaction.partial && found->second.partial;
    found->second = transaction;
    found->second.partial = partial;
    return;
  }
  if (changes_ < changes_max_) {
    table.changed.emplace(hash, transaction);
    ++changes_;
    return;
  }
  if (table.lost.empty() || table.lost.back().xid != transaction.xid) {
    table.lost.push_back(transaction);
  }
}

void RecentChanges::add_truncate(std::uint32_t table, std::uint32_t xid, Lsn commit_lsn) {
  const auto found = tables_.find(table);
  if (found != tables_.end()) {
    found->second.truncates.push_back({.xid = xid, .commit_lsn = commit_lsn});
  }
}

// A transaction that was streamed before we watched, and is still invisible, may have changed
// anything. Once a view has seen all of those, every later one does.
bool RecentChanges::settle(Table& table, const SnapshotView& view) const {
  if (table.settled || view.standby) {
    return true;
  }
  const std::size_t oldest =
      streamed_count_ > streamed_.size() ? streamed_count_ - streamed_.size() : 0;
  for (std::size_t i = oldest; i < table.transactions_before; ++i) {
    if (!view.sees(streamed_[i % kStreamedMax], Lsn{})) {
      return false;
    }
  }
  table.settled = true;
  return true;
}

bool RecentChanges::can_judge(std::uint32_t table, const SnapshotView& view) {
  const auto found = tables_.find(table);
  if (found == tables_.end() || !settle(found->second, view)) {
    return false;
  }
  return std::ranges::all_of(found->second.lost, [&view](const Transaction& transaction) {
    return sees(view, transaction);
  });
}

RecentChanges::Verdict RecentChanges::judge(std::uint32_t table,
                                            std::uint64_t key_hash,
                                            const SnapshotView& view) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) {
    return Verdict::kUncertain;
  }
  for (const Transaction& truncate : found->second.truncates) {
    if (!sees(view, truncate)) {
      return Verdict::kStale;
    }
  }
  const auto change = found->second.changed.find(key_hash);
  if (change == found->second.changed.end() || sees(view, change->second)) {
    return Verdict::kCurrent;
  }
  return change->second.partial ? Verdict::kMissing : Verdict::kStale;
}

std::unordered_set<std::uint64_t> RecentChanges::take_moved(std::uint32_t table) {
  const auto found = tables_.find(table);
  if (found == tables_.end()) {
    return {};
  }
  changes_ -= found->second.moved.size();
  return std::exchange(found->second.moved, {});
}

RecentChanges::Verdict RecentChanges::judge_whole_row(std::uint32_t table,
                                                      std::uint64_t row_hash,
                                                      std::uint32_t writer,
                                                      const SnapshotView& view) const {
  const Verdict verdict = judge(table, row_hash, view);
  const auto found = tables_.find(table);
  if (found != tables_.end() && found->second.written.contains(row_of_writer(row_hash, writer))) {
    return Verdict::kStale;
  }
  const bool truncated = verdict == Verdict::kStale && !found->second.changed.contains(row_hash);
  return verdict == Verdict::kStale && !truncated ? Verdict::kUncertain : verdict;
}

void RecentChanges::prune(std::uint32_t table, const SnapshotView& oldest) {
  const auto found = tables_.find(table);
  if (found == tables_.end()) {
    return;
  }
  const auto seen = [&oldest](const Transaction& transaction) {
    return sees(oldest, transaction);
  };
  Table& known = found->second;
  changes_ -=
      std::erase_if(known.changed, [&seen](const auto& entry) { return seen(entry.second); });
  std::erase_if(known.truncates, seen);
  std::erase_if(known.lost, seen);
}

}  // namespace cdc::postgres
