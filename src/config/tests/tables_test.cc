// Proves what the `tables` key means in each of its shapes, and how flags and environment replace
// it.
#include <gtest/gtest.h>

#include "config/load.h"

namespace cdc::config {
namespace {

using model::Operation;

Loaded load_yaml(std::string_view text, LoadInputs inputs = {}) {
  inputs.flags.try_emplace("source", std::vector<std::string>{"host=h"});
  return load_text(text, inputs, "c.yaml");
}

std::string faults_of(const Loaded& loaded) {
  std::string text;
  for (const Fault& fault : loaded.faults) {
    text += fault.to_string() + "\n";
  }
  return text;
}

std::vector<std::string> names_of(const Loaded& loaded) {
  std::vector<std::string> names;
  for (const TableRule& rule : loaded.config.tables) {
    names.push_back(rule.name);
  }
  return names;
}

TEST(Tables, MapHoldsRules) {
  const Loaded loaded = load_yaml(R"(tables:
  public.orders:
    columns: [id, "Total"]
    where: status <> 'archived'
    operations: [insert, delete, insert]
  public.payments: {}
  'public."We""ird.Name"':
  sales.*:
)");
  ASSERT_TRUE(loaded.ok()) << faults_of(loaded);
  EXPECT_EQ(names_of(loaded),
            (std::vector<std::string>{
                "public.orders", "public.payments", R"(public."We""ird.Name")", "sales.*"}));
  const TableRule& orders = loaded.config.tables[0];
  EXPECT_EQ(orders.columns, (std::vector<std::string>{"id", "Total"}));
  EXPECT_EQ(orders.where, "status <> 'archived'");
  EXPECT_EQ(orders.operations, (std::vector{Operation::kInsert, Operation::kDelete}));
  EXPECT_TRUE(loaded.config.tables[1].columns.empty());
}

TEST(Tables, ARuleMayHaveItsOwnSnapshotMode) {
  const Loaded loaded = load_yaml(R"(tables:
  a: {snapshot: initial}
  b: {snapshot: never, operations: [read, insert]}
  c: {snapshot: always}
  d: {snapshot: "${MODE}"}
  e: {snapshot: }
  f: {where: x = 1}
)",
                                  {.flags = {{"tables", {"a,b,c,d,e,f"}}},
                                   .environment = {{"MODE", "initial_only"}},
                                   .file = {}});
  ASSERT_TRUE(loaded.ok()) << faults_of(loaded);
  const auto& rules = loaded.config.tables;
  EXPECT_EQ(rules.at(0).snapshot, SnapshotMode::kInitial);
  EXPECT_EQ(rules.at(1).snapshot, SnapshotMode::kNever);
  EXPECT_EQ(rules.at(1).operations, (std::vector{Operation::kRead, Operation::kInsert}));
  EXPECT_EQ(rules.at(2).snapshot, SnapshotMode::kAlways);
  EXPECT_EQ(rules.at(3).snapshot, SnapshotMode::kInitialOnly);
  EXPECT_EQ(rules.at(4).snapshot, std::nullopt);
  EXPECT_EQ(rules.at(5).snapshot, std::nullopt);

  EXPECT_EQ(faults_of(load_yaml("tables: {a: {snapshot: initail}, b: {snapshot: [never]}}")),
            "c.yaml:1:24: tables.a.snapshot: \"initail\" is not a snapshot mode (did you mean "
            "\"initial\"? initial, never, always and initial_only are)\n"
            "c.yaml:1:48: tables.b.snapshot: must be a single value\n");
}

TEST(Tables, ListAndTextHoldNames) {
  EXPECT_EQ(names_of(load_yaml("tables: [a, b.c]")), (std::vector<std::string>{"a", "b.c"}));
  EXPECT_FALSE(load_yaml("tables: a").ok());
  EXPECT_FALSE(load_yaml("tables: 5").ok());
  const Environment environment{{"T", R"(x, y."a,b")"}};
  EXPECT_EQ(
      names_of(load_yaml("tables: ${T}", {.flags = {}, .environment = environment, .file = {}})),
      (std::vector<std::string>{"x", R"(y."a,b")"}));
}

TEST(Tables, FlagReplacesTheSetAndKeepsRules) {
  constexpr std::string_view kFile = R"(tables:
  public.orders: {where: "a = 1"}
  public.payments: {where: "b = 2"}
)";
  const Loaded loaded = load_yaml(
      kFile,
      {.flags = {{"tables", {R"("public"."orders",x)", "y"}}}, .environment = {}, .file = {}});
  ASSERT_TRUE(loaded.ok()) << faults_of(loaded);
  ASSERT_EQ(names_of(loaded), (std::vector<std::string>{"public.orders", "x", "y"}));
  EXPECT_EQ(loaded.config.tables[0].where, "a = 1");
  EXPECT_EQ(loaded.config.tables[1].where, "");

