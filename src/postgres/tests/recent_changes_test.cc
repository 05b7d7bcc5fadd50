// Proves which rows of a chunk are taken for stale: by what its view contains, not by time.
#include "postgres/recent_changes.h"

#include <gtest/gtest.h>

namespace cdc::postgres {
namespace {

using Verdict = RecentChanges::Verdict;

constexpr std::uint32_t kTable = 7;

// Everything below `xmax` is visible, but for the one.
SnapshotView view(std::uint64_t xmax, std::uint64_t in_progress = 0) {
  SnapshotView view{.xmin = in_progress == 0 ? xmax : in_progress, .xmax = xmax};
  if (in_progress != 0) {
    view.in_progress.push_back(in_progress);
  }
  return view;
}

class RecentChangesTest : public ::testing::Test {
 protected:
  void change(std::uint32_t xid, std::uint64_t key, std::uint64_t old_key = 0) {
    changes_.add_transaction(xid);
    changes_.add_row({.table = kTable,
                      .xid = xid,
                      .commit_lsn = Lsn{xid * 100ULL},
                      .key_hash = key,
                      .old_key_hash = old_key == 0 ? key : old_key});
  }

  RecentChanges changes_;
};

TEST_F(RecentChangesTest, ARowIsStaleWhenItsViewDoesNotSeeAStreamedChange) {
  changes_.watch(kTable);
  change(100, 1);
  EXPECT_TRUE(changes_.can_judge(kTable, view(100)));
  EXPECT_EQ(changes_.judge(kTable, 1, view(100)), Verdict::kStale);
  EXPECT_EQ(changes_.judge(kTable, 2, view(100)), Verdict::kCurrent);
  EXPECT_EQ(changes_.judge(kTable, 1, view(101)), Verdict::kCurrent);
  EXPECT_EQ(changes_.judge(kTable, 1, view(105, 100)), Verdict::kStale);
}

TEST_F(RecentChangesTest, BothKeysOfAKeyChangeCount) {
  changes_.watch(kTable);
  change(100, 1, 2);
  EXPECT_EQ(changes_.judge(kTable, 1, view(100)), Verdict::kStale);
  EXPECT_EQ(changes_.judge(kTable, 2, view(100)), Verdict::kStale);
}

TEST_F(RecentChangesTest, ACommitThatOthersDoNotSeeYetMakesTheFirstViewsUncertain) {
  // Streamed before anyone watched: nobody knows what it changed.
  changes_.add_transaction(100);
  changes_.watch(kTable);
  EXPECT_FALSE(changes_.can_judge(kTable, view(105, 100)));
  EXPECT_TRUE(changes_.can_judge(kTable, view(105)));
  // Views come in any order: an older one may be judged after a newer one.
  EXPECT_FALSE(changes_.can_judge(kTable, view(105, 100)));
  changes_.prune(kTable, view(105));
  EXPECT_TRUE(changes_.can_judge(kTable, view(106)));
}

TEST_F(RecentChangesTest, ATransactionSentAgainCountsAsUnknown) {
  changes_.watch(kTable);
  changes_.add_skipped_transaction(100, Lsn{1});
  EXPECT_FALSE(changes_.can_judge(kTable, view(105, 100)));
  EXPECT_TRUE(changes_.can_judge(kTable, view(105)));
}

TEST_F(RecentChangesTest, ATruncateMakesEveryRowStale) {
  changes_.watch(kTable);
  changes_.add_truncate(kTable, 100, Lsn{1});
  EXPECT_EQ(changes_.judge(kTable, 5, view(100)), Verdict::kStale);
  EXPECT_EQ(changes_.judge(kTable, 5, view(101)), Verdict::kCurrent);
}

TEST_F(RecentChangesTest, WhatEveryViewSeesIsForgotten) {
  changes_.watch(kTable);
  change(100, 1);
  change(200, 2);
  changes_.prune(kTable, view(150));
  EXPECT_EQ(changes_.size(), 1U);
  EXPECT_EQ(changes_.judge(kTable, 2, view(150)), Verdict::kStale);
  changes_.forget(kTable);
  EXPECT_EQ(changes_.size(), 0U);
  EXPECT_FALSE(changes_.can_judge(kTable, view(300)));
}

TEST_F(RecentChangesTest, WhatDoesNotFitMakesOlderViewsUncertain) {
  RecentChanges small{2};
  small.watch(kTable);
  for (std::uint32_t xid = 100; xid < 110; ++xid) {
    small.add_row({.table = kTable, .xid = xid, .key_hash = xid, .old_key_hash = xid});
  }
  EXPECT_EQ(small.size(), 2U);
  EXPECT_FALSE(small.can_judge(kTable, view(105)));
  EXPECT_TRUE(small.can_judge(kTable, view(110)));
}

TEST_F(RecentChangesTest, AStandbyIsJudgedByPosition) {
  changes_.watch(kTable);
  change(100, 1);  // commits at 10000
  EXPECT_EQ(changes_.judge(kTable, 1, {.standby = true, .low = Lsn{9'000}}), Verdict::kStale);
  EXPECT_EQ(changes_.judge(kTable, 1, {.standby = true, .low = Lsn{10'001}}), Verdict::kCurrent);
}

TEST_F(RecentChangesTest, AChangeThatLacksValuesDoesNotReplaceARow) {
  changes_.watch(kTable);
  RowChange change{.table = kTable, .xid = 100, .key_hash = 1, .old_key_hash = 1, .partial = true};
  changes_.add_row(change);
  EXPECT_EQ(changes_.judge(kTable, 1, view(100)), Verdict::kMissing);
  // A later one has everything; and what follows that lacks nothing that it did not bring.
  change.xid = 101;
  change.partial = false;
  changes_.add_row(change);
  EXPECT_EQ(changes_.judge(kTable, 1, view(100)), Verdict::kStale);
  change.xid = 102;
  change.partial = true;
  changes_.add_row(change);
  EXPECT_EQ(changes_.judge(kTable, 1, view(100)), Verdict::kStale);
}

TEST_F(RecentChangesTest, RowsThatMovedWithoutTheirValuesAreKnownOnce) {
  changes_.watch(kTable);
  changes_.add_row(
      {.table = kTable, .xid = 100, .key_hash = 1, .old_key_hash = 2, .partial = true});
  changes_.prune(kTable, view(200));
  EXPECT_EQ(changes_.take_moved(kTable).keys, (std::unordered_set<std::uint64_t>{1}));
  // Others have been read by now, wherever they go.
  changes_.add_row(
      {.table = kTable, .xid = 101, .key_hash = 5, .old_key_hash = 6, .partial = true});
  EXPECT_TRUE(changes_.take_moved(kTable).keys.empty());
}

TEST_F(RecentChangesTest, NothingMakesARowOfAMutedTableStale) {
  changes_.watch(kTable);
  changes_.mute(kTable);
  change(100, 1);
  EXPECT_EQ(changes_.judge(kTable, 1, view(100)), Verdict::kCurrent);
}

TEST_F(RecentChangesTest, WithoutAKeyARowThatCameWithTheStreamIsNotReadAgain) {
  changes_.watch(kTable);
  changes_.add_row({.table = kTable,
                    .xid = 100,
                    .key_hash = 1,
                    .old_key_hash = 1,
                    .inserts = true,
                    .whole_row = true});
  EXPECT_EQ(changes_.judge_whole_row(kTable, 1, 100, view(105)), Verdict::kStale);
  // Written by a subtransaction.
  EXPECT_EQ(changes_.judge_whole_row(kTable, 1, 103, view(105)), Verdict::kStale);
  // An equal row that was there before.
  EXPECT_EQ(changes_.judge_whole_row(kTable, 1, 90, view(105)), Verdict::kCurrent);
}

TEST_F(RecentChangesTest, WithoutAKeyADeletedRowHasTheChunkReadAgain) {
  changes_.watch(kTable);
  changes_.add_row({.table = kTable,
                    .xid = 100,
                    .key_hash = 1,
                    .old_key_hash = 1,
                    .deletes = true,
                    .whole_row = true});
  EXPECT_EQ(changes_.judge_whole_row(kTable, 1, 90, view(100)), Verdict::kUncertain);
  EXPECT_EQ(changes_.judge_whole_row(kTable, 1, 90, view(101)), Verdict::kCurrent);
}

}  // namespace
}  // namespace cdc::postgres
