#include "base/backoff.h"

#include <algorithm>

namespace cdc {

Backoff::Backoff(Options options, std::uint64_t seed)
    : options_(options), bound_(options.first), random_(seed) {}

std::chrono::milliseconds Backoff::next() {
  // splitmix64: small, and good for any seed.
  random_ += 0x9E3779B97F4A7C15U;
  std::uint64_t bits = random_;
  bits = (bits ^ bits >> 30U) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ bits >> 27U) * 0x94D049BB133111EBU;
  bits ^= bits >> 31U;
  const auto bound = static_cast<std::uint64_t>(std::max<std::int64_t>(1, bound_.count()));
  bound_ = std::min(bound_ * 2, options_.longest);
  return std::chrono::milliseconds{static_cast<std::int64_t>(1 + bits % bound)};
}

}  // namespace cdc
