// Proves the text that a registry writes, line by line: heads, escapes, ranges of histograms, and
// that labels cannot make it grow without end.
#include "base/metrics.h"

#include <array>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "base/process_stats.h"
#include "base/sync/thread.h"

namespace cdc::metrics {
namespace {

constexpr std::string_view kNothingLeftOut =
    "# HELP kaptanto_metrics_series_left_out Series beyond the 1000 that one metric may have.\n"
    "# TYPE kaptanto_metrics_series_left_out gauge\n"
    "kaptanto_metrics_series_left_out 0\n";

std::string text_of(Family family) {
  Registry registry;
  registry.add(std::move(family));
  std::string text = registry.text();
  EXPECT_TRUE(text.ends_with(kNothingLeftOut)) << text;
  text.resize(text.size() - kNothingLeftOut.size());
  return text;
}

TEST(Registry, WritesCountersAndGauges) {
  Counter events;
  events.add(18'446'744'073'709'551'615U);
  Registry registry;
  registry.add({.name = "events_total",
                .kind = Kind::kCounter,
                .help = "All events.",
                .collect = [&](Samples& samples) {
                  samples.add(events.load());
                }});
  registry.add({.name = "load", .help = "Load.", .collect = [](Samples& samples) {
                  samples.add(0.25, {{"a", "1"}, {"b", "2"}});
                }});
  registry.add({.name = "unknown", .help = "Not known now.", .collect = [](Samples&) {
                }});
  EXPECT_EQ(registry.text(),
            "# HELP events_total All events.\n# TYPE events_total counter\n"
            "events_total 18446744073709551615\n"
            "# HELP load Load.\n# TYPE load gauge\nload{a=\"1\",b=\"2\"} 0.25\n"
            "# HELP unknown Not known now.\n# TYPE unknown gauge\n" +
                std::string(kNothingLeftOut));
}

TEST(Registry, Escapes) {
  EXPECT_EQ(text_of({.name = "g",
                     .help = "back\\slash \"quoted\"\nnew line",
                     .collect =
                         [](Samples& samples) {
                           samples.add(std::uint64_t{1}, {{"t", "a\\b\"c\nd\xC3\xA9,}= "}});
                         }}),
            "# HELP g back\\\\slash \"quoted\"\\nnew line\n# TYPE g gauge\n"
            "g{t=\"a\\\\b\\\"c\\nd\xC3\xA9,}= \"} 1\n");
}

TEST(Histogram, CountsEachValueInTheRangeThatEndsWithIt) {
  constexpr std::array<std::uint64_t, 3> kBounds{500, 1'000, 2'500'000};
  Histogram histogram(kBounds);
  for (const std::uint64_t value : {0U, 500U, 501U, 1'000U, 2'500'001U}) {
    histogram.observe(value);
  }
  EXPECT_EQ(text_of({.name = "wait_seconds",
                     .kind = Kind::kHistogram,
                     .help = "Waiting.",
                     .collect =
                         [&](Samples& samples) {
                           samples.add(histogram, 1e6, {{"who", "x"}});
                         }}),
            "# HELP wait_seconds Waiting.\n# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{who=\"x\",le=\"0.0005\"} 2\n"
            "wait_seconds_bucket{who=\"x\",le=\"0.001\"} 4\n"
            "wait_seconds_bucket{who=\"x\",le=\"2.5\"} 4\n"
            "wait_seconds_bucket{who=\"x\",le=\"+Inf\"} 5\n"
            "wait_seconds_sum{who=\"x\"} 2.502002\n"
            "wait_seconds_count{who=\"x\"} 5\n");
}

TEST(Histogram, WithoutLabelsHasTheBoundAlone) {
  constexpr std::array<std::uint64_t, 1> kBounds{1'024};
  Histogram histogram(kBounds);
  histogram.observe(7);
  EXPECT_EQ(text_of({.name = "batch_bytes",
                     .kind = Kind::kHistogram,
                     .help = "Batches.",
                     .collect =
                         [&](Samples& samples) {
                           samples.add(histogram, 1);
                         }}),
            "# HELP batch_bytes Batches.\n# TYPE batch_bytes histogram\n"
            "batch_bytes_bucket{le=\"1024\"} 1\nbatch_bytes_bucket{le=\"+Inf\"} 1\n"
            "batch_bytes_sum 7\nbatch_bytes_count 1\n");
}

TEST(Histogram, LosesNothingWhenThreadsObserveAtOnce) {
  Histogram histogram(duration_bounds());
  constexpr std::uint64_t kEach = 10'000;
  {
    std::vector<Thread> threads(4);
    for (Thread& thread : threads) {
      thread.start("observer", [&] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
          histogram.observe(1);
        }
      });
    }
  }
  EXPECT_EQ(histogram.in_range(0), 4 * kEach);
  EXPECT_EQ(histogram.sum(), 4 * kEach);
}

TEST(Samples, LeaveOutWhatIsTooMuch) {
  Registry registry;
  registry.add({.name = "g", .help = "Many.", .collect = [](Samples& samples) {
                  for (std::size_t i = 0; i < Samples::kSeriesMax + 3; ++i) {
                    samples.add(std::uint64_t{i}, {{"table", std::to_string(i)}});
                  }
                }});
  const std::string text = registry.text();
  EXPECT_NE(text.find("g{table=\"999\"} 999\n"), std::string::npos);
  EXPECT_EQ(text.find("g{table=\"1000\"}"), std::string::npos);
  EXPECT_TRUE(text.ends_with("kaptanto_metrics_series_left_out 3\n"));
}

TEST(ProcessStats, AreThoseOfARunningProcess) {
  const ProcessStats stats = process_stats();
  EXPECT_GT(stats.resident_bytes.value_or(0), 1U << 20U);
  EXPECT_GE(stats.open_files.value_or(0), 3U);
  EXPECT_GE(stats.cpu_seconds, 0);
}

}  // namespace
}  // namespace cdc::metrics
