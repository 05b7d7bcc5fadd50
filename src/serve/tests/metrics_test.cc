// Proves which figures of backfills are shown, by a strict reader of the text format of Prometheus,
// and that names of any kind come through.
#include "serve/metrics.h"

#include <map>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

namespace cdc::serve {
namespace {

using state::BackfillState;
using state::BackfillTable;

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

// Reads one sample: name, labels in braces, value. Escapes in labels are undone.
class SampleReader {
 public:
  explicit SampleReader(std::string_view line) : rest_(line) {}

  // `name|label=value|label=value`, or nothing when the line is malformed.
  std::optional<std::pair<std::string, std::string>> read() {
    std::string key(take_until('{'));
    if (!is_name(key)) {
      return std::nullopt;
    }
    for (;;) {
      const std::string label(take_until('='));
      const auto value = take_quoted();
      if (!is_name(label) || !value) {
        return std::nullopt;
      }
      key += "|" + label + "=" + *value;
      if (rest_.starts_with("} ")) {
        return std::pair{key, std::string(rest_.substr(2))};
      }
      if (!rest_.starts_with(',')) {
        return std::nullopt;
      }
      rest_.remove_prefix(1);
    }
  }

 private:
  std::string_view take_until(char end) {
    const std::size_t at = rest_.find(end);
    const std::string_view taken = rest_.substr(0, at);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + 1);
    return taken;
  }

  std::optional<std::string> take_quoted() {
    if (!rest_.starts_with('"')) {
      return std::nullopt;
    }
    std::string value;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return value;
      }
      if (rest_[i] == '\\') {
        ++i;
        if (i >= rest_.size() ||
            std::string_view("\\\"n").find(rest_[i]) == std::string_view::npos) {
          return std::nullopt;
        }
        value += rest_[i] == 'n' ? '\n' : rest_[i];
      } else {
        value += rest_[i];
      }
    }
    return std::nullopt;
  }

  std::string_view rest_;
};

// Shows the given tables.
class FixedControl final : public snapshot::Control {
 public:
  explicit FixedControl(std::vector<BackfillTable> tables) : tables_(std::move(tables)) {}

  [[nodiscard]] std::vector<BackfillTable> status() const override { return tables_; }

  Result<std::string> start(std::string_view, std::string_view) override { return refused(); }

  Result<std::string> pause(std::string_view) override { return refused(); }

  Result<std::string> resume(std::string_view) override { return refused(); }

  Result<std::string> cancel(std::string_view) override { return refused(); }

 private:
  static Result<std::string> refused() { return fail(Errc::kInternal, "not asked here"); }

  std::vector<BackfillTable> tables_;
};

std::string backfill_metrics(std::vector<BackfillTable> tables) {
  const FixedControl control(std::move(tables));
  metrics::Registry registry;
  add_backfill_metrics(registry, control);
  std::string text = registry.text();
  text.resize(text.find("# HELP kaptanto_metrics_series_left_out"));
  return text;
}

// All samples; fails the test for a line out of place. Each family has HELP, then TYPE, then its
// samples, once.
std::map<std::string, std::string> parsed(std::string_view text) {
  std::map<std::string, std::string> samples;
  std::map<std::string, std::string, std::less<>> types;
  std::string helped;
  std::string family;
  EXPECT_TRUE(text.ends_with('\n'));
  while (!text.empty()) {
    const std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(line.size() + 1);
    if (line.starts_with("# HELP ")) {
      helped = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_GT(line.size(), 8 + helped.size()) << line;
    } else if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      const std::string type = line.substr(8 + family.size());
      EXPECT_EQ(family, helped);
      EXPECT_TRUE(types.emplace(family, type).second) << line;
      EXPECT_EQ(type == "counter", family.ends_with("_total")) << line;
    } else {
      const auto sample = SampleReader(line).read();
      if (!sample) {
        ADD_FAILURE() << line;
        continue;
      }
      EXPECT_EQ(sample->first.substr(0, sample->first.find('|')), family);
      EXPECT_TRUE(samples.insert(*sample).second) << line;
    }
  }
  return samples;
}

TEST(BackfillMetrics, AreWellFormed) {
  BackfillTable running;
  running.table = "public.We\"ird\\\nname\xC3\xA9,}= ";
  running.state = BackfillState::kRunning;
  running.rows_total = 18;
  running.rows_read = 12;
  running.rows_emitted = 11;
  running.rows_dropped = 1;
  BackfillTable pending;
  pending.table = "public.b";
  pending.rows_read = 18'446'744'073'709'551'615U;
  const auto samples = parsed(backfill_metrics({running, pending}));
  const std::string table = "|table=" + running.table;
  EXPECT_EQ(samples.at("kaptanto_backfill_rows_read_total" + table), "12");
  EXPECT_EQ(samples.at("kaptanto_backfill_rows_emitted_total" + table), "11");
  EXPECT_EQ(samples.at("kaptanto_backfill_rows_dropped_total" + table), "1");
  EXPECT_EQ(samples.at("kaptanto_backfill_rows_expected" + table), "18");
  EXPECT_EQ(samples.at("kaptanto_backfill_state" + table + "|state=running"), "1");
  EXPECT_EQ(samples.at("kaptanto_backfill_rows_read_total|table=public.b"), "18446744073709551615");
  EXPECT_EQ(samples.at("kaptanto_backfill_state|table=public.b|state=pending"), "1");
  EXPECT_EQ(samples.size(), 9U);  // what is expected of the second is not known
}

TEST(BackfillMetrics, OfNoTablesAreOnlyTheirNames) {
  EXPECT_TRUE(parsed(backfill_metrics({})).empty());
}

}  // namespace
}  // namespace cdc::serve
