// Proves the RFC 3339 text of instants, before and after the epoch and past year 9999.
#include "base/clock.h"

#include <gtest/gtest.h>

namespace cdc {
namespace {

TEST(Rfc3339, PrintsMicroseconds) {
  EXPECT_EQ(format_rfc3339(UnixMicros{0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_rfc3339(UnixMicros{1'787'140'800'123'456}), "2026-08-19T12:00:00.123456Z");
}

TEST(Rfc3339, PrintsInstantsBeforeTheEpoch) {
  EXPECT_EQ(format_rfc3339(UnixMicros{-1}), "1969-12-31T23:59:59.999999Z");
}

TEST(Rfc3339, PrintsYearsPast9999) {
  EXPECT_EQ(format_rfc3339(UnixMicros{253'402'300'800'000'000}), "10000-01-01T00:00:00.000000Z");
}

}  // namespace
}  // namespace cdc
