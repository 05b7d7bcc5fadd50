// Proves that LSNs print and parse as PostgreSQL's do, for the corners of both halves.
#include "base/ids.h"

#include <gtest/gtest.h>

namespace cdc {
namespace {

TEST(Lsn, PrintsAsPostgres) {
  EXPECT_EQ(to_string(Lsn{0}), "0/0");
  EXPECT_EQ(to_string(Lsn{0x155CD28}), "0/155CD28");
  EXPECT_EQ(to_string(Lsn{0x1600000000}), "16/0");
  EXPECT_EQ(to_string(Lsn{~0ULL}), "FFFFFFFF/FFFFFFFF");
}

TEST(Lsn, ParsesWhatItPrints) {
  for (const std::uint64_t value : {0ULL, 1ULL, 0x155CD28ULL, 0x16000000ABULL, ~0ULL}) {
    EXPECT_EQ(parse_lsn(to_string(Lsn{value})), Lsn{value});
  }
}

TEST(Lsn, RefusesMalformedText) {
  for (const char* text :
       {"", "/", "1/", "/1", "1", "g/0", "0/123456789", "0x1/0", "1/2/3", "-1/0", " 1/0"}) {
    EXPECT_EQ(parse_lsn(text), std::nullopt) << text;
  }
}

TEST(Position, OrdersByCommitThenIndex) {
  EXPECT_LT((Position{Lsn{1}, 9}), (Position{Lsn{2}, 0}));
  EXPECT_LT((Position{Lsn{2}, 0}), (Position{Lsn{2}, 1}));
}

}  // namespace
}  // namespace cdc
