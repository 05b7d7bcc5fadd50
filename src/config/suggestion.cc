#include "config/suggestion.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/format.h"

namespace cdc::config {
namespace {

constexpr std::size_t kWordBytesMax = 64;

// Optimal string alignment distance: Levenshtein plus swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_back(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    previous[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], two_back[j - 2] + 1);
      }
    }
    two_back.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

// Case and the choice between - and _ are never what tells two names apart.
std::string normalized(std::string_view word) {
  std::string result(word);
  for (char& c : result) {
    c = c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return result;
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  if (word.size() > kWordBytesMax) {
    return std::nullopt;
  }
  const std::string wanted = normalized(word);
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string_view> best;
  for (const std::string_view candidate : candidates) {
    const std::size_t edits = distance(wanted, normalized(candidate));
    if (edits < best_distance && edits < candidate.size()) {
      best_distance = edits;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const auto candidate = nearest(word, candidates);
  return candidate ? cdc::format("did you mean \"{}\"?", *candidate) : std::string();
}

}  // namespace cdc::config
