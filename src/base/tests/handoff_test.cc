// Proves that a Handoff keeps order, never blocks the producer, recycles buffers and closes only
// after the last batch. The last test is the one ThreadSanitizer watches.
#include "base/sync/handoff.h"

#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include "base/sync/thread.h"

namespace cdc {
namespace {

using Batch = std::vector<int>;
using Take = Handoff<Batch>::Take;

void wait_for(EventFd& event) {
  pollfd poller{event.fd(), POLLIN, 0};
  ::poll(&poller, 1, -1);
  event.drain();
}

TEST(Handoff, RefusesABatchWhenAllSlotsAreFull) {
  Handoff<Batch> handoff;
  for (std::size_t i = 0; i < Handoff<Batch>::kSlots; ++i) {
    Batch batch{static_cast<int>(i)};
    EXPECT_TRUE(handoff.try_put(batch));
  }
  Batch last{99};
  EXPECT_FALSE(handoff.try_put(last));
  EXPECT_EQ(last, Batch{99});
  Batch taken;
  EXPECT_EQ(handoff.try_take(taken), Take::kTaken);
  EXPECT_EQ(taken, Batch{0});
  EXPECT_TRUE(handoff.try_put(last));
  for (const int wanted : {1, 2, 3, 99}) {
    EXPECT_EQ(handoff.try_take(taken), Take::kTaken);
    EXPECT_EQ(taken, Batch{wanted});
  }
  EXPECT_EQ(handoff.try_take(taken), Take::kEmpty);
}

TEST(Handoff, ReportsCloseAfterTheLastBatch) {
  Handoff<Batch> handoff;
  Batch batch{1};
  ASSERT_TRUE(handoff.try_put(batch));
  handoff.close();
  Batch taken;
  EXPECT_EQ(handoff.try_take(taken), Take::kTaken);
  EXPECT_EQ(handoff.try_take(taken), Take::kClosed);
}

TEST(Handoff, RecyclesBuffers) {
  Handoff<Batch> handoff;
  Batch full{1, 2, 3};
  ASSERT_TRUE(handoff.try_put(full));
  Batch drained;
  drained.reserve(1000);
  ASSERT_EQ(handoff.try_take(drained), Take::kTaken);
  Batch next{4};
  ASSERT_TRUE(handoff.try_put(next));
  EXPECT_GE(next.capacity(), 1000U);
}

TEST(Handoff, KeepsOrderBetweenThreads) {
  Handoff<Batch> handoff;
  constexpr int kCount = 20'000;
  Thread producer("producer", [&] {
    Batch batch;
    for (int i = 0; i < kCount; ++i) {
      batch.assign(1, i);
      while (!handoff.try_put(batch)) {
        wait_for(handoff.free_event());
      }
    }
    handoff.close();
  });
  Batch batch;
  int expected = 0;
  for (Take take = Take::kEmpty; take != Take::kClosed;) {
    take = handoff.try_take(batch);
    if (take == Take::kTaken) {
      ASSERT_EQ(batch.front(), expected++);
    } else if (take == Take::kEmpty) {
      wait_for(handoff.ready_event());
    }
  }
  EXPECT_EQ(expected, kCount);
}

}  // namespace
}  // namespace cdc
