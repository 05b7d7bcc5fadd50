// Proves that what is told of a backfill over HTTP reads back as it was, and which table a name
// means.
#include "serve/backfill_report.h"

#include <gtest/gtest.h>

namespace cdc::serve {
namespace {

using state::BackfillState;
using state::BackfillTable;

BackfillTable running_table() {
  return {.table = "public.\"We\nird",
          .snapshot_id = "01J8ZQ",
          .state = BackfillState::kRunning,
          .reason_code = "",
          .reason = "",
          .where = "a > 'x'",
          .rows_total = 4000,
          .rows_read = 1000,
          .rows_emitted = 990,
          .rows_dropped = 10,
          .chunks = 3,
          .from = Lsn{0x155CD28},
          .to = Lsn{0x16'0155CD28},
          .started = UnixMicros{1'700'000'000'000'001},
          .updated = UnixMicros{1'700'000'010'000'001},
          .finished = {}};
}

BackfillTable named(std::string name) {
  BackfillTable table;
  table.table = std::move(name);
  return table;
}

TEST(BackfillJson, HasEveryField) {
  EXPECT_EQ(backfill_json(running_table()),
            R"({"table":"public.\"We\nird","state":"running","snapshot_id":"01J8ZQ",)"
            R"("reason_code":null,"reason":null,"where":"a > 'x'","rows_total":4000,)"
            R"("rows_read":1000,"rows_emitted":990,"rows_dropped":10,"chunks":3,)"
            R"("from_lsn":"0/155CD28","to_lsn":"16/155CD28",)"
            R"("started":"2023-11-14T22:13:20.000001Z","updated":"2023-11-14T22:13:30.000001Z",)"
            R"("finished":null,"percent":25.0})");
}

TEST(BackfillJson, ReadsBack) {
  BackfillTable failed = named("a.b");
  failed.state = BackfillState::kFailed;
  failed.reason_code = "permission";
  failed.reason = "no right";
  failed.finished = UnixMicros{951'782'400'000'000};  // 29 February 2000
  const std::vector<BackfillTable> tables{running_table(), failed, named("a.c")};
  EXPECT_EQ(parse_backfills("{\"backfills\":[" + backfill_items_json(tables) + "]}").value(),
            tables);
  EXPECT_EQ(parse_backfills(backfill_json(failed)).value(), std::vector{failed});
  EXPECT_TRUE(parse_backfills("{\"backfills\":[]}").value().empty());
}

TEST(BackfillJson, RefusesWhatIsNoBackfill) {
  for (const std::string_view text :
       {"",
        "[]",
        "{}",
        R"({"table":"a.b"})",
        R"({"table":"a.b","state":"odd"})",
        R"({"table":1,"state":"running"})",
        R"({"table":"a.b","state":"running","from_lsn":"x"})",
        R"({"table":"a.b","state":"running","started":"yesterday"})",
        R"({"table":"a.b","state":"running","started":"2023-13-14T22:13:20.000001Z"})",
        R"({"table":"a.b","state":"running","started":"2023-11-14T2x:13:20.000001Z"})",
        R"({"backfills":[{}]})"}) {
    const auto tables = parse_backfills(text);
    ASSERT_FALSE(tables.has_value()) << text;
    EXPECT_EQ(tables.error().code, Errc::kProtocol);
  }
}

TEST(PercentOf, NeverShowsAnEndTooEarly) {
  BackfillTable table = running_table();
  EXPECT_EQ(percent_of(table), 25.0);
  table.rows_read = 5000;
  EXPECT_EQ(percent_of(table), 99.9);
  table.state = BackfillState::kComplete;
  EXPECT_EQ(percent_of(table), 100.0);
  table.state = BackfillState::kRunning;
  for (const std::int64_t unknown : {0, -1}) {
    table.rows_total = unknown;
    EXPECT_EQ(percent_of(table), std::nullopt);
  }
}

TEST(FindBackfill, TakesNamesAsUsersWriteThem) {
  const std::vector<BackfillTable> tables{
      named("a.orders"), named("b.orders"), named("b.we\"ird"), named("b.x.y"), named("c.items")};
  const auto found = [&](std::string_view name) {
    const auto table = find_backfill(tables, name);
    return table ? table->table : std::string(cdc::name_of(table.error().code));
  };
  EXPECT_EQ(found("a.orders"), "a.orders");
  EXPECT_EQ(found("\"a\".\"orders\""), "a.orders");
  EXPECT_EQ(found("items"), "c.items");
  EXPECT_EQ(found("\"items\""), "c.items");
  EXPECT_EQ(found("\"we\"\"ird\""), "b.we\"ird");
  EXPECT_EQ(found("b.\"x.y\""), "b.x.y");
  EXPECT_EQ(found("\"x.y\""), "b.x.y");
  EXPECT_EQ(found("orders"), "invalid_argument");
  EXPECT_EQ(found("y"), "not_found");
  EXPECT_EQ(found("ORDERS"), "not_found");
  EXPECT_EQ(found("rders"), "not_found");
  EXPECT_EQ(found(""), "not_found");
}

}  // namespace
}  // namespace cdc::serve
