#include "expr/internal/condition_lexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "expr/internal/ascii.h"

namespace cdc::expr {
namespace {

constexpr std::size_t kExcerptBytes = 24;  // on each side of the mark

// As in PostgreSQL, every byte of a non-ASCII character is a letter.
bool starts_word(char c) noexcept {
  return is_letter(c) || c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

bool continues_word(char c) noexcept {
  return starts_word(c) || is_digit(c) || c == '$';
}

}  // namespace

bool Token::is_keyword(std::string_view keyword) const noexcept {
  return kind == Kind::kWord && equals_ignoring_case(text, keyword);
}

Error condition_error(std::string_view text,
                      std::size_t offset,
                      std::string_view what,
                      std::string hint) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto characters =
      std::ranges::count_if(before, [](char c) { return !is_utf8_continuation(c); });

  std::size_t begin = offset - std::min(offset, kExcerptBytes);
  while (begin < offset && is_utf8_continuation(text[begin])) {
    ++begin;
  }
  std::size_t end = std::min(text.size(), offset + kExcerptBytes);
  while (end < text.size() && is_utf8_continuation(text[end])) {
    ++end;
  }
  std::string message = cdc::format("column {}: {}, at the mark: {}{}>>>{}{}",
                                    characters + 1,
                                    what,
                                    begin > 0 ? "..." : "",
                                    text.substr(begin, offset - begin),
                                    text.substr(offset, end - offset),
                                    end < text.size() ? "..." : "");
  // Both the excerpt and a quoted name in `what` may hold line ends.
  std::ranges::replace_if(message, is_control, ' ');
  return make_error(Errc::kConfigInvalid, std::move(message), std::move(hint));
}

Result<Token> ConditionLexer::next() {
  while (offset_ < text_.size() && is_blank(text_[offset_])) {
    ++offset_;
  }
  if (offset_ == text_.size()) {
    return Token{.kind = Token::Kind::kEnd, .text = {}, .offset = offset_};
  }
  const char c = text_[offset_];
  if (c == '\'' || c == '"') {
    return quoted(c);
  }
  const bool point_and_digit =
      c == '.' && offset_ + 1 < text_.size() && is_digit(text_[offset_ + 1]);
  if (is_digit(c) || point_and_digit) {
    return number();
  }
  if (!starts_word(c)) {
    return symbol();
  }
  const std::size_t begin = offset_;
  while (offset_ < text_.size() && continues_word(text_[offset_])) {
    ++offset_;
  }
  return Token{.kind = Token::Kind::kWord,
               .text = std::string(text_.substr(begin, offset_ - begin)),
               .offset = begin};
}

Result<Token> ConditionLexer::quoted(char quote) {
  Token token{.kind = quote == '"' ? Token::Kind::kQuotedName : Token::Kind::kString,
              .text = {},
              .offset = offset_};
  std::size_t i = offset_ + 1;
  while (true) {
    if (i >= text_.size()) {
      return fail(condition_error(text_,
                                  token.offset,
                                  quote == '"' ? "the quoted name has no closing double quote"
                                               : "the string has no closing quote",
                                  "a quote inside is written twice"));
    }
    if (text_[i] != quote) {
      token.text += text_[i++];
      continue;
    }
    if (i + 1 < text_.size() && text_[i + 1] == quote) {
      token.text += quote;
      i += 2;
      continue;
    }
    break;
  }
  offset_ = i + 1;
  if (quote == '"' && token.text.empty()) {
    return fail(condition_error(text_, token.offset, "the quoted name is empty"));
  }
  return token;
}

Result<Token> ConditionLexer::number() {
  const std::size_t begin = offset_;
  const auto skip_digits = [this] {
    const std::size_t from = offset_;
    while (offset_ < text_.size() && is_digit(text_[offset_])) {
      ++offset_;
    }
    return offset_ > from;
  };
  skip_digits();
  if (offset_ < text_.size() && text_[offset_] == '.') {
    ++offset_;
    skip_digits();
  }
  if (offset_ < text_.size() && to_lower(text_[offset_]) == 'e') {
    ++offset_;
    if (offset_ < text_.size() && (text_[offset_] == '+' || text_[offset_] == '-')) {
      ++offset_;
    }
    if (!skip_digits()) {
      return fail(condition_error(text_, begin, "the number has no digits in its exponent"));
    }
  }
  if (offset_ < text_.size() && (continues_word(text_[offset_]) || text_[offset_] == '.')) {
    return fail(condition_error(text_,
                                begin,
                                "this is neither a number nor a name",
                                "put a column whose name begins with a digit in double quotes"));
  }
  return Token{.kind = Token::Kind::kNumber,
               .text = std::string(text_.substr(begin, offset_ - begin)),
               .offset = begin};
}

Result<Token> ConditionLexer::symbol() {
  // What people bring from other languages, with what to write here.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kForeign{{
      {"==", "write = to compare"},
      {"&&", "write AND"},
      {"||", "write OR; strings cannot be joined here"},
      {"::", "casts are not supported: quote the value instead, as in created_at > '2024-01-01'"},
      {"--", "comments are not supported"},
  }};
  constexpr std::array<std::string_view, 13> kSymbols{
      "!=", "<>", "<=", ">=", "=", "<", ">", "(", ")", ",", ".", "+", "-"};
  const std::string_view rest = text_.substr(offset_);
  for (const auto& [foreign, hint] : kForeign) {
    if (rest.starts_with(foreign)) {
      return fail(condition_error(text_,
                                  offset_,
                                  cdc::format("\"{}\" is not an operator here", foreign),
                                  std::string(hint)));
    }
  }
  for (const std::string_view known : kSymbols) {
    if (rest.starts_with(known)) {
      Token token{.kind = Token::Kind::kSymbol, .text = std::string(known), .offset = offset_};
      offset_ += known.size();
      return token;
    }
  }
  return fail(condition_error(text_, offset_, "this character has no meaning here"));
}

}  // namespace cdc::expr
