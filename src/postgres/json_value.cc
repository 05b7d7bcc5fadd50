// Embeds json and jsonb. The server has parsed the text already, but one broken value must not
// break the line of its event, so it is checked in full, once, while its line breaks are turned
// to spaces. The text is copied into the output first and checked there: sixteen zero bytes
// behind it end every scan, so that no step of the scan compares its place with the end.
// A check of balance alone would have to find the strings too, and they are most of the work.
// bench/value_bench.cc says what all of it costs: under a nanosecond per byte.
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "json/utf8.h"
#include "postgres/internal/value_parts.h"

namespace cdc::postgres::internal {

namespace {

constexpr std::size_t kSentinelBytes = 16;

// Line breaks are allowed between tokens only, so each that is met here is turned to a space.
char* skip_space(char* at) noexcept {
  for (;; ++at) {
    if (static_cast<unsigned char>(*at) > ' ') [[likely]] {
      return at;
    }
    if (*at == '\n' || *at == '\r') {
      *at = ' ';
    } else if (*at != ' ' && *at != '\t') {
      return at;
    }
  }
}

// Each of the functions below takes the start of a token and returns its end, or null when it is
// not one. Places are passed in registers: as members they would cost a store and a load per
// token.

// To the next quote, backslash or control byte of a string.
char* skip_plain(char* at, bool& has_high_bytes) noexcept {
#if defined(__SSE2__)
  const __m128i control_max = _mm_set1_epi8(31);
  int high = 0;
  for (;; at += 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    // The block may reach beyond the string. Then the flag says more than it should, which costs a
    // check of UTF-8 and nothing else.
    high |= _mm_movemask_epi8(block);
    const __m128i special =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                  _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'))),
                     _mm_cmpeq_epi8(_mm_max_epu8(block, control_max), control_max));
    const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
    if (mask != 0) {
      has_high_bytes |= high != 0;
      return at + __builtin_ctz(mask);
    }
  }
#else
  for (;; ++at) {
    const auto byte = static_cast<std::uint8_t>(*at);
    if (byte < 0x20 || byte == '"' || byte == '\\') {
      return at;
    }
    has_high_bytes |= byte >= 0x80;
  }
#endif
}

// What stands behind a backslash.
char* scan_escape(char* at) noexcept {
  switch (*at) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
      return at + 1;
    case 'u':
      break;
    default:
      return nullptr;
  }
  for (int i = 1; i <= 4; ++i) {
    const auto letter = static_cast<char>(static_cast<unsigned char>(at[i]) | 0x20U);
    if (!is_digit(at[i]) && (letter < 'a' || letter > 'f')) {
      return nullptr;
    }
  }
  return at + 5;
}

char* scan_string(char* at, bool& has_high_bytes) noexcept {
  ++at;
  for (;;) {
    at = skip_plain(at, has_high_bytes);
    if (*at == '"') {
      return at + 1;
    }
    if (*at != '\\') {
      return nullptr;
    }
    at = scan_escape(at + 1);
    if (at == nullptr) {
      return nullptr;
    }
  }
}

template <std::size_t N>
char* scan_word(char* at, const char (&word)[N]) noexcept {
  return std::memcmp(at, word, N - 1) == 0 ? at + N - 1 : nullptr;
}

// Decides whether the text at [begin, end) is one JSON value (RFC 8259; UTF-8 is not its concern).
// Does not recurse: the kinds of the open containers are bits behind the sentinel, so that nesting
// is bounded by the size of the text alone.
class JsonScan {
 public:
  // Writable from `begin` to end + kSentinelBytes + (end - begin) / 8 + 1.
  JsonScan(char* begin, char* end) noexcept
      : begin_(begin), end_(end), open_(end + kSentinelBytes) {
    std::memset(end, 0, kSentinelBytes);
  }

