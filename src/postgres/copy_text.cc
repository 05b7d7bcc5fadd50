#include "postgres/internal/copy_text.h"

namespace cdc::postgres::internal {

namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

char control_character(char letter) noexcept {
  switch (letter) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return letter;
  }
}

// Decodes the escape whose backslash is at `in[-1]`, which `end` is behind, and moves `in` past it.
char take_escape(const char*& in, const char* end) noexcept {
  const char first = *in++;
  if (first >= '0' && first <= '7') {
    int value = first - '0';
    for (int more = 0; more < 2 && in < end && *in >= '0' && *in <= '7'; ++more) {
      value = value * 8 + (*in++ - '0');
    }
    return static_cast<char>(value);
  }
  if (first != 'x' || in == end || hex_digit(*in) < 0) {
    return control_character(first);
  }
  int value = hex_digit(*in++);
  if (in < end && hex_digit(*in) >= 0) {
    value = value * 16 + hex_digit(*in++);
  }
  return static_cast<char>(value);
}

// Reads one column at `in` and moves it to the tab behind, or to `end`. False: malformed.
bool take_column(char*& in, char* end, ColumnData& out) noexcept {
  char* const begin = in;
  while (in < end && *in != '\t' && *in != '\\') {
    if (*in == '\n') {
      return false;
    }
    ++in;
  }
  if (in == end || *in == '\t') {
    out = {.state = ColumnData::State::kText,
           .text = {begin, static_cast<std::size_t>(in - begin)}};
    return true;
  }
  if (in == begin && end - in >= 2 && in[1] == 'N' && (end - in == 2 || in[2] == '\t')) {
    in += 2;
    out = {};
    return true;
  }
  char* write = in;
  while (in < end && *in != '\t') {
    if (*in == '\n') {
      return false;
    }
    if (*in != '\\') {
      *write++ = *in++;
      continue;
    }
    if (++in == end) {
      return false;
    }
    const char* cursor = in;
    const char decoded = take_escape(cursor, end);
    in += cursor - in;
    *write++ = decoded;
  }
  out = {.state = ColumnData::State::kText,
         .text = {begin, static_cast<std::size_t>(write - begin)}};
  return true;
}

}  // namespace

bool parse_copy_row(std::span<char> row, std::size_t columns, std::vector<ColumnData>& out) {
  if (row.empty() || row.back() != '\n') {
    return false;
  }
  out.resize(columns);
  char* in = row.data();
  char* const end = in + row.size() - 1;
  if (columns == 0) {
    return in == end;
  }
  for (std::size_t i = 0; i < columns; ++i) {
    if (i > 0) {
      if (in == end) {
        return false;
      }
      ++in;  // a column ends at a tab or at the end
    }
    if (!take_column(in, end, out[i])) {
      return false;
    }
  }
  return in == end;
}

}  // namespace cdc::postgres::internal
