// Renders PostgreSQL's array text as nested JSON arrays, in one pass and without recursion.
//
// The text is what array_out prints: [bounds=]{element,{...}}. An element that is empty, spells
// NULL, or holds a brace, the delimiter, a quote, a backslash or white space stands in quotes,
// and there each quote and backslash has a backslash before it. Anything else that array_in would
// read, such as spaces around elements, is not printed by any server and counts as malformed
// here. Lower bounds are dropped, as to_jsonb drops them: JSON arrays have none.
#include <array>
#include <cstddef>
#include <cstring>

#include "json/utf8.h"
#include "postgres/internal/value_parts.h"
#include "postgres/value_kind.h"

namespace cdc::postgres::internal {

namespace {

// PostgreSQL's MAXDIM.
constexpr int kDimensionsMax = 6;

// The bytes that an element outside quotes cannot hold, besides the delimiter.
constexpr std::array<bool, 256> make_reserved() {
  std::array<bool, 256> reserved{};
  for (const char c : {'{', '}', '"', '\\', ' ', '\t', '\n', '\v', '\f', '\r'}) {
    reserved[static_cast<unsigned char>(c)] = true;
  }
  return reserved;
}

constexpr std::array<bool, 256> kReserved = make_reserved();

class ArrayRender {
 public:
  ArrayRender(ValueType type, std::string_view text, json::TextBuffer& out) noexcept
      : at_(text.data()),
        end_(text.data() + text.size()),
        element_(ValueType{.kind = type.element}),
        delimiter_(type.delimiter),
        out_(out) {}

  [[nodiscard]] bool run() {
    if (!skip_bounds() || at_ == end_ || *at_ != '{') {
      return false;
    }
    do {
      bool opened = false;
      if (!begin_value(opened)) {
        return false;
      }
      if (!opened && !end_value()) {
        return false;
      }
    } while (depth_ > 0);
    return at_ == end_;
  }

 private:
  [[nodiscard]] bool next_is(char c) const noexcept { return at_ < end_ && *at_ == c; }

  bool take(char c) noexcept {
    if (!next_is(c)) {
      return false;
    }
    ++at_;
    return true;
  }

  bool skip_integer() noexcept {
    take('-');
    const char* const digits = at_;
    while (at_ < end_ && is_digit(*at_)) {
      ++at_;
    }
    return at_ > digits;
  }

  // "[2:4][-1:0]=", which stands there when a lower bound is not 1.
  bool skip_bounds() noexcept {
    if (!next_is('[')) {
      return true;
    }
    while (take('[')) {
      if (!skip_integer() || !take(':') || !skip_integer() || !take(']')) {
        return false;
      }
    }
    return take('=');
  }

  // Takes an element, or an opening brace; "{}" is closed at once.
  bool begin_value(bool& opened) {
    if (take('{')) {
      if (take('}')) {
        out_.append("[]");
        return true;
      }
      opened = true;
      out_.append('[');
      return ++depth_ <= kDimensionsMax;
    }
    return next_is('"') ? quoted_element() : plain_element();
  }

  // Behind an element or array: closes arrays up to the delimiter that leads on, or all.
  bool end_value() {
    while (depth_ > 0) {
      if (take(delimiter_)) {
        out_.append(',');
        return true;
      }
      if (!take('}')) {
        return false;
      }
      out_.append(']');
      --depth_;
    }
    return true;
  }

  // A number shows its own end, which saves looking for it.
  bool plain_number() {
    const char* const end = number_end(at_, end_);
    if (end == nullptr || end == end_ || (*end != delimiter_ && *end != '}')) {
      return false;
    }
    const auto size = static_cast<std::size_t>(end - at_);
    char* const cursor = out_.reserve(size + 16);
    if (size <= 16 && end_ - at_ >= 16) {
      std::memcpy(cursor, at_, 16);
      out_.commit(cursor + size);
    } else {
      out_.commit(copy_bytes(at_, size, cursor));
    }
    at_ = end;
    return true;
  }

  bool plain_element() {
    if (element_.kind == ValueKind::kNumber && plain_number()) {
      return true;
    }
    const char* const begin = at_;
    while (at_ < end_ && *at_ != delimiter_ && !kReserved[static_cast<unsigned char>(*at_)]) {
      ++at_;
    }
    const std::string_view element(begin, static_cast<std::size_t>(at_ - begin));
    if (element.empty()) {
      return false;
    }
    if (element == "NULL") {
      out_.append("null");
    } else {
      render_value(element_, element, out_);
    }
    return true;
  }

  bool quoted_element() {
    const char* const begin = ++at_;
    std::size_t escapes = 0;
    for (;; ++at_) {
      if (at_ == end_) {
        return false;
      }
      if (*at_ == '"') {
        break;
      }
      if (*at_ == '\\') {
        ++escapes;
        if (++at_ == end_) {
          return false;
        }
      }
    }
    const std::string_view raw(begin, static_cast<std::size_t>(at_ - begin));
    ++at_;
    if (escapes == 0) {
      render_value(element_, raw, out_);
    } else if (element_.kind != ValueKind::kJson || !append_escaped_json(raw, escapes)) {
      // No other kind prints quotes or backslashes, so this is text or not what it should be.
      append_escaped_text(raw);
    }
    return true;
  }

  // Hands each run between the array's backslashes to the JSON string as it stands.
  void append_escaped_text(std::string_view raw) {
    out_.append('"');
    std::size_t run = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '\\') {
        json::append_any(out_, raw.substr(run, i - run));
        run = ++i;  // the byte behind it begins the next run, whatever it is
      }
    }
    json::append_any(out_, raw.substr(run));
    out_.append('"');
  }

  // Takes the backslashes out while copying to where commit_json expects its text.
  bool append_escaped_json(std::string_view raw, std::size_t escapes) {
    const std::size_t size = raw.size() - escapes;
    char* cursor = out_.reserve(json_room(size));
    for (std::size_t i = 0; i < raw.size(); ++i) {
      i += raw[i] == '\\' ? 1U : 0U;
      *cursor++ = raw[i];
    }
    return commit_json(size, out_);
  }

  const char* at_;
  const char* const end_;
  const ValueType element_;
  const char delimiter_;
  json::TextBuffer& out_;
  int depth_ = 0;
};

}  // namespace

bool append_array(ValueType type, std::string_view text, json::TextBuffer& out) {
  const std::size_t start = out.size();
  if (ArrayRender(type, text, out).run()) {
    return true;
  }
  out.truncate(start);
  return false;
}

}  // namespace cdc::postgres::internal
