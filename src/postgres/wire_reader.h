#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace cdc::postgres {

// Reads big-endian integers and strings from a message without ever leaving it. A read past the end
// gives zero or an empty view and makes ok() false for good, so that callers check once at the end.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] std::uint8_t u8() noexcept { return number<std::uint8_t>(); }

  [[nodiscard]] std::uint16_t u16() noexcept { return number<std::uint16_t>(); }

  [[nodiscard]] std::uint32_t u32() noexcept { return number<std::uint32_t>(); }

  [[nodiscard]] std::uint64_t u64() noexcept { return number<std::uint64_t>(); }

  [[nodiscard]] std::int64_t i64() noexcept { return static_cast<std::int64_t>(u64()); }

  [[nodiscard]] std::string_view bytes(std::size_t count) noexcept {
    if (left() < count) {
      fail();
      return {};
    }
    const std::string_view view{at_, count};
    at_ += count;
    return view;
  }

  // A string that ends in a zero byte, without it.
  [[nodiscard]] std::string_view c_string() noexcept {
    const void* zero = left() > 0 ? std::memchr(at_, 0, left()) : nullptr;
    if (zero == nullptr) {
      fail();
      return {};
    }
    const std::string_view view{at_,
                                static_cast<std::size_t>(static_cast<const char*>(zero) - at_)};
    at_ += view.size() + 1;
    return view;
  }

  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  [[nodiscard]] bool ok() const noexcept { return ok_; }

  // Everything was read and nothing more.
  [[nodiscard]] bool finished() const noexcept { return ok_ && at_ == end_; }

  void fail() noexcept {
    ok_ = false;
    at_ = end_;
  }

 private:
  template <class Number>
  [[nodiscard]] Number number() noexcept {
    if (left() < sizeof(Number)) {
      fail();
      return 0;
    }
    Number value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    if constexpr (std::endian::native == std::endian::little && sizeof value > 1) {
      value = std::byteswap(value);
    }
    return value;
  }

  const char* at_;
  const char* end_;
  bool ok_ = true;
};

}  // namespace cdc::postgres
