// Proves on real servers that the preflight finds each fault with what mends it, goes on after the
// first one, and changes nothing.

#include "postgres/doctor.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/tests/test_cluster.h"

namespace cdc::postgres {
namespace {

using Checks = std::vector<Check>;

config::Config of(const std::string& dsn, const std::vector<std::string>& tables) {
  config::Config config;
  config.source = dsn;
  for (const std::string& table : tables) {
    config.tables.push_back({.name = table, .columns = {}, .where = {}, .operations = {}});
  }
  return config;
}

// The worst finding of that name; a failed one of another name when there is none.
Check find(const Checks& checks, const std::string& name) {
  Check worst{
      .name = "absent", .verdict = Verdict::kFail, .detail = "no finding " + name, .fix = {}};
  bool found = false;
  for (const Check& check : checks) {
    if (check.name == name && (!found || check.verdict > worst.verdict)) {
      worst = check;
      found = true;
    }
  }
  return worst;
}

std::string printed(const Checks& checks) {
  std::string out;
  for (const Check& check : checks) {
    out += check.name + " " + std::to_string(static_cast<int>(check.verdict)) + ": " +
           check.detail + " [" + check.fix + "]\n";
  }
  return out;
}

class DoctorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<TestCluster>(
        TestCluster::Options{.settings = {"max_slot_wal_keep_size = 1GB",
                                          "max_replication_slots = 4",
                                          "max_wal_senders = 2",
                                          "max_prepared_transactions = 2"}});
    cluster->run({
        "CREATE ROLE app LOGIN REPLICATION",
        "CREATE ROLE plain LOGIN",
        "CREATE SCHEMA hidden",
        "CREATE TABLE hidden.secret (id int PRIMARY KEY)",
        "CREATE TABLE foreigner (id int PRIMARY KEY)",
        "GRANT CREATE ON DATABASE postgres TO app",
        "GRANT ALL ON SCHEMA public TO app",
        "SET SESSION AUTHORIZATION app; CREATE TABLE orders (id int PRIMARY KEY);"
        "CREATE TABLE log (line text)",
    });
  }

  static void TearDownTestSuite() { cluster.reset(); }

  void TearDown() override {
    cluster->run({"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots",
                  "DROP PUBLICATION IF EXISTS kaptanto_pub_default",
                  "ALTER SYSTEM RESET ALL"});
    cluster->run({"SELECT pg_reload_conf()"});
  }

  static Checks examine(const config::Config& config) {
    return examine_source(config, cluster->no_stop());
  }

  // Sets at the level of the database, so that new sessions see it at once.
  static Checks examine_with(const std::string& setting, const std::string& user = "app") {
    cluster->run({"ALTER DATABASE postgres SET " + setting});
    Checks checks = examine(of(cluster->dsn(user), {"orders"}));
    cluster->run({"ALTER DATABASE postgres RESET ALL"});
    return checks;
  }

  static std::unique_ptr<TestCluster> cluster;
};

std::unique_ptr<TestCluster> DoctorTest::cluster;

TEST_F(DoctorTest, PassesAHealthySource) {
  const Checks checks = examine(of(cluster->dsn("app"), {"orders"}));
  for (const char* name : {"connection",
                           "server_version",
                           "standby",
                           "pooler",
                           "wal_level",
                           "output_plugin",
                           "encoding",
                           "role",
                           "replication_connection",
                           "slots_free",
                           "senders_free",
                           "slot",
                           "orphan_slots",
                           "max_slot_wal_keep_size",
                           "wal_sender_timeout",
                           "logical_decoding_work_mem",
                           "long_transactions",
                           "tables",
                           "replica_identity",
                           "keys",
                           "grants",
                           "database_create",
                           "publication"}) {
    EXPECT_EQ(find(checks, name).verdict, Verdict::kPass) << name << "\n" << printed(checks);
    EXPECT_EQ(find(checks, name).fix, "") << name;
  }
  EXPECT_EQ(cluster->ask("SELECT count(*) FROM pg_publication"), "0");
  EXPECT_EQ(cluster->ask("SELECT count(*) FROM pg_replication_slots"), "0");
}

