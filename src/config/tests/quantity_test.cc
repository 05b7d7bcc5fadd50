// Proves that durations and sizes are exact, that what is printed parses back, and that everything
// else is refused.
#include "config/quantity.h"

#include <random>

#include <gtest/gtest.h>

namespace cdc::config {
namespace {

using namespace std::chrono_literals;

TEST(Duration, ReadsWhatPeopleWrite) {
  const std::vector<std::pair<std::string, std::chrono::milliseconds>> cases{
      {"0", 0ms},
      {"0s", 0ms},
      {"150ms", 150ms},
      {"2s", 2s},
      {"5m", 5min},
      {"24h", 24h},
      {"7d", 168h},
      {"1h30m", 90min},
      {"1h0m0s", 1h},
      {"1.5h", 90min},
      {"0.001s", 1ms},
      {"1d2h3m4s5ms", 26h + 3min + 4s + 5ms},
      {"90m", 90min},
      {"36500d", 876'000h}};
  for (const auto& [text, expected] : cases) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration.has_value()) << text;
    EXPECT_EQ(*duration, expected) << text;
  }
}

TEST(Duration, RefusesEverythingElse) {
  for (const char* text : {"",     "5",       "1h30",          "h",         "-1s",
                           "+1s",  "1 h",     " 1h",           "1h ",       "1H",
                           "1w",   "1us",     "1m1h",          "1h1h",      "1.h",
                           ".5h",  "1.0001s", "36501d",        "36500d1ms", "99999999999999999999d",
                           "1e3s", "1h,30m",  "1.0000000001s", "00x"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(Duration, PrintsWhatParsesBack) {
  EXPECT_EQ(format_duration(0ms), "0");
  EXPECT_EQ(format_duration(90min), "1h30m");
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::chrono::milliseconds duration{
        static_cast<std::int64_t>(random() % 3'153'600'000'000ULL)};
    ASSERT_EQ(parse_duration(format_duration(duration)).value(), duration);
  }
}

TEST(Size, ReadsWhatPeopleWrite) {
  const std::vector<std::pair<std::string, std::uint64_t>> cases{{"0", 0},
                                                                 {"1024", 1024},
                                                                 {"1B", 1},
                                                                 {"64MiB", 64ULL << 20U},
                                                                 {"64mib", 64ULL << 20U},
                                                                 {"1GB", 1'000'000'000},
                                                                 {"1kB", 1000},
                                                                 {"1KB", 1000},
                                                                 {"1KiB", 1024},
                                                                 {"1.5GiB", 3ULL << 29U},
                                                                 {"2TiB", 2ULL << 40U},
                                                                 {"3TB", 3'000'000'000'000},
                                                                 {"16 GiB", 16ULL << 30U}};
  for (const auto& [text, expected] : cases) {
    const auto size = parse_size(text);
    ASSERT_TRUE(size.has_value()) << text;
    EXPECT_EQ(*size, expected) << text;
  }
}

TEST(Size, RefusesEverythingElse) {
  for (const char* text : {"",
                           "M",
                           "1M",
                           "1Mi",
                           "-1",
                           "1.5",
                           "0.3KiB",
                           " 1",
                           "1  MB",
                           "1MB ",
                           "1e3",
                           "0x10",
                           "4611686018427387905",
                           "99999999999999999999",
                           "9999999999TiB",
                           "1.2.3MB"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << text;
  }
}

TEST(Size, PrintsWhatParsesBack) {
  EXPECT_EQ(format_size(64ULL << 20U), "64MiB");
  EXPECT_EQ(format_size(1001), "1001");
  std::mt19937_64 random(2);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t size = (random() % 1000) << (random() % 50);
    ASSERT_EQ(parse_size(format_size(size)).value(), size);
  }
}

}  // namespace
}  // namespace cdc::config
