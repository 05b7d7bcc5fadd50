#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cdc::expr {

// An SQL LIKE pattern, compiled: `%` is any run of characters, `_` one UTF-8 character, and the
// escape character makes the next one literal. Immutable.
//
// Bounds    Matching needs no memory and at most pattern * text steps, however many `%` there are.
// Folding   ILIKE folds the ASCII letters only.
class LikePattern {
 public:
  enum class Case : std::uint8_t {
    kSensitive,
    kFold
  };

  // `escape` is kNoEscape or one ASCII character. False from ends_in_escape() is the caller's to
  // check first: a pattern that ends in its escape character has no meaning.
  static constexpr char kNoEscape = '\0';
  LikePattern(std::string_view pattern, char escape, Case folding);

  [[nodiscard]] static bool ends_in_escape(std::string_view pattern, char escape) noexcept;
  [[nodiscard]] bool matches(std::string_view text) const noexcept;

 private:
  // A byte that must be equal, or one of the wildcards.
  using Token = std::uint16_t;
  static constexpr Token kAnyCharacter = 256;
  static constexpr Token kAnyRun = 257;

  // How many bytes of `text` at `offset` the token takes; 0 when it does not match.
  [[nodiscard]] std::size_t take(Token token,
                                 std::string_view text,
                                 std::size_t offset) const noexcept;

  std::vector<Token> tokens_;
  Case case_;
};

}  // namespace cdc::expr