  [[nodiscard]] bool run() noexcept {
    char* at = begin_;
    for (;;) {
      const std::size_t depth = depth_;
      at = begin_value(skip_space(at));
      if (at == nullptr) {
        return false;
      }
      if (depth_ > depth) {
        continue;  // a container was opened: its first value follows
      }
      at = end_value(at);
      if (at == nullptr) {
        return false;
      }
      if (depth_ == 0) {
        return skip_space(at) == end_;
      }
    }
  }

  // Some byte is not ASCII.
  [[nodiscard]] bool has_high_bytes() const noexcept { return has_high_bytes_; }

 private:
  // Takes a scalar, an empty container, or the opening of one with its first member's name.
  char* begin_value(char* at) noexcept {
    switch (*at) {
      case '"':
        return scan_string(at, has_high_bytes_);
      case '{':
        at = skip_space(at + 1);
        if (*at == '}') {
          return at + 1;
        }
        push(true);
        return member_name(at);
      case '[':
        at = skip_space(at + 1);
        if (*at == ']') {
          return at + 1;
        }
        push(false);
        return at;
      case 't':
        return scan_word(at, "true");
      case 'f':
        return scan_word(at, "false");
      case 'n':
        return scan_word(at, "null");
      default: {
        const char* const number = number_end(at, end_);
        return number == nullptr ? nullptr : at + (number - at);
      }
    }
  }

  // Behind a value: closes containers up to the comma that leads to the next value, or all.
  char* end_value(char* at) noexcept {
    while (depth_ > 0) {
      at = skip_space(at);
      const bool object = in_object();
      if (*at == ',') {
        return object ? member_name(skip_space(at + 1)) : at + 1;
      }
      if (*at != (object ? '}' : ']')) {
        return nullptr;
      }
      ++at;
      --depth_;
    }
    return at;
  }

  char* member_name(char* at) noexcept {
    if (*at != '"') {
      return nullptr;
    }
    at = scan_string(at, has_high_bytes_);
    if (at == nullptr) {
      return nullptr;
    }
    at = skip_space(at);
    return *at == ':' ? at + 1 : nullptr;
  }

  void push(bool object) noexcept {
    const auto bit = static_cast<unsigned char>(1U << (depth_ % 8));
    auto& byte = reinterpret_cast<unsigned char*>(open_)[depth_ / 8];
    byte = static_cast<unsigned char>(object ? byte | bit : byte & ~bit);
    ++depth_;
  }

  [[nodiscard]] bool in_object() const noexcept {
    const std::size_t top = depth_ - 1;
    return ((static_cast<unsigned char>(open_[top / 8]) >> (top % 8)) & 1U) != 0;
  }

  char* const begin_;
  char* const end_;
  char* const open_;
  std::size_t depth_ = 0;
  bool has_high_bytes_ = false;
};

// Replaces broken UTF-8 in the text that `out` ends with, from `start` on. The mended copy is
// written behind the text and then moved down, so that no other buffer is needed.
void mend(std::size_t start, json::TextBuffer& out) {
  const std::size_t size = out.size() - start;
  // Each byte may become a replacement character. With that much room nothing below moves `out`.
  static_cast<void>(out.reserve(size * json::kReplacementCharacter.size()));
  json::append_utf8(out, {out.data() + start, size});
  const std::size_t mended = out.size() - start - size;
  out.truncate(start);
  char* const text = out.reserve(size + mended);
  std::memmove(text, text + size, mended);
  out.commit(text + mended);
}

}  // namespace

bool commit_json(std::size_t size, json::TextBuffer& out) {
  char* const text = out.reserve(json_room(size));
  JsonScan scan(text, text + size);
  if (!scan.run()) {
    return false;
  }
  const std::size_t start = out.size();
  out.commit(text + size);
  if (scan.has_high_bytes() && json::valid_utf8_prefix(out.view(start)) < size) [[unlikely]] {
    mend(start, out);
  }
  return true;
}

bool append_json(std::string_view text, json::TextBuffer& out) {
  copy_bytes(text.data(), text.size(), out.reserve(json_room(text.size())));
  return commit_json(text.size(), out);
}

}  // namespace cdc::postgres::internal
