#include "expr/table_pattern.h"

#include <cstddef>
#include <utility>

#include "base/format.h"
#include "expr/internal/ascii.h"

namespace cdc::expr {
namespace {

constexpr std::size_t kTextBytesMax = 1024;

// As in LikePattern::matches: one restart point, at the last wildcard, is enough.
bool matches_wildcard(std::string_view pattern, std::string_view text, char wildcard) noexcept {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t after_wildcard = std::string_view::npos;
  std::size_t run_end = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == wildcard) {
      after_wildcard = ++p;
      run_end = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (after_wildcard != std::string_view::npos) {
      p = after_wildcard;
      t = ++run_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == wildcard) {
    ++p;
  }
  return p == pattern.size();
}

struct Part {
  std::string text;  // `*` outside quotes has become the wildcard
  bool exact = true;
};

// Takes one quoted part off `rest`.
Result<Part> take_quoted(std::string_view& rest) {
  Part part;
  std::size_t i = 1;
  for (; i < rest.size(); ++i) {
    if (rest[i] != '"') {
      part.text += rest[i];
    } else if (i + 1 < rest.size() && rest[i + 1] == '"') {
      part.text += '"';
      ++i;
    } else {
      break;
    }
  }
  if (i >= rest.size()) {
    return fail(Errc::kConfigInvalid, "a double quote is not closed");
  }
  rest.remove_prefix(i + 1);
  if (!rest.empty() && rest.front() != '.') {
    return fail(Errc::kConfigInvalid,
                "text follows a closing double quote",
                "a double quote inside a quoted name is written twice");
  }
  if (part.text.empty()) {
    return fail(Errc::kConfigInvalid, "a quoted name is empty");
  }
  return part;
}

// Takes one unquoted part off `rest`.
Result<Part> take_plain(std::string_view& rest, char wildcard) {
  Part part;
  const std::string_view text = rest.substr(0, rest.find('.'));
  rest.remove_prefix(text.size());
  if (text.empty()) {
    return fail(Errc::kConfigInvalid, "a part of the name is empty");
  }
  if (is_blank(text.front()) || is_blank(text.back())) {
    return fail(Errc::kConfigInvalid,
                "a part of the name begins or ends with a blank",
                "put the name in double quotes if the blank belongs to it");
  }
  for (const char c : text) {
    if (c == '"') {
      return fail(Errc::kConfigInvalid,
                  "a double quote stands inside an unquoted name",
                  "quote the whole part, and write an inner double quote twice");
    }
    if (is_control(c)) {
      return fail(Errc::kConfigInvalid, "an unquoted name holds a control character");
    }
    part.exact = part.exact && c != '*';
    part.text += c == '*' ? wildcard : c;
  }
  return part;
}

}  // namespace

Result<TablePattern> TablePattern::parse(std::string_view text) {
  if (text.empty()) {
    return fail(Errc::kConfigInvalid, "the table name is empty");
  }
  if (text.size() > kTextBytesMax) {
    return fail(Errc::kConfigInvalid,
                cdc::format("the table name is longer than {} bytes", kTextBytesMax));
  }
  if (text.contains(kStar)) {
    return fail(Errc::kConfigInvalid, "the table name holds a NUL byte");
  }
  TablePattern pattern;
  std::string_view rest = text;
  for (int parts = 1;; ++parts) {
    CDC_ASSIGN(Part part, rest.starts_with('"') ? take_quoted(rest) : take_plain(rest, kStar));
    pattern.exact_ = pattern.exact_ && part.exact;
    pattern.table_ = std::move(part.text);
    if (rest.empty()) {
      return pattern;
    }
    if (parts == 2) {
      return fail(Errc::kConfigInvalid,
                  "the name has more than two parts",
                  "write schema.table, and put a part that contains a dot in double quotes");
    }
    rest.remove_prefix(1);
    pattern.has_schema_ = true;
    pattern.schema_ = std::move(pattern.table_);
  }
}

bool TablePattern::matches(std::string_view schema, std::string_view table) const noexcept {
  return (!has_schema_ || matches_wildcard(schema_, schema, kStar)) &&
         matches_wildcard(table_, table, kStar);
}

std::string quote_identifier(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    quoted += c;
    if (c == '"') {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

std::string quote_table(std::string_view schema, std::string_view table) {
  return quote_identifier(schema) + "." + quote_identifier(table);
}

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
  return matches_wildcard(pattern, text, '*');
}

}  // namespace cdc::expr
