#pragma once

#include <cstddef>
#include <string_view>

#include "json/text_buffer.h"

namespace cdc::json {

// U+FFFD, which stands where bytes were not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// How many bytes from the start are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF). Always ends between characters.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text) noexcept;

// How many bytes one U+FFFD stands for at the start of `text`, which is not empty and does not
// start with a well-formed character: the maximal subpart of an ill-formed sequence, as Unicode
// 3.9 and WHATWG's decoder have it. At least one.
[[nodiscard]] std::size_t broken_utf8_length(std::string_view text) noexcept;

// Appends `text`, with each broken sequence replaced by U+FFFD. For bytes that need no escapes.
void append_utf8(TextBuffer& out, std::string_view text);

// Appends `text`, which may be any bytes, as the inside of a JSON string: escapes as json::escape
// writes them, broken UTF-8 replaced. Grows `out` by little more than what is written.
void append_any(TextBuffer& out, std::string_view text);

// The same with quotes.
void append_any_string(TextBuffer& out, std::string_view text);

}  // namespace cdc::json
