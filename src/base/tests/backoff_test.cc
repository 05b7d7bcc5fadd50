// Proves that waits are random below a bound that doubles, stops at its limit and starts again
// after a success.
#include "base/backoff.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace cdc {
namespace {

using std::chrono::milliseconds;

// The longest wait among many back-offs that have all failed `failures` times before.
milliseconds longest_after(int failures) {
  milliseconds longest{0};
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Backoff backoff({.first = milliseconds{100}, .longest = milliseconds{1'000}}, seed);
    for (int i = 0; i < failures; ++i) {
      EXPECT_GE(backoff.next(), milliseconds{1});
    }
    longest = std::max(longest, backoff.next());
  }
  return longest;
}

TEST(Backoff, DoublesItsBoundUpToTheLimit) {
  for (const auto& [failures, bound] :
       {std::pair{0, 100}, {1, 200}, {2, 400}, {3, 800}, {9, 1'000}}) {
    EXPECT_LE(longest_after(failures), milliseconds{bound});
    EXPECT_GT(longest_after(failures), milliseconds{bound * 9 / 10});
  }
}

TEST(Backoff, BeginsAnewAfterASuccess) {
  Backoff backoff({}, 1);
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(backoff.next(), milliseconds{30'000});
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds{100});
}

}  // namespace
}  // namespace cdc
