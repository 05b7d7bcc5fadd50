// Proves that what a publication publishes is told exactly as the server's own view has it, and
// without waiting for tables that others have locked.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "postgres/publication_catalog.h"
#include "postgres/tests/test_cluster.h"

namespace cdc::postgres {
namespace {

class PublishedTablesTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<TestCluster>();
    cluster->run({"CREATE SCHEMA \"S.x\"",
                  "CREATE TABLE plain (id int PRIMARY KEY)",
                  "CREATE TABLE \"S.x\".\"T\"\"é\" (id int PRIMARY KEY)",
                  "CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY)",
                  "CREATE VIEW looks AS SELECT * FROM plain",
                  "CREATE TABLE parent (id int PRIMARY KEY)",
                  "CREATE TABLE child () INHERITS (parent)",
                  "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id)",
                  "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (9)",
                  "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (99)"
                  " PARTITION BY RANGE (id)",
                  "CREATE TABLE \"S.x\".p21 PARTITION OF p2 FOR VALUES FROM (10) TO (20)"});
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static std::vector<std::string> found(Connection& connection) {
    std::vector<std::string> names;
    const auto tables = load_published_tables(connection, "made");
    EXPECT_TRUE(tables.has_value());
    for (const PublishedTable& table : tables.value()) {
      names.push_back(table.name());
    }
    return names;
  }

  static std::unique_ptr<TestCluster> cluster;
};

std::unique_ptr<TestCluster> PublishedTablesTest::cluster;

TEST_F(PublishedTablesTest, AgreesWithTheServersView) {
  std::vector<std::string> kinds = {"FOR ALL TABLES",
                                    "FOR TABLE plain, p",
                                    "FOR TABLE p, p1",
                                    "FOR TABLE p1, \"S.x\".p21",
                                    "FOR TABLE p2, \"S.x\".\"T\"\"é\"",
                                    "FOR TABLE parent",
                                    "FOR TABLE ONLY parent",
                                    ""};
  if (cluster->version() >= 150'000) {
    kinds.insert(kinds.end(),
                 {"FOR TABLES IN SCHEMA \"S.x\"",
                  "FOR TABLES IN SCHEMA public",
                  "FOR TABLES IN SCHEMA public, TABLE \"S.x\".p21"});
  }
  Connection connection = cluster->connect();
  for (const std::string& kind : kinds) {
    for (const char* via_root : {"true", "false"}) {
      cluster->run({format(
          "CREATE PUBLICATION made {} WITH (publish_via_partition_root = {})", kind, via_root)});
      const auto wanted = connection.query(
          "SELECT schemaname || '.' || tablename FROM pg_publication_tables"
          " WHERE pubname = 'made' ORDER BY schemaname, tablename");
      ASSERT_TRUE(wanted.has_value());
      std::vector<std::string> names;
      for (int row = 0; row < wanted->rows(); ++row) {
        names.emplace_back(wanted->text(row, 0));
      }
      EXPECT_EQ(found(connection), names) << kind << ", via root: " << via_root;
      cluster->run({"DROP PUBLICATION made"});
    }
  }
}

TEST_F(PublishedTablesTest, DoesNotWaitForALockedTable) {
  cluster->run({"CREATE PUBLICATION made FOR TABLE plain, p"});
  Connection holder = cluster->connect();
  ASSERT_TRUE(holder.query("BEGIN; LOCK TABLE plain IN ACCESS EXCLUSIVE MODE").has_value());
  Connection connection = cluster->connect();
  EXPECT_EQ(found(connection).size(), 3U);
  ASSERT_TRUE(holder.query("ROLLBACK").has_value());
  cluster->run({"DROP PUBLICATION made"});
}

}  // namespace
}  // namespace cdc::postgres
