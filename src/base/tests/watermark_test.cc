// Proves that no published advance is missed by a reader that follows the documented loop.
#include "base/sync/watermark.h"

#include <poll.h>

#include <gtest/gtest.h>

#include "base/sync/thread.h"

namespace cdc {
namespace {

TEST(Watermark, WakesEveryReaderOnce) {
  Watermark watermark{5};
  Watermark::Reader a{watermark};
  Watermark::Reader b{watermark};
  watermark.publish(6);
  for (Watermark::Reader* reader : {&a, &b}) {
    pollfd poller{reader->event().fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&poller, 1, 0), 1);
    EXPECT_EQ(reader->load(), 6U);
  }
}

TEST(Watermark, MissesNoAdvance) {
  constexpr std::uint64_t kLast = 50'000;
  Watermark watermark;
  Watermark::Reader reader{watermark};
  Thread publisher("publisher", [&] {
    for (std::uint64_t i = 1; i <= kLast; ++i) {
      watermark.publish(i);
    }
  });
  std::uint64_t seen = 0;
  while (seen < kLast) {
    reader.event().drain();
    if (reader.load() == seen) {
      pollfd poller{reader.event().fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&poller, 1, 10'000), 1) << "a signal was lost at " << seen;
    }
    ASSERT_GE(reader.load(), seen);
    seen = reader.load();
  }
}

}  // namespace
}  // namespace cdc
