// Proves that the durable bound of a range never passes anything that is not durable, in whatever
// order pieces are read, refused and delivered, and that nothing is left out.
#include "snapshot/range_progress.h"

#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace cdc::snapshot {
namespace {

TEST(RangeProgress, GoesThroughOneByOne) {
  RangeProgress progress({.lower = "", .upper = ""});
  ASSERT_TRUE(progress.next_task().has_value());
  progress.taken(1);
  EXPECT_FALSE(progress.next_task().has_value());
  progress.read(1, "a", false);
  EXPECT_EQ(progress.next_task()->lower, "a");
  EXPECT_TRUE(progress.delivered(1, {.read = 1}));
  EXPECT_EQ(progress.range().lower, "a");
  EXPECT_FALSE(progress.complete());
  progress.taken(2);
  progress.read(2, "b", true);
  EXPECT_TRUE(progress.delivered(2, {.read = 1}));
  EXPECT_TRUE(progress.complete());
  EXPECT_TRUE(progress.range().complete);
}

TEST(RangeProgress, ABoundWaitsForWhatIsBeforeIt) {
  RangeProgress progress({});
  progress.taken(1);
  progress.read(1, "a", false);
  progress.taken(2);
  progress.read(2, "b", false);
  EXPECT_FALSE(progress.delivered(2, {.read = 1}));
  EXPECT_EQ(progress.range().lower, "");
  const auto passed = progress.delivered(1, {.read = 1});
  ASSERT_TRUE(passed.has_value());
  EXPECT_EQ(passed->read, 2U) << "counts go with the bound";
  EXPECT_EQ(progress.range().lower, "b");
}

TEST(RangeProgress, ARefusedPieceIsReadAgainWithItsOwnBounds) {
  RangeProgress progress({});
  progress.taken(1);
  progress.read(1, "m", false);
  progress.taken(2);
  progress.read(2, "z", true);
  progress.again(1);
  const auto task = progress.next_task();
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->lower, "");
  EXPECT_EQ(task->upper, "m");
}

TEST(RangeProgress, WhatIsCompleteStaysSo) {
  RangeProgress progress({.lower = "z", .complete = true});
  EXPECT_TRUE(progress.complete());
  EXPECT_FALSE(progress.next_task().has_value());
  EXPECT_FALSE(progress.delivered(7, {}));
}

// Rows are the numbers 0 to 99; a bound "n" means that n rows lie below it.
TEST(RangeProgress, EveryRowIsDeliveredOnceInAnyOrder) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto text = [](int bound) {
      return std::to_string(1000 + bound);
    };
    const auto number = [](const std::string& bound, int open) {
      return bound.empty() ? open : std::stoi(bound) - 1000;
    };
    RangeProgress progress({});
    std::map<std::uint64_t, std::pair<int, int>> out;
    std::multiset<int> delivered;
    std::uint64_t ticket = 0;
    while (!progress.complete()) {
      const auto task = progress.next_task();
      if (task && (out.empty() || random() % 2 == 0)) {
        const int lower = number(task->lower, 0);
        const int upper = number(task->upper, 100);
        const int next = std::min<int>(upper, lower + 1 + static_cast<int>(random() % 20));
        progress.taken(++ticket);
        progress.read(ticket, text(next), next == upper);
        out[ticket] = {lower, next};
        continue;
      }
      auto piece = out.begin();
      std::advance(piece, static_cast<long>(random() % out.size()));
      if (random() % 4 == 0) {
        progress.again(piece->first);
      } else {
        for (int row = piece->second.first; row < piece->second.second; ++row) {
          delivered.insert(row);
        }
        static_cast<void>(progress.delivered(piece->first, {}));
        for (int row = 0; row < number(progress.range().lower, 100); ++row) {
          ASSERT_TRUE(delivered.contains(row) || progress.range().lower.empty());
        }
      }
      out.erase(piece);
    }
    ASSERT_EQ(delivered.size(), 100U) << seed;
    ASSERT_EQ(std::set<int>(delivered.begin(), delivered.end()).size(), 100U) << seed;
  }
}

}  // namespace
}  // namespace cdc::snapshot
