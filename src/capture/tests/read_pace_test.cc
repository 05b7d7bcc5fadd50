// Proves when the reader looks away and for how long, with time and bytes given.
#include "capture/read_pace.h"

#include <gtest/gtest.h>

namespace cdc::capture {
namespace {

using Micros = ReadPace::Micros;

class ReadPaceTest : public ::testing::Test {
 protected:
  Micros after(Micros elapsed, std::uint64_t bytes) {
    now_ += elapsed;
    return pace_.pause_after(bytes, now_);
  }

  void enter() {
    for (int i = 0; i < 70; ++i) {
      static_cast<void>(after(Micros{20}, 1'000));
    }
    ASSERT_TRUE(pace_.backlog());
  }

  MonotonicTime now_{};
  ReadPace pace_{true, now_};
};

TEST_F(ReadPaceTest, ALiveStreamIsReadAtOnce) {
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(after(Micros{1'000}, 400), Micros{0});
  }
  EXPECT_FALSE(pace_.backlog());
}

TEST_F(ReadPaceTest, OneLargeMessageAfterAWaitIsNoBacklogInItself) {
  EXPECT_EQ(after(Micros{50'000}, 20'000), Micros{0});
  EXPECT_EQ(after(Micros{50'000}, 20'000), Micros{0});
}

TEST_F(ReadPaceTest, ABacklogIsEnteredByVolume) {
  enter();
}

TEST_F(ReadPaceTest, ThePauseGrowsUntilAReadingBringsAGulp) {
  enter();
  Micros pause = ReadPace::kPauseMin;
  for (int i = 0; i < 10; ++i) {
    pause = after(pause, static_cast<std::uint64_t>(36 * pause.count()));  // 36 MB/s
  }
  EXPECT_EQ(pause, ReadPace::kPauseMax);
  for (int i = 0; i < 10; ++i) {
    pause = after(pause, static_cast<std::uint64_t>(300 * pause.count()));  // 300 MB/s
  }
  EXPECT_NEAR(static_cast<double>(pause.count()) * 300, ReadPace::kGulpBytes, 1'000);
}

TEST_F(ReadPaceTest, ALeanReadingEndsIt) {
  enter();
  static_cast<void>(after(Micros{1'000}, 36'000));
  EXPECT_EQ(after(Micros{2'000}, 3'000), Micros{0});
  EXPECT_FALSE(pace_.backlog());
}

TEST_F(ReadPaceTest, ADistantServerIsNeverPaused) {
  pace_ = ReadPace{false, now_};
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(after(Micros{20}, 10'000), Micros{0});
  }
}

}  // namespace
}  // namespace cdc::capture
