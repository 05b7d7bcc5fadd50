#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cdc {

// XXH3, 64 bits. Stable for ever: lanes and cursors depend on it.
[[nodiscard]] std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0) noexcept;

// XXH3, 128 bits, as 32 lower-case hexadecimal digits.
[[nodiscard]] std::string hash128_hex(std::string_view bytes);

// CRC-32C (Castagnoli) of `bytes`, continuing from `seed` (0 to begin). Uses SSE4.2 where present.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0) noexcept;

}  // namespace cdc
