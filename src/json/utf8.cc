#include "json/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "json/escape.h"

namespace cdc::json {

namespace {

// A character, or the part of one that is there.
struct Sequence {
  std::size_t length = 1;
  bool valid = false;
};

constexpr std::uint8_t byte_at(std::string_view text, std::size_t index) noexcept {
  return static_cast<std::uint8_t>(text[index]);
}

// Looks at the sequence at the start of `text`, whose first byte is 0x80 or more. The bounds of the
// second byte are those of Unicode's table 3-7; they alone rule out overlong forms, surrogates and
// code points above U+10FFFF.
Sequence sequence_at(std::string_view text) noexcept {
  const std::uint8_t lead = byte_at(text, 0);
  if (lead < 0xC2 || lead > 0xF4) {
    return {};
  }
  const std::size_t wanted = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const std::uint8_t second_min = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t second_max = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (text.size() < 2 || byte_at(text, 1) < second_min || byte_at(text, 1) > second_max) {
    return {};
  }
  std::size_t length = 2;
  while (length < wanted && length < text.size() && (byte_at(text, length) & 0xC0U) == 0x80U) {
    ++length;
  }
  return {.length = length, .valid = length == wanted};
}

// How many bytes from the start are below 0x80, perhaps a few less.
std::size_t ascii_run(const char* in, std::size_t size) noexcept {
  std::size_t done = 0;
  for (; size - done >= sizeof(std::uint64_t); done += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, in + done, sizeof word);
    if ((word & 0x8080808080808080ULL) != 0) {
      break;
    }
  }
  return done;
}

#if defined(__SSE2__)

// A bit for each byte that cannot stand in a JSON string as it is. One signed comparison finds
// control bytes and bytes above 0x7F together, so that ASCII pays nothing for the check of UTF-8.
unsigned specials_of(__m128i block) noexcept {
  const __m128i not_printable = _mm_cmplt_epi8(block, _mm_set1_epi8(0x20));
  const __m128i quote_mark = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_or_si128(not_printable, _mm_or_si128(quote_mark, backslash))));
}

// The `size` < 8 bytes at `in`, read without touching their neighbours; reads may overlap.
std::uint64_t load_few(const char* in, std::size_t size) noexcept {
  if (size >= 4) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::memcpy(&low, in, sizeof low);
    std::memcpy(&high, in + size - sizeof high, sizeof high);
    return low | (std::uint64_t{high} << (8 * (size - sizeof high)));
  }
  if (size == 0) {
    return 0;
  }
  const auto at = [in](std::size_t i) {
    return std::uint64_t{static_cast<std::uint8_t>(in[i])} << (8 * i);
  };
  return at(0) | at(size / 2) | at(size - 1);
}

// copy_plain for fewer than 16 bytes.
std::size_t copy_plain_short(const char* in, std::size_t size, char* out) noexcept {
  if (size >= 8) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
    const __m128i high = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + size - 8));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), low);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + size - 8), high);
    const unsigned mask = (specials_of(low) & 0xFFU) | ((specials_of(high) & 0xFFU) << (size - 8));
    return mask == 0 ? size : static_cast<unsigned>(__builtin_ctz(mask));
  }
  const __m128i block = _mm_cvtsi64_si128(static_cast<long long>(load_few(in, size)));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), block);
  const unsigned mask = specials_of(block) & ((1U << size) - 1U);
  return mask == 0 ? size : static_cast<unsigned>(__builtin_ctz(mask));
}

// Copies from `text` to `out` up to the first byte that cannot pass as it is, and returns how many
// bytes that was. `out` has room for the text and 16 bytes, which may all be overwritten.
std::size_t copy_plain(std::string_view text, char* out) noexcept {
  const char* const in = text.data();
  const std::size_t size = text.size();
  if (size < 16) {
    return copy_plain_short(in, size, out);
  }
  // The last block overlaps the one before it instead of leaving a tail.
  for (std::size_t at = 0;; at = std::min(at + 16, size - 16)) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + at), block);
    const unsigned mask = specials_of(block);
    if (mask != 0) {
      return at + static_cast<unsigned>(__builtin_ctz(mask));
    }
    if (at == size - 16) {
      return size;
    }
  }
}

#else

std::size_t copy_plain(std::string_view text, char* out) noexcept {
  std::size_t done = 0;
  for (; done < text.size(); ++done) {
    const std::uint8_t byte = byte_at(text, done);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') {
      break;
    }
    out[done] = text[done];
  }
  return done;
}

#endif

// Escapes valid UTF-8 in pieces, because the bound of escape() is six times the text.
void append_escaped(TextBuffer& out, std::string_view text) {
  constexpr std::size_t kPiece = 4096;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kPiece);
    out.commit(escape(piece, out.reserve(kEscapeGrowth * piece.size() + 16)));
    text.remove_prefix(piece.size());
  }
}

template <class AppendValid>
void append_mended(TextBuffer& out, std::string_view text, AppendValid append_valid) {
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_prefix(text);
    append_valid(text.substr(0, valid));
    text.remove_prefix(valid);
    if (!text.empty()) {
      out.append(kReplacementCharacter);
      text.remove_prefix(broken_utf8_length(text));
    }
  }
}

void append_special(TextBuffer& out, std::string_view text) {
  append_mended(out, text, [&out](std::string_view valid) { append_escaped(out, valid); });
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  std::size_t done = 0;
  while (done < text.size()) {
    done += ascii_run(text.data() + done, text.size() - done);
    while (done < text.size() && byte_at(text, done) < 0x80) {
      ++done;
    }
    while (done < text.size() && byte_at(text, done) >= 0x80) {
      const Sequence sequence = sequence_at(text.substr(done));
      if (!sequence.valid) {
        return done;
      }
      done += sequence.length;
    }
  }
  return done;
}

std::size_t broken_utf8_length(std::string_view text) noexcept {
  return sequence_at(text).length;
}

void append_utf8(TextBuffer& out, std::string_view text) {
  append_mended(out, text, [&out](std::string_view valid) { out.append(valid); });
}

void append_any(TextBuffer& out, std::string_view text) {
  char* const cursor = out.reserve(text.size() + 16);
  const std::size_t plain = copy_plain(text, cursor);
  out.commit(cursor + plain);
  if (plain < text.size()) {
    append_special(out, text.substr(plain));
  }
}

void append_any_string(TextBuffer& out, std::string_view text) {
  char* const cursor = out.reserve(text.size() + 18);
  *cursor = '"';
  const std::size_t plain = copy_plain(text, cursor + 1);
  char* const end = cursor + 1 + plain;
  if (plain == text.size()) {
    *end = '"';
    out.commit(end + 1);
    return;
  }
  out.commit(end);
  append_special(out, text.substr(plain));
  out.append('"');
}

}  // namespace cdc::json
