#include "expr/internal/like.h"

#include <cstddef>

#include "expr/internal/ascii.h"

namespace cdc::expr {
namespace {

// Bytes of the character at `offset`; malformed UTF-8 counts as characters of its own.
std::size_t character_bytes(std::string_view text, std::size_t offset) noexcept {
  std::size_t end = offset + 1;
  while (end < text.size() && is_utf8_continuation(text[end])) {
    ++end;
  }
  return end - offset;
}

}  // namespace

LikePattern::LikePattern(std::string_view pattern, char escape, Case folding) : case_(folding) {
  tokens_.reserve(pattern.size());
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (escape != kNoEscape && c == escape && i + 1 < pattern.size()) {
      ++i;
    } else if (c == '%') {
      tokens_.push_back(kAnyRun);
      continue;
    } else if (c == '_') {
      tokens_.push_back(kAnyCharacter);
      continue;
    }
    const char literal = case_ == Case::kFold ? to_lower(pattern[i]) : pattern[i];
    tokens_.push_back(static_cast<unsigned char>(literal));
  }
}

bool LikePattern::ends_in_escape(std::string_view pattern, char escape) noexcept {
  if (escape == kNoEscape) {
    return false;
  }
  bool escaping = false;
  for (const char c : pattern) {
    escaping = !escaping && c == escape;
  }
  return escaping;
}

std::size_t LikePattern::take(Token token,
                              std::string_view text,
                              std::size_t offset) const noexcept {
  if (token == kAnyCharacter) {
    return character_bytes(text, offset);
  }
  const char c = case_ == Case::kFold ? to_lower(text[offset]) : text[offset];
  return token == static_cast<unsigned char>(c) ? 1 : 0;
}

bool LikePattern::matches(std::string_view text) const noexcept {
  // When a literal fails, only the last run can usefully grow: an earlier one would find nothing
  // the last one does not. That keeps one restart point and makes the worst case a product, not a
  // power.
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t token = 0;
  std::size_t offset = 0;
  std::size_t token_after_run = kNone;
  std::size_t run_end = 0;
  while (true) {
    if (token < tokens_.size() && tokens_[token] == kAnyRun) {
      token_after_run = ++token;
      run_end = offset;
      continue;
    }
    if (token == tokens_.size() && offset == text.size()) {
      return true;
    }
    const bool comparable = token < tokens_.size() && offset < text.size();
    const std::size_t taken = comparable ? take(tokens_[token], text, offset) : 0;
    if (taken > 0) {
      ++token;
      offset += taken;
      continue;
    }
    if (token_after_run == kNone || run_end >= text.size()) {
      return false;
    }
    run_end += character_bytes(text, run_end);
    offset = run_end;
    token = token_after_run;
  }
}

}  // namespace cdc::expr
