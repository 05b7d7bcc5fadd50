#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "postgres/snapshot_view.h"

namespace cdc::postgres {

// A change of a row, as the stream brought it. The hashes are those of the event's header; they
// differ when the key changed.
struct RowChange {
  std::uint32_t table = 0;  // OID of the relation message
  std::uint32_t xid = 0;
  Lsn commit_lsn;
  std::uint64_t key_hash = 0;
  std::uint64_t old_key_hash = 0;
  bool inserts = false;    // there was no old row
  bool deletes = false;    // there is no new row
  bool whole_row = false;  // the hashes are of the whole row: the table has no key
  // Out-of-line values that did not change were not sent: who has the change alone lacks them.
  bool partial = false;
};

// What the stream changed lately in tables whose existing rows are being read, so that a row read
// from the table is never put behind a newer change of it.
//
// Rule     A row read under a view is stale exactly when a transaction that the view does not see
//          has changed it and is already in the stream. Later ones come after it anyway.
// Why      Two marks in the WAL around a chunk would not do: a transaction has its commit record in
//          the WAL, and may be streamed, before others see it (for long, with synchronous
//          replication). The view says exactly what its rows contain.
// Bounds   kChangesMax changes over all tables. What does not fit makes the views that do not see
//          those transactions uncertain: their chunks are read again. As many rows each that were
//          moved, and that came into tables without a key; beyond, rows of such tables may come
//          twice.
// Thread   One owner, the source thread. Lives as long as the source: reconnects do not disturb it.
class RecentChanges {
 public:
  static constexpr std::size_t kChangesMax = 1U << 18U;

  explicit RecentChanges(std::size_t changes_max = kChangesMax);

  // From here on changes of the table are remembered. A chunk whose view was taken later can be
  // judged.
  void watch(std::uint32_t table);
  void forget(std::uint32_t table);

  [[nodiscard]] bool watches(std::uint32_t table) const {
    return !tables_.empty() && tables_.contains(table);
  }

  // Changes of the table are not to be delivered at all, so none makes a row stale.
  void mute(std::uint32_t table) { muted_.insert(table); }

  [[nodiscard]] bool mutes(std::uint32_t table) const {
    return !muted_.empty() && muted_.contains(table);
  }

  // Every transaction of the stream, whatever it holds.
  void add_transaction(std::uint32_t xid);
  // One whose rows are not shown again: it was streamed before a reconnect or a restart.
  void add_skipped_transaction(std::uint32_t xid, Lsn commit_lsn);
  void add_row(const RowChange& change);
  void add_truncate(std::uint32_t table, std::uint32_t xid, Lsn commit_lsn);

  // False: it cannot be told what is stale under this view; a view taken now may do.
  [[nodiscard]] bool can_judge(std::uint32_t table, const SnapshotView& view) const;

  enum class Verdict : std::uint8_t {
    kCurrent,
    kStale,      // a newer change is in the stream, or the row itself came with it
    kMissing,    // likewise, but the change lacks values: the row is to be read again
    kUncertain,  // one of several equal rows is gone: a view taken now tells
  };

  // Of a row of a table with a key.
  [[nodiscard]] Verdict judge(std::uint32_t table,
                              std::uint64_t key_hash,
                              const SnapshotView& view) const;
  // Of a row of a table without one, which transaction `writer` wrote.
  [[nodiscard]] Verdict judge_whole_row(std::uint32_t table,
                                        std::uint64_t row_hash,
                                        std::uint32_t writer,
                                        const SnapshotView& view) const;

  // Rows that were moved to another key by changes that lack values, by the hash of the new key:
  // when a table has been read, these may be missing something.
  struct Moved {
    std::unordered_set<std::uint64_t> keys;
    bool too_many = false;  // any row may be one
  };

  // Handed out once. From then on only moves of these rows count: all others have been read.
  [[nodiscard]] Moved take_moved(std::uint32_t table);

  // No view older than this one will be judged any more.
  void prune(std::uint32_t table, const SnapshotView& oldest);

  [[nodiscard]] std::size_t size() const noexcept { return changes_; }

 private:
  struct Transaction {
    std::uint32_t xid = 0;
    Lsn commit_lsn;
    bool partial = false;  // and so were all unseen changes of the row before
  };

  struct Table {
    std::unordered_map<std::uint64_t, Transaction> changed;  // by key hash: the last one
    Moved moved;
    std::optional<std::unordered_set<std::uint64_t>> repaired;  // what take_moved() gave
    // Tables without a key: rows that came with the stream, by hash, and the first transaction that
    // brought one. Kept until the table is forgotten.
    std::unordered_set<std::uint64_t> written;
    std::optional<std::uint32_t> first_writer;
    std::vector<Transaction> truncates;
    std::vector<Transaction> lost;           // their changes did not fit
    std::optional<Transaction> lost_newest;  // there were too many even of those
    std::size_t transactions_before = 0;     // number of those streamed before watch()
    bool settled = false;  // every view to come sees all transactions streamed before watch()
  };

  [[nodiscard]] static bool sees(const SnapshotView& view, const Transaction& transaction) {
    return view.sees(transaction.xid, transaction.commit_lsn);
  }

  void remember(Table& table, std::uint64_t hash, const Transaction& transaction);
  void remember_move(Table& table, const RowChange& change);
  static void lose(Table& table, const Transaction& transaction);
  [[nodiscard]] bool sees_all_before(const Table& table, const SnapshotView& view) const;

  std::size_t changes_max_;
  std::size_t changes_ = 0;
  std::size_t moved_ = 0;
  std::size_t written_ = 0;
  std::unordered_map<std::uint32_t, Table> tables_;
  std::unordered_set<std::uint32_t> muted_;
  std::vector<std::uint32_t> streamed_;  // ring of the latest transactions' ids
  std::size_t streamed_count_ = 0;       // all that ever were
};

}  // namespace cdc::postgres