  const Loaded layered = load_yaml(kFile,
                                   {.flags = {{"tables", {"public.payments"}}},
                                    .environment = {{"KAPTANTO_TABLES", "public.orders"}},
                                    .file = {}});
  ASSERT_EQ(names_of(layered), (std::vector<std::string>{"public.payments"}));
  EXPECT_EQ(layered.config.tables[0].where, "b = 2");
}

TEST(Tables, FaultsNameTheirPlace) {
  const Loaded loaded = load_yaml(R"(tables:
  public.orders:
    wher: a = 1
    columns: id
  public.b:
    where: "a = "
    operations: [insrt, message]
    columns: [x, x, ""]
  a.b.c:
  '"public".orders': {}
  t: [1]
)");
  EXPECT_EQ(faults_of(loaded),
            "c.yaml:3:5: tables.public.orders.wher: unknown key (did you mean \"where\"?)\n"
            "c.yaml:4:14: tables.public.orders.columns: must be a list (write [a, b])\n"
            "c.yaml:6:12: tables.public.b.where: column 5: expected a column or a value, found the "
            "end, at the mark: a = >>>\n"
            "c.yaml:7:17: tables.public.b.operations: \"insrt\" is not an operation of a table "
            "(did you mean \"insert\"? insert, update, delete, truncate and read are)\n"
            "c.yaml:7:17: tables.public.b.operations: \"message\" is not an operation of a table "
            "(insert, update, delete, truncate and read are)\n"
            "c.yaml:8:21: tables.public.b.columns: an item of the list is empty\n"
            "c.yaml:8:14: tables.public.b.columns: the column \"x\" is listed twice\n"
            "c.yaml:9:3: tables.a.b.c: the name has more than two parts (write schema.table, and "
            "put a part that contains a dot in double quotes)\n"
            "c.yaml:10:3: tables.\"public\".orders: this table is named twice (keep one of them)\n"
            "c.yaml:11:6: tables.t: must be empty, or a map of columns, where, operations and "
            "snapshot\n");
}

TEST(Tables, FlagFaultsNameTheFlag) {
  const Loaded loaded = load_yaml(
      "", {.flags = {{"tables", {"a,\"b", "c,c", "d,,e"}}}, .environment = {}, .file = {}});
  EXPECT_EQ(faults_of(loaded), "--tables: an item of the list is empty\n");
  const Loaded named =
      load_yaml("", {.flags = {{"tables", {"a.b.c", "c,c"}}}, .environment = {}, .file = {}});
  EXPECT_EQ(
      faults_of(named),
      "--tables: tables.a.b.c: the name has more than two parts (write schema.table, and put a "
      "part that contains a dot in double quotes)\n"
      "--tables: tables.c: this table is named twice (keep one of them)\n");
}

TEST(Tables, NoneAtAllIsAFault) {
  EXPECT_EQ(
      faults_of(load_yaml("output: none")),
      "tables: no table is named (name some with --tables or the key tables, or ask for every "
      "table with --all-tables)\n");
  EXPECT_TRUE(load_yaml("all-tables: true").ok());
  EXPECT_FALSE(load_yaml("tables: {}").ok());
  EXPECT_FALSE(load_yaml("tables:").ok());
  EXPECT_FALSE(
      load_yaml("tables: [a]", {.flags = {{"tables", {""}}}, .environment = {}, .file = {}}).ok());
}

}  // namespace
}  // namespace cdc::config