TEST_F(DoctorTest, SaysWhyItCannotConnect) {
  const Checks checks = examine(of("host=127.0.0.1 port=1 user=u password=geheim", {"orders"}));
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].name, "connection");
  EXPECT_EQ(checks[0].verdict, Verdict::kFail);
  EXPECT_FALSE(checks[0].fix.empty());
  EXPECT_EQ(printed(checks).find("geheim"), std::string::npos);
  EXPECT_EQ(examine(of("nonsense geheim", {"orders"}))[0].detail.find("geheim"), std::string::npos);
}

TEST_F(DoctorTest, FindsAllFaultsOfARoleAtOnce) {
  const Checks checks =
      examine(of(cluster->dsn("plain"), {"orders", "log", "hidden.secret", "nosuch"}));
  const std::pair<const char*, const char*> wanted[] = {
      {"role", "ALTER ROLE \"plain\" REPLICATION"},
      {"replication_connection", "REPLICATION"},
      {"tables", "tables"},
      {"replica_identity", "ALTER TABLE \"public\".\"log\" REPLICA IDENTITY FULL"},
      {"database_create", "GRANT CREATE ON DATABASE \"postgres\" TO \"plain\""},
      {"publication", "GRANT \"app\" TO \"plain\""},
  };
  for (const auto& [name, fix] : wanted) {
    EXPECT_EQ(find(checks, name).verdict, Verdict::kFail) << name << "\n" << printed(checks);
    EXPECT_NE(find(checks, name).fix.find(fix), std::string::npos) << name << "\n"
                                                                   << printed(checks);
  }
  EXPECT_EQ(find(checks, "schema_usage").fix, "GRANT USAGE ON SCHEMA \"hidden\" TO \"plain\"");
  EXPECT_NE(find(checks, "select").fix.find("GRANT SELECT ON "), std::string::npos);
  EXPECT_EQ(find(checks, "keys").verdict, Verdict::kWarn);
}

TEST_F(DoctorTest, KnowsThePublicationsState) {
  Checks checks = examine(of(cluster->dsn("app"), {"orders"}));
  EXPECT_NE(find(checks, "publication").detail.find("to be created"), std::string::npos);
  cluster->run({"CREATE PUBLICATION kaptanto_pub_default FOR TABLE foreigner",
                "ALTER PUBLICATION kaptanto_pub_default OWNER TO app"});
  checks = examine(of(cluster->dsn("app"), {"orders"}));
  EXPECT_NE(find(checks, "publication").detail.find("to be altered"), std::string::npos);
  checks = examine(of(cluster->dsn("app"), {"orders", "foreigner"}));
  EXPECT_EQ(find(checks, "publication").verdict, Verdict::kPass) << printed(checks);

  config::Config config = of(cluster->dsn("app"), {"orders"});
  config.postgres.publication = "kaptanto_pub_default";
  config.postgres.publication_existing = true;
  checks = examine(config);
  EXPECT_EQ(find(checks, "publication").verdict, Verdict::kFail) << printed(checks);
  EXPECT_NE(find(checks, "publication").fix.find("ADD TABLE"), std::string::npos);
}

TEST_F(DoctorTest, FindsAPublishedTableWithoutIdentity) {
  cluster->run({"CREATE PUBLICATION kaptanto_pub_default FOR TABLE log",
                "ALTER PUBLICATION kaptanto_pub_default OWNER TO app"});
  const Checks checks = examine(of(cluster->dsn("app"), {"log"}));
  EXPECT_EQ(find(checks, "replica_identity").verdict, Verdict::kFail) << printed(checks);
  config::Config config = of(cluster->dsn("app"), {"log"});
  config.tables[0].operations = {model::Operation::kInsert};
  EXPECT_EQ(find(examine(config), "replica_identity").verdict, Verdict::kWarn);
}

TEST_F(DoctorTest, KnowsTheStateOfTheSlot) {
  const config::Config config = of(cluster->dsn("app"), {"orders"});
  cluster->run({"SELECT pg_create_logical_replication_slot('kaptanto_default', 'test_decoding')"});
  EXPECT_EQ(find(examine(config), "slot").verdict, Verdict::kFail);
  cluster->run({"SELECT pg_drop_replication_slot('kaptanto_default')",
                "SELECT pg_create_logical_replication_slot('kaptanto_default', 'pgoutput')"});
  const Checks checks = examine(config);
  EXPECT_EQ(find(checks, "slot").verdict, Verdict::kPass) << printed(checks);
  EXPECT_EQ(find(checks, "retained_wal").verdict, Verdict::kPass) << printed(checks);
  EXPECT_EQ(find(checks, "publication_after_slot").verdict, Verdict::kWarn) << printed(checks);
}

