#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cdc::json {

// Decides whether a text is exactly one JSON value as RFC 8259 has it, in valid UTF-8. Written for
// tests from the grammar, apart from the code under test: plain, byte by byte, no shared tables.
// Nesting is bounded by memory only.
class JsonChecker {
 public:
  [[nodiscard]] static bool is_value(std::string_view text) {
    JsonChecker checker(text);
    return checker.value() && checker.at_ == text.size() && is_utf8(text);
  }

  // What a line of the product must be: a value without raw line breaks.
  [[nodiscard]] static bool is_line(std::string_view text) {
    return text.find_first_of("\n\r") == std::string_view::npos && is_value(text);
  }

  [[nodiscard]] static bool is_utf8(std::string_view text) {
    while (!text.empty()) {
      const std::size_t length = character_length(text);
      if (length == 0) {
        return false;
      }
      text.remove_prefix(length);
    }
    return true;
  }

 private:
  explicit JsonChecker(std::string_view text) : text_(text) {}

  // Decodes the sequence at the start to its number and asks whether that number takes that many
  // bytes. 0 when it is not one character.
  [[nodiscard]] static std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<std::uint8_t>(text[0]);
    if (lead < 0x80) {
      return 1;
    }
    const std::size_t length = (lead >> 5U) == 6    ? 2
                               : (lead >> 4U) == 14 ? 3
                               : (lead >> 3U) == 30 ? 4
                                                    : 0;
    if (length == 0 || length > text.size()) {
      return 0;
    }
    std::uint32_t code = lead & (0x7FU >> length);
    for (const char c : text.substr(1, length - 1)) {
      const auto byte = static_cast<std::uint8_t>(c);
      if ((byte >> 6U) != 2) {
        return 0;
      }
      code = (code << 6U) | (byte & 0x3FU);
    }
    constexpr std::uint32_t kLeast[] = {0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < kLeast[length - 2] || code > 0x10FFFF || surrogate ? 0 : length;
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool take(char c) {
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }

  bool take_all(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  void space() {
    while (take(' ') || take('\t') || take('\n') || take('\r')) {
    }
  }

  bool digits() {
    const std::size_t from = at_;
    while (peek() >= '0' && peek() <= '9') {
      ++at_;
    }
    return at_ > from;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) {
      return false;
    }
    if (take('.') && !digits()) {
      return false;
    }
    if (take('e') || take('E')) {
      if (!take('+')) {
        take('-');
      }
      return digits();
    }
    return true;
  }

  bool escape() {
    if (take('u')) {
      for (int i = 0; i < 4; ++i) {
        if (peek() == '\0' ||
            std::string_view("0123456789abcdefABCDEF").find(peek()) == std::string_view::npos) {
          return false;
        }
        ++at_;
      }
      return true;
    }
    if (peek() == '\0' || std::string_view("\"\\/bfnrt").find(peek()) == std::string_view::npos) {
      return false;
    }
    ++at_;
    return true;
  }

  bool string() {
    if (!take('"')) {
      return false;
    }
    while (at_ < text_.size()) {
      if (take('"')) {
        return true;
      }
      if (take('\\')) {
        if (!escape()) {
          return false;
        }
        continue;
      }
      if (static_cast<std::uint8_t>(text_[at_]) < 0x20) {
        return false;
      }
      ++at_;
    }
    return false;
  }

  bool member_name() {
    space();
    if (!string()) {
      return false;
    }
    space();
    return take(':');
  }

  // Takes a scalar or opens a container; an empty container is closed at once.
  bool begin_value(bool& opened) {
    space();
    opened = false;
    if (take('[')) {
      space();
      if (!take(']')) {
        open_.push_back(']');
        opened = true;
      }
      return true;
    }
    if (take('{')) {
      space();
      if (take('}')) {
        return true;
      }
      open_.push_back('}');
      opened = true;
      return member_name();
    }
    if (peek() == '"') {
      return string();
    }
    return take_all("true") || take_all("false") || take_all("null") || number();
  }

  bool value() {
    for (;;) {
      bool opened = false;
      if (!begin_value(opened)) {
        return false;
      }
      if (opened) {
        continue;
      }
      space();
      while (!open_.empty() && take(open_.back())) {
        open_.pop_back();
        space();
      }
      if (open_.empty()) {
        return true;
      }
      if (!take(',') || (open_.back() == '}' && !member_name())) {
        return false;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string open_;
};

}  // namespace cdc::json
