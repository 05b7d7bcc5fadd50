#include "base/hash.h"

#include <array>
#include <cstddef>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace cdc {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string hash128_hex(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[15 - i] = "0123456789abcdef"[(hash.high64 >> (4 * i)) & 15U];
    text[31 - i] = "0123456789abcdef"[(hash.low64 >> (4 * i)) & 15U];
  }
  return text;
}

namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78U;  // Castagnoli, reflected

// Plain table, for processors without the instruction.
constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1U) ^ ((value & 1U) != 0 ? kPolynomial : 0U);
    }
    table[i] = value;
  }
  return table;
}();

std::uint32_t crc_by_table(const char* data, std::size_t size, std::uint32_t crc) noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    crc = (crc >> 8U) ^ kTable[(crc ^ static_cast<unsigned char>(data[i])) & 255U];
  }
  return crc;
}

#if defined(__x86_64__)

// The instruction has a latency of three cycles and starts every cycle, so three blocks are
// summed side by side and joined by shifting each sum over the length of the blocks after it. Long
// blocks for long texts, short ones for what is left: most events have some hundred bytes.
constexpr std::size_t kLongBlock = 1024;
constexpr std::size_t kShortBlock = 64;

using ShiftTable = std::array<std::array<std::uint32_t, 256>, 4>;

// table[k][b]: the CRC state `b << 8k` after `block` zero bytes.
constexpr ShiftTable make_shift_table(std::size_t block) noexcept {
  // Linear, so the bits' shifts make up the bytes'.
  std::array<std::uint32_t, 32> bits{};
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    std::uint32_t crc = 1U << bit;
    for (std::size_t i = 0; i < block; ++i) {
      crc = (crc >> 8U) ^ kTable[crc & 255U];
    }
    bits[bit] = crc;
  }
  ShiftTable table{};
  for (std::uint32_t k = 0; k < 4; ++k) {
    for (std::uint32_t b = 0; b < 256; ++b) {
      for (std::uint32_t bit = 0; bit < 8; ++bit) {
        table[k][b] ^= (b >> bit & 1U) != 0 ? bits[8 * k + bit] : 0U;
      }
    }
  }
  return table;
}

template <std::size_t block>
constexpr ShiftTable kShift = make_shift_table(block);

template <std::size_t block>
std::uint32_t shift_block(std::uint32_t crc) noexcept {
  const ShiftTable& table = kShift<block>;
  return table[0][crc & 255U] ^ table[1][(crc >> 8U) & 255U] ^ table[2][(crc >> 16U) & 255U] ^
         table[3][crc >> 24U];
}

std::uint64_t load64(const char* data) noexcept {
  std::uint64_t value = 0;
  std::memcpy(&value, data, sizeof value);
  return value;
}

// As many threes of blocks as fit; moves `data` and `size` behind them.
template <std::size_t block>
__attribute__((target("sse4.2"))) std::uint32_t crc_by_threes(const char*& data,
                                                              std::size_t& size,
                                                              std::uint32_t crc) noexcept {
  for (; size >= 3 * block; data += 3 * block, size -= 3 * block) {
    std::uint64_t a = crc;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = 0; i < block; i += 8) {
      a = _mm_crc32_u64(a, load64(data + i));
      b = _mm_crc32_u64(b, load64(data + block + i));
      c = _mm_crc32_u64(c, load64(data + 2 * block + i));
    }
    crc = shift_block<block>(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b);
    crc = shift_block<block>(crc) ^ static_cast<std::uint32_t>(c);
  }
  return crc;
}

__attribute__((target("sse4.2"))) std::uint32_t crc_by_instruction(const char* data,
                                                                   std::size_t size,
                                                                   std::uint32_t crc) noexcept {
  crc = crc_by_threes<kLongBlock>(data, size, crc);
  crc = crc_by_threes<kShortBlock>(data, size, crc);
  std::uint64_t sum = crc;
  for (; size >= 8; size -= 8, data += 8) {
    sum = _mm_crc32_u64(sum, load64(data));
  }
  crc = static_cast<std::uint32_t>(sum);
  for (; size > 0; --size, ++data) {
    crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*data));
  }
  return crc;
}

#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) noexcept {
#if defined(__x86_64__)
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
  if (kHasInstruction) {
    return ~crc_by_instruction(bytes.data(), bytes.size(), ~seed);
  }
#endif
  return ~crc_by_table(bytes.data(), bytes.size(), ~seed);
}

}  // namespace cdc
