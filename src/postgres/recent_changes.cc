#include "postgres/recent_changes.h"

#include <algorithm>
#include <utility>

namespace cdc::postgres {

namespace {

// More transactions than can be between their commit record and their end at any time, which is
// bounded by max_connections, and those that others commit meanwhile.
constexpr std::size_t kStreamedMax = 1U << 16U;
constexpr std::size_t kLostMax = 1U << 16U;

// Ids of transactions go round.
bool is_before(std::uint32_t left, std::uint32_t right) noexcept {
  return static_cast<std::int32_t>(left - right) < 0;
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
    changes_ -= found->second.changed.size();
    moved_ -= found->second.moved.keys.size();
    written_ -= found->second.written.size();
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
    lose(table, {.xid = xid, .commit_lsn = commit_lsn});
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
    if (moves && change.partial) {
      remember_move(table, change);
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
  if (!change.deletes && written_ < changes_max_ && table.written.insert(change.key_hash).second) {
    ++written_;
    table.first_writer = table.first_writer.value_or(change.xid);
  }
}

void RecentChanges::remember_move(Table& table, const RowChange& change) {
  if (table.repaired && !table.repaired->contains(change.old_key_hash)) {
    return;
  }
  if (moved_ >= changes_max_) {
    table.moved.too_many = true;
  } else if (table.moved.keys.insert(change.key_hash).second) {
    ++moved_;
  }
}

void RecentChanges::lose(Table& table, const Transaction& transaction) {
  if (!table.lost.empty() && table.lost.back().xid == transaction.xid) {
    return;
  }
  if (table.lost.size() >= kLostMax) {
    table.lost.clear();
    table.lost_newest = transaction;
  }
  table.lost.push_back(transaction);
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
  lose(table, transaction);
}

void RecentChanges::add_truncate(std::uint32_t table, std::uint32_t xid, Lsn commit_lsn) {
  const auto found = tables_.find(table);
  if (found != tables_.end()) {
    found->second.truncates.push_back({.xid = xid, .commit_lsn = commit_lsn});
  }
}

// A transaction that was streamed before we watched, and is still invisible, may have changed
// anything.
bool RecentChanges::sees_all_before(const Table& table, const SnapshotView& view) const {
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
  return true;
}

bool RecentChanges::can_judge(std::uint32_t table, const SnapshotView& view) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) {
    return false;
  }
  if (mutes(table)) {
    return true;
  }
  const Table& known = found->second;
  if (known.lost_newest) {
    const bool passed =
        view.standby ? known.lost_newest->commit_lsn < view.low
                     : is_before(known.lost_newest->xid, static_cast<std::uint32_t>(view.xmin));
    if (!passed) {
      return false;
    }
  }
  return sees_all_before(known, view) &&
         std::ranges::all_of(known.lost, [&view](const Transaction& transaction) {
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
  if (mutes(table)) {
    return Verdict::kCurrent;
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

RecentChanges::Moved RecentChanges::take_moved(std::uint32_t table) {
  const auto found = tables_.find(table);
  if (found == tables_.end()) {
    return {};
  }
  Moved moved = std::exchange(found->second.moved, {});
  moved_ -= moved.keys.size();
  found->second.repaired = moved.keys;
  return moved;
}

RecentChanges::Verdict RecentChanges::judge_whole_row(std::uint32_t table,
                                                      std::uint64_t row_hash,
                                                      std::uint32_t writer,
                                                      const SnapshotView& view) const {
  const auto found = tables_.find(table);
  if (found == tables_.end() || mutes(table)) {
    return judge(table, row_hash, view);
  }
  const Table& known = found->second;
  // A subtransaction writes under an id of its own, which the stream does not tell; it is later
  // than that of the first transaction remembered. Equal rows that were here before are earlier.
  if (known.written.contains(row_hash) && known.first_writer &&
      !is_before(writer, *known.first_writer)) {
    return Verdict::kStale;
  }
  const Verdict verdict = judge(table, row_hash, view);
  const bool changed = verdict != Verdict::kCurrent && known.changed.contains(row_hash);
  return changed ? Verdict::kUncertain : verdict;
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
  known.settled = sees_all_before(known, oldest);
  if (known.lost_newest &&
      is_before(known.lost_newest->xid, static_cast<std::uint32_t>(oldest.xmin))) {
    known.lost_newest.reset();
  }
  changes_ -=
      std::erase_if(known.changed, [&seen](const auto& entry) { return seen(entry.second); });
  std::erase_if(known.truncates, seen);
  std::erase_if(known.lost, seen);
}

}  // namespace cdc::postgres
