#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

namespace cdc::bench {

// Big-endian integers, as PostgreSQL's protocol has them.
[[nodiscard]] inline std::uint32_t load_u32(const std::uint8_t* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::byteswap(value);
}

[[nodiscard]] inline std::uint64_t load_u64(const std::uint8_t* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::byteswap(value);
}

template <class Byte>
void store_u32(Byte* at, std::uint32_t value) {
  value = std::byteswap(value);
  std::memcpy(at, &value, sizeof value);
}

template <class Byte>
void store_u64(Byte* at, std::uint64_t value) {
  value = std::byteswap(value);
  std::memcpy(at, &value, sizeof value);
}

inline void append_u32(std::string& to, std::uint32_t value) {
  char bytes[sizeof value];
  store_u32(bytes, value);
  to.append(bytes, sizeof bytes);
}

}  // namespace cdc::bench
