#pragma once

#include <atomic>

namespace cdc {

// A small setting that any thread reads and the main thread may change.
class AtomicLevel {
 public:
  constexpr explicit AtomicLevel(int value) noexcept : value_(value) {}

  void store(int value) noexcept { value_.store(value, std::memory_order_relaxed); }

  [[nodiscard]] int load() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> value_;
};

}  // namespace cdc
