// Proves on a real server what the catalog queries say of keys, identities, partitions and types,
// with identifiers that need every kind of quoting.

#include "postgres/catalog.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/tests/test_cluster.h"

namespace cdc::postgres {
namespace {

using Names = std::vector<std::string>;

TEST(ParseNameArray, TakesQuotesAndEscapes) {
  EXPECT_EQ(parse_name_array("{}"), Names{});
  EXPECT_EQ(parse_name_array(""), Names{});
  EXPECT_EQ(parse_name_array("{id}"), Names{"id"});
  EXPECT_EQ(parse_name_array(R"({a,"b, c","d\"e\\",NULL," "})"),
            (Names{"a", "b, c", "d\"e\\", "NULL", " "}));
}

class CatalogTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<TestCluster>();
    cluster->run({
        "CREATE SCHEMA \"We\"\"ird.Schema\"",
        "CREATE TABLE plain (a int, id int, PRIMARY KEY (id, a) INCLUDE (extra), extra text)",
        "CREATE TABLE \"We\"\"ird.Schema\".\"Täble, {1} 🐘\" "
        "(\"Id, \"\"x\"\"\" int, \"b\\c\" int, PRIMARY KEY (\"b\\c\", \"Id, \"\"x\"\"\"))",
        "CREATE TABLE keyless (a int)",
        "ALTER TABLE keyless REPLICA IDENTITY FULL",
        "CREATE TABLE by_index (id int PRIMARY KEY, code int NOT NULL, part int NOT NULL)",
        "CREATE UNIQUE INDEX by_index_code ON by_index (part, code)",
        "ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_code",
        "CREATE TABLE root (id int PRIMARY KEY, v text) PARTITION BY RANGE (id)",
        "CREATE TABLE leaf PARTITION OF root FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE dropped (gone int, id int PRIMARY KEY)",
        "ALTER TABLE dropped DROP COLUMN gone",
        "CREATE VIEW looks AS SELECT 1 AS one",
        "CREATE TYPE mood AS ENUM ('sad', 'ok')",
        "CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
        "CREATE DOMAIN moods AS mood[]",
    });
    Connection connection = cluster->connect();
    for (TableInfo& table : parse_tables(*connection.query(tables_sql()))) {
      tables[table.schema + "." + table.table] = std::move(table);
    }
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static std::uint32_t type_oid(const std::string& name) {
    return static_cast<std::uint32_t>(
        std::stoul(cluster->ask("SELECT to_regtype('public." + name + "')::oid")));
  }

  static std::unique_ptr<TestCluster> cluster;
  static std::map<std::string, TableInfo> tables;
};

std::unique_ptr<TestCluster> CatalogTest::cluster;
std::map<std::string, TableInfo> CatalogTest::tables;

TEST_F(CatalogTest, ListsOrdinaryAndPartitionedUserTables) {
  Names names;
  for (const auto& [name, table] : tables) {
    names.push_back(name);
  }
  EXPECT_EQ(names,
            (Names{"We\"ird.Schema.Täble, {1} 🐘",
                   "public.by_index",
                   "public.dropped",
                   "public.keyless",
                   "public.leaf",
                   "public.plain",
                   "public.root"}));
}

TEST_F(CatalogTest, GivesKeysInIndexOrder) {
  EXPECT_EQ(tables["public.plain"].primary_key, (Names{"id", "a"}));
  EXPECT_EQ(tables["public.plain"].replica_identity, 'd');
  EXPECT_TRUE(tables["public.plain"].identity_index.empty());
  EXPECT_EQ(tables["We\"ird.Schema.Täble, {1} 🐘"].primary_key, (Names{"b\\c", "Id, \"x\""}));
  EXPECT_TRUE(tables["public.keyless"].primary_key.empty());
  EXPECT_EQ(tables["public.keyless"].replica_identity, 'f');
  EXPECT_EQ(tables["public.by_index"].primary_key, Names{"id"});
  EXPECT_EQ(tables["public.by_index"].identity_index, (Names{"part", "code"}));
  EXPECT_EQ(tables["public.by_index"].replica_identity, 'i');
  EXPECT_EQ(tables["public.dropped"].primary_key, Names{"id"});
}

TEST_F(CatalogTest, KnowsPartitions) {
  EXPECT_TRUE(tables["public.root"].partitioned);
  EXPECT_FALSE(tables["public.root"].is_partition);
  EXPECT_FALSE(tables["public.leaf"].partitioned);
  EXPECT_TRUE(tables["public.leaf"].is_partition);
  EXPECT_EQ(tables["public.leaf"].primary_key, Names{"id"});
}

TEST_F(CatalogTest, GivesOneTableByItsOid) {
  Connection connection = cluster->connect();
  const auto one = parse_tables(*connection.query(table_sql(tables["public.by_index"].oid)));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].table, "by_index");
  EXPECT_EQ(one[0].primary_key, Names{"id"});
  EXPECT_TRUE(parse_tables(*connection.query(table_sql(1))).empty());
}

TEST_F(CatalogTest, GivesDomainsAndTrueArrays) {
  Connection connection = cluster->connect();
  std::map<std::uint32_t, TypeRow> types;
  for (const TypeRow& type : parse_types(*connection.query(types_sql()))) {
    types[type.oid] = type;
  }
  EXPECT_EQ(types.at(type_oid("positive")).base_oid, 23U);
  EXPECT_EQ(types.at(type_oid("positive")).element_oid, 0U);
  EXPECT_EQ(types.at(type_oid("moods")).base_oid, type_oid("mood[]"));
  EXPECT_EQ(types.at(type_oid("moods")).element_oid, 0U);
  EXPECT_EQ(types.at(type_oid("mood[]")).element_oid, type_oid("mood"));
  EXPECT_EQ(types.at(type_oid("mood[]")).delimiter, ',');
  EXPECT_EQ(types.at(type_oid("positive[]")).element_oid, type_oid("positive"));
  EXPECT_EQ(types.at(1020).delimiter, ';');  // box[]
  EXPECT_FALSE(types.contains(22));          // int2vector prints no array
  EXPECT_FALSE(types.contains(type_oid("mood")));
}

}  // namespace
}  // namespace cdc::postgres
