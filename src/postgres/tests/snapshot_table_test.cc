// Proves on a real server how tables are described and cut: partitions, filters and column lists,
// odd names and sizes, keys that no index orders, and what a role may not read.
#include "postgres/snapshot_table.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "postgres/tests/snapshot_fixture.h"

namespace cdc::postgres {
namespace {

using Lines = std::vector<std::string>;

class SnapshotTableTest : public testing::SnapshotFixture {
 protected:
  // Every range of the table, as its events.
  Lines read_all(const SnapshotTable& table,
                 const std::vector<SnapshotRange>& ranges,
                 std::uint64_t rows_max = 1'000) {
    Lines lines;
    for (const SnapshotRange& range : ranges) {
      ChunkRequest request = request_of(table);
      request.range = range;
      request.rows_max = rows_max;
      for (std::string& line : read_range(request)) {
        lines.push_back(std::move(line));
      }
    }
    return lines;
  }

  std::vector<SnapshotRange> split(const SnapshotTable& table,
                                   std::uint64_t rows_wanted = 1'000'000,
                                   std::size_t ranges_max = 64) {
    auto ranges = split_snapshot_table(reader->connection(), table, rows_wanted, ranges_max);
    EXPECT_TRUE(ranges.has_value());
    return *std::move(ranges);
  }

