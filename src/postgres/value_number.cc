#include <bit>
#include <cstdint>
#include <cstring>

#include "postgres/internal/value_parts.h"

namespace cdc::postgres::internal {

namespace {

// True when each byte of the word is a digit: 0x30 to 0x3F, and still below 0x40 with 6 added. A
// byte that makes the addition carry into its neighbour has failed the first test.
template <class Word>
bool are_digits(Word word) noexcept {
  constexpr Word kOnes = static_cast<Word>(~Word{0}) / 0xFF;
  constexpr Word kHigh = 0xF0 * kOnes;
  return ((word & kHigh) | (((word + 0x06 * kOnes) & kHigh) >> 4U)) == 0x33 * kOnes;
}

template <class Word>
Word load(const char* in) noexcept {
  Word word = 0;
  std::memcpy(&word, in, sizeof word);
  return word;
}

// How many of the eight bytes at `in` are digits before the first that is not.
std::size_t leading_digits(const char* in) noexcept {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  const std::uint64_t offset = load<std::uint64_t>(in) ^ ('0' * kOnes);
  // The top bit of each byte that is not 0 to 9 away from '0'.
  const std::uint64_t others =
      (((offset & (0x7F * kOnes)) + 0x76 * kOnes) | offset) & (0x80 * kOnes);
  const int bits = std::endian::native == std::endian::little ? std::countr_zero(others)
                                                              : std::countl_zero(others);
  return static_cast<std::size_t>(bits) / 8;
}

// Without a branch per digit: their number is what nothing can predict.
const char* skip_digits(const char* at, const char* end) noexcept {
  while (end - at >= 8) {
    const std::size_t digits = leading_digits(at);
    at += digits;
    if (digits < 8) {
      return at;
    }
  }
  while (at < end && is_digit(*at)) {
    ++at;
  }
  return at;
}

// The last word overlaps the one before it instead of leaving a tail.
template <class Word>
bool all_digits_by(const char* begin, const char* end) noexcept {
  const char* at = begin;
  for (; static_cast<std::size_t>(end - at) > sizeof(Word); at += sizeof(Word)) {
    if (!are_digits(load<Word>(at))) {
      return false;
    }
  }
  return are_digits(load<Word>(end - sizeof(Word)));
}

bool all_digits(const char* begin, const char* end) noexcept {
  const auto size = end - begin;
  if (size >= 8) {
    return all_digits_by<std::uint64_t>(begin, end);
  }
  if (size >= 4) {
    return all_digits_by<std::uint32_t>(begin, end);
  }
  return skip_digits(begin, end) == end;
}

}  // namespace

const char* number_end(const char* begin, const char* end) noexcept {
  const char* at = begin;
  if (at < end && *at == '-') {
    ++at;
  }
  if (at == end || !is_digit(*at)) {
    return nullptr;
  }
  at = *at == '0' ? at + 1 : skip_digits(at, end);
  if (at < end && *at == '.') {
    const char* const fraction = at + 1;
    at = skip_digits(fraction, end);
    if (at == fraction) {
      return nullptr;
    }
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at < end && (*at == '+' || *at == '-')) {
      ++at;
    }
    const char* const exponent = at;
    at = skip_digits(exponent, end);
    if (at == exponent) {
      return nullptr;
    }
  }
  return at;
}

bool is_number(std::string_view text) noexcept {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* digits = begin;
  if (digits < end && *digits == '-') {
    ++digits;
  }
  if (digits == end) {
    return false;
  }
  if (all_digits(digits, end)) {
    return *digits != '0' || end - digits == 1;
  }
  return number_end(begin, end) == end;
}

}  // namespace cdc::postgres::internal
