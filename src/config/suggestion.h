#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cdc::config {

// The candidate that `word` most likely was meant to be, or nothing when none is near: at most one
// edit (insert, delete, replace, swap of neighbours) for every three letters, and at least one.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> candidates);

// `did you mean "where"?`, or an empty text: ready for the hint of an Error.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace cdc::config