  Lines read_sorted(const SnapshotTable& table) {
    Lines rows = afters(read_all(table, split(table)));
    std::ranges::sort(rows);
    return rows;
  }
};

TEST_F(SnapshotTableTest, ListsWhatIsPublishedAndCaptured) {
  cluster->run({"CREATE TABLE b (id int PRIMARY KEY)",
                "CREATE TABLE a (id int PRIMARY KEY)",
                "CREATE TABLE root (id int PRIMARY KEY) PARTITION BY RANGE (id)",
                "CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (10)",
                "CREATE UNLOGGED TABLE u (id int PRIMARY KEY)"});
  const auto names = [&](std::string_view publication) {
    Lines shown;
    for (const auto& table :
         list_published_tables(reader->connection(), publication, *rules).value()) {
      EXPECT_EQ(table.oid, published(table.table).oid);
      shown.push_back(table.name());
    }
    return shown;
  };
  EXPECT_EQ(names("p"), (Lines{"public.a", "public.b", "public.root"}));
  EXPECT_EQ(names("none"), Lines{});
  set_rules({.name = "public.a"});
  EXPECT_EQ(names("p"), Lines{"public.a"});
  cluster->run({"ALTER PUBLICATION p SET (publish_via_partition_root = false)"});
  set_rules({});
  EXPECT_EQ(names("p"), (Lines{"public.a", "public.b", "public.leaf"}));
}

TEST_F(SnapshotTableTest, ReadsAPartitionedTableUnderItsRoot) {
  cluster->run({"CREATE TABLE root (id int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
                "CREATE TABLE low PARTITION OF root FOR VALUES FROM (0) TO (10)",
                "CREATE TABLE high (v text, gone int, id int NOT NULL)",
                "ALTER TABLE high DROP COLUMN gone",
                "ALTER TABLE root ATTACH PARTITION high FOR VALUES FROM (10) TO (20)",
                "CREATE TABLE sub PARTITION OF root FOR VALUES FROM (20) TO (40)"
                " PARTITION BY RANGE (id)",
                "CREATE TABLE sub1 PARTITION OF sub FOR VALUES FROM (20) TO (30)",
                "INSERT INTO root SELECT n, 'v' || n FROM generate_series(0, 29) n"});
  const SnapshotTable table = describe("root");
  EXPECT_TRUE(table.by_key());
  EXPECT_EQ(table.parts.size(), 3U);
  const auto ranges = split(table);
  EXPECT_EQ(ranges.size(), 3U);
  const Lines lines = read_all(table, ranges);
  EXPECT_EQ(lines.size(), 30U);
  const Lines rows = afters(lines);
  EXPECT_NE(std::ranges::find(rows, R"({"id":15,"v":"v15"})"), rows.end());
  for (const std::string& line : lines) {
    EXPECT_NE(line.find(R"("table":"root")"), std::string::npos);
  }
  cluster->run({"CREATE TABLE empty_root (id int PRIMARY KEY) PARTITION BY RANGE (id)"});
  EXPECT_TRUE(describe("empty_root").parts.empty());
}

TEST_F(SnapshotTableTest, LeavesChildrenToThemselves) {
  cluster->run({"CREATE TABLE parent (id int PRIMARY KEY)",
                "CREATE TABLE child () INHERITS (parent)",
                "INSERT INTO parent VALUES (1)",
                "INSERT INTO child VALUES (2)"});
  EXPECT_EQ(read_sorted(describe("parent")), Lines{R"({"id":1})"});
  EXPECT_EQ(read_sorted(describe("child")), Lines{R"({"id":2})"});
}

TEST_F(SnapshotTableTest, AppliesThePublicationsFilterAndColumns) {
  if (cluster->version() < 150'000) {
    GTEST_SKIP() << "the server has no row filters";
  }
  cluster->run(
      {"CREATE TABLE t (id int PRIMARY KEY, a text, secret text,"
       " twice int GENERATED ALWAYS AS (id * 2) STORED)",
       "INSERT INTO t SELECT n, 'a' || n, 's' FROM generate_series(1, 5) n",
       "DROP PUBLICATION p",
       "CREATE PUBLICATION p FOR TABLE t (id, a) WHERE (id > 3 OR a = 'a1')"
       " WITH (publish = 'insert')"});
  const SnapshotTable table = describe("t");
  EXPECT_EQ(table.select_list, R"("id", "a")");
  EXPECT_EQ(read_sorted(table),
            (Lines{R"({"id":1,"a":"a1"})", R"({"id":4,"a":"a4"})", R"({"id":5,"a":"a5"})"}));
  // A list that hides the key: the rows are told apart by their hash, and found by block.
  cluster->run({"ALTER PUBLICATION p SET TABLE t (a)"});
  const SnapshotTable hidden = describe("t");
  EXPECT_FALSE(hidden.by_key());
  EXPECT_TRUE(hidden.relation.row_hash_key);
  EXPECT_EQ(read_sorted(hidden).size(), 5U);
  cluster->run({"DROP PUBLICATION p", "CREATE PUBLICATION p FOR TABLE t"});
  EXPECT_EQ(describe("t").relation.columns.size(), 3U);
}

TEST_F(SnapshotTableTest, AppliesTheRuleAsTheStreamDoes) {
  cluster->run({"CREATE TABLE t (id int PRIMARY KEY, s text, n int8, b bool, x numeric)",
                "INSERT INTO t VALUES (1, 'on', 5, true, 1.5), (2, 'off', 5, true, 1.5),"
                " (3, 'on', NULL, true, 1.5), (4, 'on', 6, false, 1.5), (5, NULL, 5, true, 1),"
                " (6, 'o''n', -7, NULL, 'NaN')"});
  const auto ids = [&](std::string_view where) {
    set_rules({.name = "public.t", .columns = {"id"}, .where = std::string(where)});
    const SnapshotTable table = describe("t");
    std::string shown = table.filter + ":";
    for (const std::string& row : read_sorted(table)) {
      shown += between(row, "\"id\":", "}");
    }
    return shown;
  };
  EXPECT_EQ(ids("s = 'on'"), R"("s"::text COLLATE "C" = 'on'::text:134)");
  EXPECT_EQ(ids("s <> 'on' AND b"), R"("s"::text COLLATE "C" <> 'on'::text:2)");
  EXPECT_EQ(ids("s IN ('o''n', 'off')"),
            R"("s"::text COLLATE "C" IN ('o''n'::text, 'off'::text):26)");
  EXPECT_EQ(ids("n > '5' OR id = 1"), ":14");
  EXPECT_EQ(ids("n >= 5 AND b = true"), R"("n" >= '5'::int8 AND "b" = true:125)");
  EXPECT_EQ(ids("5 > n"), R"("n" < '5'::int8:6)");
  EXPECT_EQ(ids("n IS NOT NULL AND s IS NULL"), R"("n" IS NOT NULL AND "s" IS NULL:5)");
  EXPECT_EQ(ids("NOT b"), ":4");
  // What the server might take otherwise is left to the check of each row.
  EXPECT_EQ(ids("x > 1.4"), ":12346");
  EXPECT_EQ(ids("n < 5.5"), ":1256");
  EXPECT_EQ(ids("n < 99999999999999999999"), ":12456");
  EXPECT_EQ(ids("s > 'of'"), ":1234");
  EXPECT_EQ(ids("s = 'é'"), ":");
  EXPECT_EQ(ids("before.id = 1 AND missing = 1"), ":");
  set_rules({.name = "public.t", .operations = {model::Operation::kInsert}});
  EXPECT_TRUE(read_sorted(describe("t")).empty());
  set_rules({.name = "public.t", .operations = {model::Operation::kRead}});
  EXPECT_EQ(read_sorted(describe("t")).size(), 6U);
}

TEST_F(SnapshotTableTest, KeysThatNoUsableIndexOrdersAreReadByBlock) {
  cluster->run({"CREATE EXTENSION citext",
                "CREATE TABLE none (a int)",
                "CREATE TABLE by_index (id int PRIMARY KEY, code int NOT NULL)",
                "CREATE UNIQUE INDEX by_code ON by_index (code DESC)",
                "ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_code",
                "CREATE TABLE mixed (a int NOT NULL, b int NOT NULL)",
                "CREATE UNIQUE INDEX mixed_ab ON mixed (a, b DESC)",
                "ALTER TABLE mixed REPLICA IDENTITY USING INDEX mixed_ab",
                "CREATE TABLE collated (a text NOT NULL)",
                "CREATE UNIQUE INDEX collated_a ON collated (a COLLATE \"C\")",
                "ALTER TABLE collated REPLICA IDENTITY USING INDEX collated_a",
                "CREATE TABLE classed (a citext NOT NULL)",
                "CREATE UNIQUE INDEX classed_a ON classed (a text_ops)",
                "ALTER TABLE classed REPLICA IDENTITY USING INDEX classed_a",
                "INSERT INTO by_index SELECT n, -n FROM generate_series(1, 10) n",
                "INSERT INTO mixed SELECT n / 2, n % 2 FROM generate_series(0, 9) n",
                "INSERT INTO collated VALUES ('a'), ('B')",
                "INSERT INTO classed VALUES ('a'), ('A')"});
  EXPECT_TRUE(describe("by_index").by_key());
  for (const char* const name : {"none", "mixed", "collated", "classed"}) {
    EXPECT_FALSE(describe(name).by_key()) << name;
  }
  const SnapshotTable table = describe("by_index");
  EXPECT_EQ(read_all(table, split(table), 3).size(), 10U);
  EXPECT_EQ(read_sorted(describe("mixed")).size(), 10U);
  EXPECT_EQ(read_sorted(describe("classed")).size(), 2U);
}

TEST_F(SnapshotTableTest, HostileNamesAndWideTables) {
  const std::string name = R"(We"ird; 'Täble' \ {0} %s)";
  std::string columns;
  for (int i = 2; i <= 1'600; ++i) {
    columns += format(", c{} int", i);
  }
  cluster->run({R"(CREATE TABLE "We""ird; 'Täble' \ {0} %s" ("k'""; \ {1} %" text PRIMARY KEY))",
                R"(INSERT INTO "We""ird; 'Täble' \ {0} %s" VALUES ('a'), ('b'), ('c'), ('d'))",
                format("CREATE TABLE wide (id int PRIMARY KEY{})", columns),
                "INSERT INTO wide (id, c1600) SELECT n, n FROM generate_series(1, 10) n",
                "CREATE TABLE zero ()",
                "INSERT INTO zero DEFAULT VALUES"});
  const SnapshotTable odd = describe(name);
  EXPECT_EQ(read_all(odd, split(odd), 2).size(), 4U);
  const SnapshotTable wide = describe("wide");
  const Lines lines = read_all(wide, split(wide), 3);
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_NE(lines[9].find(R"("c1599":null,"c1600":10})"), std::string::npos);
  EXPECT_EQ(read_sorted(describe("zero")), Lines{"{}"});
}

TEST_F(SnapshotTableTest, EstimatesAndCutsBySize) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY, pad text)",
                "CREATE TABLE w (id int, pad text)",
                "CREATE TABLE empty (id int PRIMARY KEY)",
                "INSERT INTO k SELECT n, repeat('x', 50) FROM generate_series(1, 20000) n",
                "INSERT INTO w SELECT * FROM k"});
  EXPECT_EQ(describe("k").parts[0].rows, -1);
  EXPECT_EQ(describe("empty").parts[0].rows, 0);
  EXPECT_EQ(split(describe("empty"), 1).size(), 1U);
  EXPECT_GT(split(describe("k"), 1'000).size(), 1U);  // by the size alone
  cluster->run({"ANALYZE k", "ANALYZE w"});
  for (const char* const name : {"k", "w"}) {
    const SnapshotTable table = describe(name);
    EXPECT_NEAR(static_cast<double>(table.parts[0].rows), 20'000.0, 500.0);
    EXPECT_GT(table.parts[0].row_bytes, 50);
    EXPECT_EQ(split(table, 15'000).size(), 1U);
    EXPECT_EQ(split(table, 10, 6).size(), 6U);
    const auto ranges = split(table, 2'000);
    EXPECT_GE(ranges.size(), 8U);
    std::set<std::string> ids;
    for (const SnapshotRange& range : ranges) {
      const Lines rows = afters(read_all(table, {range}));
      EXPECT_LT(rows.size(), 6'000U);
      ids.insert(rows.begin(), rows.end());
    }
    EXPECT_EQ(ids.size(), 20'000U);
    EXPECT_EQ(read_all(table, ranges).size(), 20'000U);
  }
}

TEST_F(SnapshotTableTest, SaysWhyATableCannotBeRead) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY)",
                "DROP ROLE IF EXISTS plain",
                "CREATE ROLE plain LOGIN"});
  const PublishedTable table = published("k");
  reader = open_reader("plain");
  const auto error = [&](const PublishedTable& one) {
    const auto described = try_describe(one);
    EXPECT_FALSE(described.has_value());
    return described ? Error{} : described.error();
  };
  EXPECT_EQ(error(table).code, Errc::kPermission);
  EXPECT_EQ(error(table).hint, R"(run GRANT SELECT ON "public"."k" TO "plain")");
  cluster->run({"GRANT SELECT ON k TO plain", "ALTER TABLE k ENABLE ROW LEVEL SECURITY"});
  EXPECT_EQ(error(table).hint, R"(run ALTER ROLE "plain" BYPASSRLS)");
  cluster->run({"ALTER TABLE k DISABLE ROW LEVEL SECURITY"});
  EXPECT_TRUE(try_describe(table).has_value());
  cluster->run({"DROP PUBLICATION p"});
  EXPECT_EQ(error(table).code, Errc::kNotFound);
  cluster->run({"ALTER TABLE k RENAME TO k2"});
  EXPECT_EQ(error(table).code, Errc::kNotFound);
  cluster->run({"DROP TABLE k2", "DROP ROLE plain"});
  EXPECT_EQ(error(table).code, Errc::kNotFound);
}

}  // namespace
}  // namespace cdc::postgres
