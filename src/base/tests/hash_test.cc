// Proves CRC-32C against published vectors and that it splits anywhere; pins the XXH3 values that
// lanes and row keys depend on.
#include "base/hash.h"

#include <string>

#include <gtest/gtest.h>

namespace cdc {
namespace {

TEST(Crc32c, MatchesPublishedVectors) {
  // RFC 3720, appendix B.4, and the check value of the Castagnoli polynomial.
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, ContinuesFromAnySplit) {
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) {
    bytes += static_cast<char>(i * 31 + i / 7);
  }
  const std::uint32_t whole = crc32c(bytes);
  for (const std::size_t cut :
       {0UL, 1UL, 7UL, 1023UL, 1024UL, 3071UL, 3072UL, 3073UL, 6144UL, 9999UL, 10'000UL}) {
    EXPECT_EQ(crc32c(bytes.substr(cut), crc32c(bytes.substr(0, cut))), whole) << cut;
  }
}

// Bit by bit, as the polynomial says, against blocks and instructions at every length.
TEST(Crc32c, EqualsTheDefinitionAtEveryLength) {
  std::string bytes;
  std::uint32_t state = 0xFFFFFFFFU;
  for (int i = 0; i < 7'000; ++i) {
    ASSERT_EQ(crc32c(bytes), ~state) << i;
    bytes += static_cast<char>(i * 73 + i / 5);
    state ^= static_cast<unsigned char>(bytes.back());
    for (int bit = 0; bit < 8; ++bit) {
      state = (state >> 1U) ^ ((state & 1U) != 0 ? 0x82F63B78U : 0U);
    }
  }
}

TEST(Crc32c, SeesEveryFlippedBit) {
  std::string bytes(4096, 'k');
  const std::uint32_t whole = crc32c(bytes);
  for (std::size_t i = 0; i < bytes.size(); i += 13) {
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    EXPECT_NE(crc32c(bytes), whole) << i;
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
  }
}

TEST(Xxh3, IsPinned) {
  EXPECT_EQ(hash64("", 0), 0x2D06800538D394C2ULL);
  EXPECT_EQ(hash128_hex(""), "99aa06d3014798d86001c324468d497f");
}

}  // namespace
}  // namespace cdc
