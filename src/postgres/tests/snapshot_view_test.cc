// Proves which transactions the rows of a chunk contain, around the wrap of 32-bit ids too, and
// that bounds survive being stored.
#include "postgres/snapshot_view.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/snapshot_table.h"

namespace cdc::postgres {
namespace {

constexpr Lsn kAnywhere{1'000};

TEST(SnapshotView, ContainsWhatHadFinished) {
  const SnapshotView view{.xmin = 100, .xmax = 110, .in_progress = {100, 104, 109}};
  for (const std::uint32_t xid : {3U, 99U, 101U, 103U, 105U, 108U}) {
    EXPECT_TRUE(view.sees(xid, kAnywhere)) << xid;
  }
  for (const std::uint32_t xid : {100U, 104U, 109U, 110U, 111U, 5'000U}) {
    EXPECT_FALSE(view.sees(xid, kAnywhere)) << xid;
  }
}

TEST(SnapshotView, TakesTheLowHalfForTheNearestId) {
  constexpr std::uint64_t kEpoch = std::uint64_t{7} << 32U;
  const SnapshotView behind{
      .xmin = kEpoch - 5, .xmax = kEpoch + 10, .in_progress = {kEpoch - 5, kEpoch + 4}};
  EXPECT_TRUE(behind.sees(0xFFFF'FFFAU, kAnywhere));   // kEpoch - 6
  EXPECT_FALSE(behind.sees(0xFFFF'FFFBU, kAnywhere));  // kEpoch - 5
  EXPECT_TRUE(behind.sees(0xFFFF'FFFFU, kAnywhere));
  EXPECT_TRUE(behind.sees(3U, kAnywhere));
  EXPECT_FALSE(behind.sees(4U, kAnywhere));
  EXPECT_FALSE(behind.sees(10U, kAnywhere));
  EXPECT_FALSE(behind.sees(1'000'000U, kAnywhere));
  EXPECT_TRUE(behind.sees(0x9000'0000U, kAnywhere));  // of the epoch before
  const SnapshotView before{.xmin = kEpoch - 10, .xmax = kEpoch - 2, .in_progress = {}};
  EXPECT_TRUE(before.sees(0xFFFF'FFF0U, kAnywhere));
  EXPECT_FALSE(before.sees(0xFFFF'FFFEU, kAnywhere));
  EXPECT_FALSE(before.sees(3U, kAnywhere));  // of the next epoch
}

TEST(SnapshotView, OfAStandbyGoesByThePosition) {
  const SnapshotView view{.xmin = 100,
                          .xmax = 200,
                          .in_progress = {},
                          .standby = true,
                          .low = Lsn{500},
                          .high = Lsn{600}};
  EXPECT_TRUE(view.sees(900, Lsn{499}));
  EXPECT_FALSE(view.sees(50, Lsn{500}));
}

TEST(SnapshotBound, ComesBackAsItWas) {
  using Values = std::vector<std::string>;
  for (const Values& values : {Values{"abc", "hello"},
                               Values{""},
                               Values{"", "", ""},
                               Values{"1:2", std::string("\0\n'\"", 4), "é"},
                               Values{std::string(100'000, 'x')}}) {
    const auto back = decode_bound(encode_bound(values));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(*back, values);
  }
  EXPECT_EQ(encode_bound({"abc", "hello"}), "3:abc5:hello");
  EXPECT_FALSE(encode_bound({""}).empty());
}

TEST(SnapshotBound, RefusesAnythingElse) {
  for (const std::string_view text : {"3",
                                      ":",
                                      "3:ab",
                                      "x",
                                      "1:a2",
                                      "-1:a",
                                      " 1:a",
                                      "01:a",
                                      "1;a",
                                      "99999999999999999999999:a",
                                      "18446744073709551615:a"}) {
    const auto decoded = decode_bound(text);
    ASSERT_FALSE(decoded.has_value()) << text;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace cdc::postgres