TEST_F(DoctorTest, FindsOrphanSlots) {
  cluster->run({"SELECT pg_create_logical_replication_slot('kaptanto_old', 'pgoutput')",
                "SELECT pg_create_logical_replication_slot('other', 'pgoutput')"});
  const Checks checks = examine(of(cluster->dsn("app"), {"orders"}));
  const Check orphan = find(checks, "orphan_slots");
  EXPECT_EQ(orphan.verdict, Verdict::kWarn) << printed(checks);
  EXPECT_NE(orphan.detail.find("kaptanto_old"), std::string::npos);
  EXPECT_NE(orphan.fix.find("pg_drop_replication_slot('kaptanto_old')"), std::string::npos);
}

TEST_F(DoctorTest, FindsThatNothingIsFree) {
  cluster->run(
      {"SELECT pg_create_physical_replication_slot('s' || i) FROM generate_series(1, 4) i"});
  ConnectOptions options;
  options.dsn = cluster->dsn("app");
  options.replication = true;
  std::vector<Connection> held;
  for (int i = 0; i < 2; ++i) {
    auto connection = Connection::open(options, cluster->no_stop());
    ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
    held.push_back(*std::move(connection));
  }
  const Checks checks = examine(of(cluster->dsn("app"), {"orders"}));
  for (const char* name : {"slots_free", "senders_free", "replication_connection"}) {
    EXPECT_EQ(find(checks, name).verdict, Verdict::kFail) << name << "\n" << printed(checks);
    EXPECT_FALSE(find(checks, name).fix.empty()) << name;
  }
}

TEST_F(DoctorTest, ReadsTheSettingsThatApply) {
  EXPECT_EQ(find(examine_with("wal_sender_timeout = '1s'"), "wal_sender_timeout").verdict,
            Verdict::kWarn);
  EXPECT_EQ(find(examine_with("wal_sender_timeout = 0"), "wal_sender_timeout").verdict,
            Verdict::kWarn);
  EXPECT_EQ(
      find(examine_with("logical_decoding_work_mem = '64kB'"), "logical_decoding_work_mem").verdict,
      Verdict::kWarn);
  const std::string known =
      cluster->ask("SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'");
  if (known == "1") {
    const Check plugin = find(examine_with("output_plugin_libraries = 'test_decoding'", "postgres"),
                              "output_plugin");
    EXPECT_EQ(plugin.verdict, Verdict::kFail);
    EXPECT_NE(plugin.fix.find("output_plugin_libraries"), std::string::npos);
  }
}

TEST_F(DoctorTest, KeepsQuietAboutShortTransactions) {
  Connection writer = cluster->connect();
  ASSERT_TRUE(writer.query("BEGIN").has_value());
  ASSERT_TRUE(writer.query("INSERT INTO orders VALUES (1)").has_value());
  const Checks checks = examine(of(cluster->dsn("app"), {"orders"}));
  EXPECT_EQ(find(checks, "long_transactions").verdict, Verdict::kPass) << printed(checks);
}

TEST(DoctorOnOtherServers, FindsTheWalLevel) {
  TestCluster cluster{{.settings = {"wal_level = replica"}}};
  const Checks checks = examine_source(of(cluster.dsn(), {}), cluster.no_stop());
  const Check level = find(checks, "wal_level");
  EXPECT_EQ(level.verdict, Verdict::kFail);
  EXPECT_NE(level.fix.find("wal_level = 'logical'"), std::string::npos);
  EXPECT_EQ(find(checks, "max_slot_wal_keep_size").verdict, Verdict::kWarn);
}

TEST(DoctorOnOtherServers, FindsAStandby) {
  TestCluster cluster;
  cluster.run({"CREATE TABLE t (id int PRIMARY KEY)"});
  cluster.restart_as_standby();
  const Checks checks = examine_source(of(cluster.dsn(), {"t"}), cluster.no_stop());
  EXPECT_EQ(find(checks, "standby").verdict,
            cluster.version() < 160'000 ? Verdict::kFail : Verdict::kWarn)
      << printed(checks);
  EXPECT_EQ(find(checks, "publication").verdict, Verdict::kFail) << printed(checks);
}

}  // namespace
}  // namespace cdc::postgres
