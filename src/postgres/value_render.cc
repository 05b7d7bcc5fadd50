// Renders one value. This runs for each column of each row, so the common cases are short: eight
// bytes are checked at a time, and nothing is scanned twice that can be judged while it is copied.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "json/utf8.h"
#include "postgres/internal/value_parts.h"
#include "postgres/value_kind.h"

namespace cdc::postgres {

namespace {

using internal::copy_bytes;
using internal::is_digit;

constexpr std::string_view kTrue = "t";
constexpr std::string_view kFalse = "f";

void render_number(std::string_view text, json::TextBuffer& out) {
  if (!internal::is_number(text)) {
    json::append_any_string(out, text);
    return;
  }
  out.commit(copy_bytes(text.data(), text.size(), out.reserve(text.size())));
}

void render_boolean(std::string_view text, json::TextBuffer& out) {
  if (text == kTrue) {
    out.append("true");
  } else if (text == kFalse) {
    out.append("false");
  } else {
    json::append_any_string(out, text);
  }
}

// True when the eight bytes at `text` have the form of the eight at `form`, where 0 stands for any
// digit and every other byte for itself. Against its form a digit differs by 0 to 9 and a separator
// by nothing; the addition carries into a byte's top bit when it differs by more.
bool has_form(const char* text, const char* form) noexcept {
  std::uint64_t bytes = 0;
  std::uint64_t want = 0;
  std::memcpy(&bytes, text, sizeof bytes);
  std::memcpy(&want, form, sizeof want);
  constexpr std::uint64_t kLow = 0x0101010101010101ULL;
  // Of the bytes in forms only '0' has its bit 4 set and bit 3 clear: '-', ':', ' ' do not.
  const std::uint64_t is_zero = (want >> 4U) & ~(want >> 3U) & kLow;
  const std::uint64_t difference = bytes ^ want;
  const std::uint64_t headroom = 0x7F * kLow - 9 * is_zero;
  return (((difference + headroom) | difference) & (0x80 * kLow)) == 0;
}

// The places in a timestamp's text that decide its rendering.
struct TimestampForm {
  bool matches = false;
  std::size_t date_size = 0;   // before the space
  std::size_t local_size = 0;  // before the offset from UTC
};

std::size_t digit_run(std::string_view text, std::size_t from) noexcept {
  std::size_t at = from;
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return at - from;
}

// Judges [Y]YYYY-MM-DD HH:MM:SS[.ffffff], followed by anything. The form alone is checked, not the
// calendar; infinity has another form.
TimestampForm timestamp_form(std::string_view text) noexcept {
  constexpr std::size_t kYearDigits = 4;
  constexpr std::size_t kBehindYear = 15;  // -MM-DD HH:MM:SS
  const std::size_t year = digit_run(text, 0);
  if (year < kYearDigits || text.size() < year + kBehindYear) {
    return {};
  }
  const char* const behind_year = text.data() + year;
  if (!has_form(behind_year, "-00-00 0") || !has_form(behind_year + 7, "00:00:00")) {
    return {};
  }
  TimestampForm form{.matches = true, .date_size = year + 6, .local_size = year + kBehindYear};
  if (form.local_size < text.size() && text[form.local_size] == '.') {
    const std::size_t fraction = digit_run(text, form.local_size + 1);
    form.matches = fraction > 0;
    form.local_size += 1 + fraction;
  }
  return form;
}

// +HH, +HH:MM or +HH:MM:SS, or with a minus.
bool is_offset(std::string_view text) noexcept {
  if (text.size() < 3 || text.size() > 9 || text.size() % 3 != 0 ||
      (text[0] != '+' && text[0] != '-')) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separator = i % 3 == 0;
    if (separator ? (i > 0 && text[i] != ':') : !is_digit(text[i])) {
      return false;
    }
  }
  return true;
}

// "2026-01-02 03:04:05.6" becomes "2026-01-02T03:04:05.6", and with a zone "+00" at the end becomes
// "Z". Another offset stays as PostgreSQL prints it: sessions of ours run in UTC. What does not end
// so is text: infinity, -infinity, and years BC, for which ISO 8601 has another numbering.
void render_timestamp(std::string_view text, bool with_zone, json::TextBuffer& out) {
  const TimestampForm form = timestamp_form(text);
  if (!form.matches) {
    json::append_any_string(out, text);
    return;
  }
  const std::string_view offset = text.substr(form.local_size);
  const bool utc = offset.size() == 3 && offset == "+00";
  if (with_zone ? !utc && !is_offset(offset) : !offset.empty()) {
    json::append_any_string(out, text);
    return;
  }
  char* cursor = out.reserve(text.size() + 2);
  *cursor++ = '"';
  char* const date = cursor;
  cursor = copy_bytes(text.data(), text.size(), cursor);
  date[form.date_size] = 'T';
  if (utc) {
    cursor -= offset.size();
    *cursor++ = 'Z';
  }
  *cursor++ = '"';
  out.commit(cursor);
}

bool is_numeric_operand(std::string_view text) noexcept {
  return internal::is_number(text) || text == "NaN" || text == "Infinity" || text == "-Infinity";
}

}  // namespace

void render_value(ValueType type, std::string_view text, json::TextBuffer& out) {
  switch (type.kind) {
    case ValueKind::kNumber:
      render_number(text, out);
      return;
    case ValueKind::kBoolean:
      render_boolean(text, out);
      return;
    case ValueKind::kTimestamp:
      render_timestamp(text, false, out);
      return;
    case ValueKind::kTimestampTz:
      render_timestamp(text, true, out);
      return;
    case ValueKind::kJson:
      if (internal::append_json(text, out)) {
        return;
      }
      break;
    case ValueKind::kArray:
      if (internal::append_array(type, text, out)) {
        return;
      }
      break;
    case ValueKind::kText:
    case ValueKind::kNumberText:
    case ValueKind::kBooleanText:
      break;
  }
  json::append_any_string(out, text);
}

expr::Operand operand_of(ValueType type, std::string_view text) noexcept {
  using Kind = expr::Operand::Kind;
  switch (type.kind) {
    case ValueKind::kNumber:
    case ValueKind::kNumberText:
      return {.kind = is_numeric_operand(text) ? Kind::kNumber : Kind::kText, .text = text};
    case ValueKind::kBoolean:
    case ValueKind::kBooleanText:
      return {.kind = text == kTrue || text == kFalse ? Kind::kBoolean : Kind::kText, .text = text};
    case ValueKind::kText:
    case ValueKind::kJson:
    case ValueKind::kTimestamp:
    case ValueKind::kTimestampTz:
    case ValueKind::kArray:
      break;
  }
  return {.kind = Kind::kText, .text = text};
}

}  // namespace cdc::postgres
