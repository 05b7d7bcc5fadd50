#include "serve/metrics.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "state/backfill_store.h"

namespace cdc::serve {
namespace {

using metrics::Kind;
using metrics::Samples;
using state::BackfillTable;

// One series for each table.
void add_family(metrics::Registry& registry,
                const snapshot::Control& control,
                metrics::Family family,
                std::optional<std::uint64_t> (*value_of)(const BackfillTable&)) {
  family.collect = [&control, value_of](Samples& samples) {
    for (const BackfillTable& table : control.status()) {
      if (const auto value = value_of(table)) {
        samples.add(*value, {{"table", table.table}});
      }
    }
  };
  registry.add(std::move(family));
}

}  // namespace

void add_backfill_metrics(metrics::Registry& registry, const snapshot::Control& control) {
  using Value = std::optional<std::uint64_t>;
  add_family(registry,
             control,
             {.name = "kaptanto_backfill_rows_read_total",
              .kind = Kind::kCounter,
              .help = "Existing rows read by the latest backfill of the table.",
              .collect = {}},
             [](const BackfillTable& table) -> Value { return table.rows_read; });
  add_family(registry,
             control,
             {.name = "kaptanto_backfill_rows_emitted_total",
              .kind = Kind::kCounter,
              .help = "Of those, rows that became read events.",
              .collect = {}},
             [](const BackfillTable& table) -> Value { return table.rows_emitted; });
  add_family(registry,
             control,
             {.name = "kaptanto_backfill_rows_dropped_total",
              .kind = Kind::kCounter,
              .help = "Of those, rows left out because the stream had a newer change.",
              .collect = {}},
             [](const BackfillTable& table) -> Value { return table.rows_dropped; });
  add_family(registry,
             control,
             {.name = "kaptanto_backfill_rows_expected",
              .help = "Rows the table is estimated to have; absent while unknown.",
              .collect = {}},
             [](const BackfillTable& table) -> Value {
               return table.rows_total < 0 ? Value{}
                                           : Value{static_cast<std::uint64_t>(table.rows_total)};
             });
  registry.add({.name = "kaptanto_backfill_state",
                .help = "1 for the state the backfill of the table is in.",
                .collect = [&control](Samples& samples) {
                  for (const BackfillTable& table : control.status()) {
                    samples.add(std::uint64_t{1},
                                {{"table", table.table}, {"state", name_of(table.state)}});
                  }
                }});
}

}  // namespace cdc::serve
