#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "json/text_buffer.h"

namespace cdc::json {

// The most bytes that one byte of text can become inside a JSON string ("\u001f").
inline constexpr std::size_t kEscapeGrowth = 6;

// Writes the JSON string escapes of `text`, without the quotes, at `out`, which must have room for
// kEscapeGrowth * text.size() bytes, plus 16 that may be overwritten. Returns the end.
// Only what RFC 8259 demands is escaped: quote, backslash and bytes below 0x20. UTF-8 passes as it
// is; the caller vouches that it is valid (PostgreSQL does, with client_encoding UTF8).
char* escape(std::string_view text, char* out) noexcept;

// Appends `text` as a JSON string, with quotes.
void append_string(TextBuffer& out, std::string_view text);

// The same for code off the hot path.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace cdc::json
