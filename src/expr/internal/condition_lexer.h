#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cdc::expr {

struct Token {
  enum class Kind : std::uint8_t {
    kEnd,
    kWord,        // keyword or unquoted name
    kQuotedName,  // "name", unescaped
    kString,      // 'text', unescaped
    kNumber,      // digits with point and exponent, without sign
    kSymbol,      // ( ) , . + - = != <> < <= > >=
  };
  Kind kind = Kind::kEnd;
  std::string text;
  std::size_t offset = 0;  // of its first byte in the condition

  [[nodiscard]] bool is_symbol(std::string_view symbol) const noexcept {
    return kind == Kind::kSymbol && text == symbol;
  }

  // `keyword` in lower case.
  [[nodiscard]] bool is_keyword(std::string_view keyword) const noexcept;
};

// Splits a condition into tokens on demand. Views the text, which must outlive it.
class ConditionLexer {
 public:
  explicit ConditionLexer(std::string_view text) : text_(text) {}

  [[nodiscard]] Result<Token> next();

 private:
  [[nodiscard]] Result<Token> quoted(char quote);
  [[nodiscard]] Result<Token> number();
  [[nodiscard]] Result<Token> symbol();

  std::string_view text_;
  std::size_t offset_ = 0;
};

// "column 9: <what>, at the mark: status = >>>) AND paid": counts characters from 1, and shows a
// piece of the text on one line.
[[nodiscard]] Error condition_error(std::string_view text,
                                    std::size_t offset,
                                    std::string_view what,
                                    std::string hint = {});

}  // namespace cdc::expr
