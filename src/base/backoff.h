#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace cdc {

// Delays between tries: a ceiling that doubles from `first` to `last`, and below it a random delay
// ("full jitter"), so that many clients of a server that restarts do not come back in step.
// Thread: one owner.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds last, std::uint64_t seed)
      : first_(first), last_(last), ceiling_(first), random_(seed) {}

  // The delay before the next try; at least a tenth of the ceiling, so that it never is a busy
  // loop.
  [[nodiscard]] std::chrono::milliseconds next() {
    const auto low = std::max<std::int64_t>(1, ceiling_.count() / 10);
    std::uniform_int_distribution<std::int64_t> delay(low, std::max(low, ceiling_.count()));
    ceiling_ = std::min(last_, 2 * ceiling_);
    return std::chrono::milliseconds{delay(random_)};
  }

  void reset() noexcept { ceiling_ = first_; }

 private:
  std::chrono::milliseconds first_;
  std::chrono::milliseconds last_;
  std::chrono::milliseconds ceiling_;
  std::mt19937_64 random_;
};

}  // namespace cdc
