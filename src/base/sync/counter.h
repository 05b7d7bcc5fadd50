#pragma once

#include <atomic>
#include <cstdint>

namespace cdc {

// A running total for metrics. Orders nothing: a reader sees some recent value.
// Thread: any.
class Counter {
 public:
  void add(std::uint64_t amount) noexcept { value_.fetch_add(amount, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t load() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// A number that one thread sets and any may look at. Orders nothing either.
class Gauge {
 public:
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t load() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace cdc
