#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync/counter.h"

namespace cdc::metrics {

// How often values fell into each of a few ranges.
// Thread: observe() from any, without a lock; a reader sees some recent state.
class Histogram {
 public:
  // Upper bounds, each included in its range, ascending. They outlive the histogram.
  explicit Histogram(std::span<const std::uint64_t> bounds)
      : bounds_(bounds), ranges_(bounds.size() + 1) {}

  void observe(std::uint64_t value) noexcept;

  [[nodiscard]] std::span<const std::uint64_t> bounds() const noexcept { return bounds_; }

  // How many fell into range `i`; the last one is that of everything above the bounds.
  [[nodiscard]] std::uint64_t in_range(std::size_t i) const noexcept { return ranges_[i].load(); }

  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_.load(); }

 private:
  std::span<const std::uint64_t> bounds_;
  std::vector<Counter> ranges_;
  Counter sum_;
};

// Bounds in microseconds from 0.1 ms to 10 s, for what takes time.
[[nodiscard]] std::span<const std::uint64_t> duration_bounds() noexcept;
// Bounds in bytes from 256 B to 4 MiB.
[[nodiscard]] std::span<const std::uint64_t> size_bounds() noexcept;

struct Label {
  std::string_view name;
  std::string_view value;
};

using Labels = std::initializer_list<Label>;

enum class Kind : std::uint8_t {
  kCounter,
  kGauge,
  kHistogram
};

// Writes the samples of one family as the text format of Prometheus has them.
// Bounds: kSeriesMax series; what comes beyond is counted and left out, so that no label can make
// the text grow without end.
class Samples {
 public:
  static constexpr std::size_t kSeriesMax = 1'000;

  Samples(std::string& out, std::string_view name) : out_(out), name_(name) {}

  void add(std::uint64_t value, Labels labels = {});
  void add(double value, Labels labels = {});
  // `units` of the observed values make one of those that are shown: 1e6 for microseconds that are
  // shown as seconds.
  void add(const Histogram& histogram, double units, Labels labels = {});

  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

 private:
  [[nodiscard]] bool takes_one();
  void line(std::string_view suffix, Labels labels, std::string_view bound, std::string_view value);

  std::string& out_;
  std::string_view name_;
  std::size_t series_ = 0;
  std::size_t left_out_ = 0;
};

struct Family {
  std::string_view name;
  Kind kind = Kind::kGauge;
  std::string_view help;
  // Called at each look, on the thread that looks; what it reads must be fit for that. A value that
  // is not known now is not added.
  std::function<void(Samples&)> collect;
};

// All metrics of the process, in the order they were added.
// Thread: filled by one; text() from one at a time afterwards. Lifetime: what the families' calls
// refer to outlives the registry's last text().
class Registry {
 public:
  // The name is well-formed and new; counters end in _total, and nothing else does.
  void add(Family family);

  // The text format of Prometheus, version 0.0.4.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Family> families_;
};

}  // namespace cdc::metrics
