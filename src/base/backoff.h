#pragma once

#include <chrono>
#include <cstdint>

namespace cdc {

// How long to wait before the next attempt: a random time up to a bound that doubles with each
// failure ("full jitter"), so that many workers do not come back all at once.
// Thread: one owner.
class Backoff {
 public:
  struct Options {
    std::chrono::milliseconds first{100};
    std::chrono::milliseconds longest{30'000};
  };

  Backoff(Options options, std::uint64_t seed);

  // The wait after one more failure: at least 1 ms, at most the bound.
  [[nodiscard]] std::chrono::milliseconds next();

  // An attempt has succeeded.
  void reset() noexcept { bound_ = options_.first; }

 private:
  Options options_;
  std::chrono::milliseconds bound_;
  std::uint64_t random_;
};

}  // namespace cdc
