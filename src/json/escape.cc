#include "json/escape.h"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cdc::json {

namespace {

// Writes one byte, escaped if it must be.
char* escape_byte(char c, char* out) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    *out++ = '\\';
    *out++ = c;
    return out;
  }
  if (byte >= 0x20) {
    *out++ = c;
    return out;
  }
  *out++ = '\\';
  switch (c) {
    case '\n':
      *out++ = 'n';
      return out;
    case '\r':
      *out++ = 'r';
      return out;
    case '\t':
      *out++ = 't';
      return out;
    case '\b':
      *out++ = 'b';
      return out;
    case '\f':
      *out++ = 'f';
      return out;
    default:
      break;
  }
  std::memcpy(out, "u00", 3);
  out[3] = "0123456789abcdef"[byte >> 4U];
  out[4] = "0123456789abcdef"[byte & 15U];
  return out + 5;
}

}  // namespace

char* escape(std::string_view text, char* out) noexcept {
  const char* in = text.data();
  const char* const end = in + text.size();
#if defined(__SSE2__)
  // Copies 16 bytes at a time; a block that needs an escape is finished byte by byte.
  const __m128i quote_mark = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control_max = _mm_set1_epi8(31);
  while (end - in >= 16) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
    const __m128i special = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(block, quote_mark), _mm_cmpeq_epi8(block, backslash)),
        _mm_cmpeq_epi8(_mm_max_epu8(block, control_max), control_max));
    const auto mask = static_cast<std::uint32_t>(_mm_movemask_epi8(special));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), block);
    if (mask == 0) {
      in += 16;
      out += 16;
      continue;
    }
    const int clean = __builtin_ctz(mask);
    in += clean;
    out += clean;
    out = escape_byte(*in++, out);
  }
#endif
  while (in < end) {
    out = escape_byte(*in++, out);
  }
  return out;
}

void append_string(TextBuffer& out, std::string_view text) {
  char* cursor = out.reserve(kEscapeGrowth * text.size() + 18);
  // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): only if 6 * size could wrap to zero.
  *cursor++ = '"';
  cursor = escape(text, cursor);
  *cursor++ = '"';
  out.commit(cursor);
}

std::string quote(std::string_view text) {
  TextBuffer buffer;
  append_string(buffer, text);
  return std::string(buffer.view());
}

}  // namespace cdc::json
