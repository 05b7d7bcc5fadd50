#include "base/metrics.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/format.h"

namespace cdc::metrics {
namespace {

constexpr std::array<std::uint64_t, 15> kDurationBounds{100,
                                                        250,
                                                        500,
                                                        1'000,
                                                        2'500,
                                                        5'000,
                                                        10'000,
                                                        25'000,
                                                        50'000,
                                                        100'000,
                                                        250'000,
                                                        500'000,
                                                        1'000'000,
                                                        2'500'000,
                                                        10'000'000};
constexpr std::array<std::uint64_t, 8> kSizeBounds{
    256, 1U << 10U, 4U << 10U, 16U << 10U, 64U << 10U, 256U << 10U, 1U << 20U, 4U << 20U};

std::string_view name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::kCounter:
      return "counter";
    case Kind::kGauge:
      return "gauge";
    case Kind::kHistogram:
      return "histogram";
  }
  return "untyped";
}

bool is_name(std::string_view text) noexcept {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

// Backslash and line break are escaped, and a label's quote; all else stands for itself.
void append_escaped(std::string& out, std::string_view text, bool is_label) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (is_label && c == '"')) {
      out += '\\';
    }
    out += c;
  }
}

}  // namespace

std::span<const std::uint64_t> duration_bounds() noexcept {
  return kDurationBounds;
}

std::span<const std::uint64_t> size_bounds() noexcept {
  return kSizeBounds;
}

void Histogram::observe(std::uint64_t value) noexcept {
  const auto range = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  ranges_[static_cast<std::size_t>(range)].add(1);
  sum_.add(value);
}

bool Samples::takes_one() {
  if (series_ == kSeriesMax) {
    ++left_out_;
    return false;
  }
  ++series_;
  return true;
}

void Samples::line(std::string_view suffix,
                   Labels labels,
                   std::string_view bound,
                   std::string_view value) {
  out_ += name_;
  out_ += suffix;
  char separator = '{';
  for (const Label& label : labels) {
    out_ += separator;
    out_ += label.name;
    out_ += "=\"";
    append_escaped(out_, label.value, true);
    out_ += '"';
    separator = ',';
  }
  if (!bound.empty()) {
    out_ += cdc::format("{}le=\"{}\"", separator, bound);
    separator = ',';
  }
  out_ += separator == ',' ? "} " : " ";
  out_ += value;
  out_ += '\n';
}

void Samples::add(std::uint64_t value, Labels labels) {
  if (takes_one()) {
    line("", labels, "", std::to_string(value));
  }
}

void Samples::add(double value, Labels labels) {
  if (takes_one()) {
    line("", labels, "", cdc::format("{}", value));
  }
}

// The count is that of the ranges, so that it equals the last of them whatever happens meanwhile.
void Samples::add(const Histogram& histogram, double units, Labels labels) {
  if (!takes_one()) {
    return;
  }
  const std::span<const std::uint64_t> bounds = histogram.bounds();
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    count += histogram.in_range(i);
    line("_bucket",
         labels,
         cdc::format("{}", static_cast<double>(bounds[i]) / units),
         std::to_string(count));
  }
  count += histogram.in_range(bounds.size());
  line("_bucket", labels, "+Inf", std::to_string(count));
  line("_sum", labels, "", cdc::format("{}", static_cast<double>(histogram.sum()) / units));
  line("_count", labels, "", std::to_string(count));
}

void Registry::add(Family family) {
  CDC_ASSERT(is_name(family.name) && family.collect);
  CDC_ASSERT((family.kind == Kind::kCounter) == family.name.ends_with("_total"));
  CDC_ASSERT(std::ranges::find(families_, family.name, &Family::name) == families_.end());
  families_.push_back(std::move(family));
}

std::string Registry::text() const {
  std::string out;
  std::size_t left_out = 0;
  const auto append_head = [&out](std::string_view name, std::string_view help, Kind kind) {
    out += cdc::format("# HELP {} ", name);
    append_escaped(out, help, false);
    out += cdc::format("\n# TYPE {} {}\n", name, name_of(kind));
  };
  for (const Family& family : families_) {
    append_head(family.name, family.help, family.kind);
    Samples samples(out, family.name);
    family.collect(samples);
    left_out += samples.left_out();
  }
  constexpr std::string_view kLeftOut = "kaptanto_metrics_series_left_out";
  append_head(kLeftOut,
              cdc::format("Series beyond the {} that one metric may have.", Samples::kSeriesMax),
              Kind::kGauge);
  Samples(out, kLeftOut).add(std::uint64_t{left_out});
  return out;
}

}  // namespace cdc::metrics
