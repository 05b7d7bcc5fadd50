#include "serve/metrics.h"

#include <optional>
#include <string_view>

#include "base/format.h"

namespace cdc::serve {
namespace {

using state::BackfillTable;

struct Family {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::optional<std::uint64_t> (*value)(const BackfillTable&);
  bool has_state = false;
};

// A label value: backslash, quote and line break are escaped, all else stands for itself.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') {
      result += '\\';
    }
    result += c;
  }
  return result;
}

void append_family(std::string& out,
                   const Family& family,
                   const std::vector<BackfillTable>& tables) {
  out += cdc::format("# HELP {0} {1}\n# TYPE {0} {2}\n", family.name, family.help, family.type);
  for (const BackfillTable& table : tables) {
    const auto value = family.value(table);
    if (value) {
      out += cdc::format(
          "{}{{table=\"{}\"{}}} {}\n",
          family.name,
          escaped(table.table),
          family.has_state ? cdc::format(",state=\"{}\"", name_of(table.state)) : std::string(),
          *value);
    }
  }
}

}  // namespace

std::string backfill_metrics(const std::vector<BackfillTable>& tables) {
  using Value = std::optional<std::uint64_t>;
  constexpr Family kFamilies[] = {
      {.name = "kaptanto_backfill_rows_read_total",
       .type = "counter",
       .help = "Existing rows read by the latest backfill of the table.",
       .value = [](const BackfillTable& table) -> Value {
         return table.rows_read;
       }},
      {.name = "kaptanto_backfill_rows_emitted_total",
       .type = "counter",
       .help = "Of those, rows that became read events.",
       .value = [](const BackfillTable& table) -> Value {
         return table.rows_emitted;
       }},
      {.name = "kaptanto_backfill_rows_dropped_total",
       .type = "counter",
       .help = "Of those, rows left out because the stream had a newer change.",
       .value = [](const BackfillTable& table) -> Value {
         return table.rows_dropped;
       }},
      {.name = "kaptanto_backfill_rows_expected",
       .type = "gauge",
       .help = "Rows the table is estimated to have; absent while unknown.",
       .value = [](const BackfillTable& table) -> Value {
         return table.rows_total < 0 ? Value{}
                                     : Value{static_cast<std::uint64_t>(table.rows_total)};
       }},
      {.name = "kaptanto_backfill_state",
       .type = "gauge",
       .help = "1 for the state the backfill of the table is in.",
       .value = [](const BackfillTable&) -> Value { return 1; },
       .has_state = true},
  };
  std::string out;
  for (const Family& family : kFamilies) {
    append_family(out, family, tables);
  }
  return out;
}

}  // namespace cdc::serve
