// Proves what is told of a source: its lag, its connections, and when it counts as stalled. Time
// and figures are given, nothing runs.
#include "capture/source_status.h"

#include <gtest/gtest.h>

namespace cdc::capture {
namespace {

using std::chrono::seconds;

StreamFigures at(std::uint64_t position, std::uint64_t server_end, std::uint64_t bytes = 0) {
  return {.server_end = Lsn{server_end},
          .position = Lsn{position},
          .received_bytes = bytes,
          .decoder = {}};
}

SlotFigures slot_at(std::uint64_t server_end) {
  return {.wal_status = "reserved",
          .retained_bytes = 0,
          .safe_bytes = std::nullopt,
          .server_end = Lsn{server_end}};
}

TEST(SourceStatus, LagIsBehindTheHighestEndThatIsKnown) {
  SourceStatus status;
  status.slot_seen(slot_at(500));
  EXPECT_EQ(status.view().lag_bytes(), 0U);  // nothing is known of us yet
  status.round(at(100, 130));
  EXPECT_EQ(status.view().lag_bytes(), 400U);
  status.round(at(480, 600));
  EXPECT_EQ(status.view().lag_bytes(), 120U);
  status.round(at(700, 600));  // ahead of what the monitor saw
  EXPECT_EQ(status.view().lag_bytes(), 0U);
}

TEST(SourceStatus, CountsConnectionsAndAllTheirBytes) {
  SourceStatus status;
  EXPECT_FALSE(status.view().is_streaming);
  status.streaming_ends("refused");
  EXPECT_EQ(status.view().error, "refused");
  EXPECT_FALSE(status.view().has_streamed);
  status.streaming_begins();
  status.round(at(1, 1, 70));
  status.streaming_ends("reset by peer");
  EXPECT_FALSE(status.view().is_streaming);
  EXPECT_TRUE(status.view().has_streamed);
  status.round(at(1, 1, 0));  // before the first frame
  EXPECT_EQ(status.view().stream.received_bytes, 70U);
  status.streaming_begins();
  status.round(at(1, 1, 5));
  const SourceStatus::View view = status.view();
  EXPECT_EQ(view.stream.received_bytes, 75U);
  EXPECT_EQ(view.connections, 2U);
  EXPECT_EQ(view.error, "");
}

TEST(SourceStatus, ForgetsASlotThatCannotBeAskedFor) {
  SourceStatus status;
  status.slot_seen(slot_at(5));
  status.slot_unknown("refused");
  EXPECT_FALSE(status.view().slot);
  EXPECT_EQ(status.view().slot_error, "refused");
  status.slot_seen(slot_at(6));
  EXPECT_EQ(status.view().slot_error, "");
}

class Stall : public ::testing::Test {
 protected:
  std::optional<seconds> after(int seconds_later, const StreamFigures& figures) {
    SourceStatus status;
    status.round(figures);
    now_ += seconds(seconds_later);
    return watch_.look(status.view(), now_);
  }

  MonotonicTime now_;
  StallWatch watch_{seconds{60}, MonotonicTime{}};
};

TEST_F(Stall, IsTimeWithoutHeadwayWhileTheServerHasMore) {
  EXPECT_FALSE(after(0, at(100, 200)));
  EXPECT_FALSE(after(59, at(100, 300)));
  EXPECT_EQ(after(1, at(100, 300)), seconds{60});
  EXPECT_EQ(after(10, at(100, 400)), seconds{70});
  EXPECT_FALSE(after(1, at(101, 400)));  // something became durable
}

TEST_F(Stall, IsNoneWhileChangesArrive) {
  EXPECT_FALSE(after(0, at(100, 200, 10)));
  EXPECT_FALSE(after(50, at(100, 200, 20)));  // a large transaction
  EXPECT_FALSE(after(50, at(100, 200, 30)));
  EXPECT_TRUE(after(60, at(100, 200, 30)));
}

TEST_F(Stall, IsNoneWithoutAnythingToDo) {
  EXPECT_FALSE(after(0, at(100, 100)));
  EXPECT_FALSE(after(1'000, at(100, 100)));
  EXPECT_FALSE(after(1, at(100, 150)));  // the time before does not count
}

}  // namespace
}  // namespace cdc::capture
