#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "json/text_buffer.h"
#include "postgres/value_kind.h"

// What the files that render values share with each other and with nobody else.
namespace cdc::postgres::internal {

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// Behind the longest JSON number (RFC 8259, section 6) at the start of [begin, end); null when
// there is none. "1.x" has none, because the fraction it promises is missing.
[[nodiscard]] const char* number_end(const char* begin, const char* end) noexcept;

// True when the whole text is one JSON number.
[[nodiscard]] bool is_number(std::string_view text) noexcept;

// Copies `size` bytes, one to two words of them, as two words that may overlap.
template <class Word>
void copy_overlapping(const char* in, std::size_t size, char* out) noexcept {
  Word head{};
  Word tail{};
  std::memcpy(&head, in, sizeof head);
  std::memcpy(&tail, in + size - sizeof tail, sizeof tail);
  std::memcpy(out, &head, sizeof head);
  std::memcpy(out + size - sizeof tail, &tail, sizeof tail);
}

// Copies `size` bytes to `out` and returns the end. Most values are short, and for them a call of
// memcpy costs more than the copy.
inline char* copy_bytes(const char* in, std::size_t size, char* out) noexcept {
  struct Block {
    std::uint64_t words[2];
  };

  if (size > 2 * sizeof(Block)) {
    std::memcpy(out, in, size);
  } else if (size >= sizeof(Block)) {
    copy_overlapping<Block>(in, size, out);
  } else if (size >= sizeof(std::uint64_t)) {
    copy_overlapping<std::uint64_t>(in, size, out);
  } else if (size >= sizeof(std::uint32_t)) {
    copy_overlapping<std::uint32_t>(in, size, out);
  } else if (size > 0) {
    out[0] = in[0];
    out[size / 2] = in[size / 2];
    out[size - 1] = in[size - 1];
  }
  return out + size;
}

// Appends json or jsonb as it is, with line breaks between tokens turned to spaces and broken UTF-8
// in strings replaced. False, and nothing appended, when the text is not one JSON value.
[[nodiscard]] bool append_json(std::string_view text, json::TextBuffer& out);

// The same in two steps, for a caller that makes the text itself: it writes `size` bytes at what
// out.reserve(json_room(size)) returned, and commit_json takes them where they stand.
[[nodiscard]] constexpr std::size_t json_room(std::size_t size) noexcept {
  return size + size / 8 + 32;
}

[[nodiscard]] bool commit_json(std::size_t size, json::TextBuffer& out);

// Appends the JSON of an array. False, and nothing appended, when the text is not an array's.
[[nodiscard]] bool append_array(ValueType type, std::string_view text, json::TextBuffer& out);

}  // namespace cdc::postgres::internal
