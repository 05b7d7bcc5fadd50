// Proves on a real server that the publication becomes exactly what the configuration says, and
// nothing else; that what must not or cannot be published is refused with the SQL that mends it;
// and that identifiers of every kind survive.

#include "postgres/publication.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/sync/thread.h"
#include "postgres/tests/test_cluster.h"

namespace cdc::postgres {
namespace {

using model::Operation;
using Names = std::vector<std::string>;

constexpr const char* kLongName =
    "äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüx";  // 61 bytes; two more below make the limit of 63

class PublicationTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<TestCluster>(
        TestCluster::Options{.settings = {"max_locks_per_transaction = 128"}});
    cluster->run({
        "CREATE ROLE owner LOGIN",
        "CREATE ROLE stranger LOGIN",
        "CREATE ROLE creator LOGIN",
        "GRANT CREATE ON DATABASE postgres TO owner, creator",
        "CREATE SCHEMA sales AUTHORIZATION owner",
        "CREATE SCHEMA \"We\"\"ird.Schema\" AUTHORIZATION owner",
        "GRANT ALL ON SCHEMA public TO owner",
        "SET SESSION AUTHORIZATION owner; CREATE TABLE orders (id int PRIMARY KEY, v text);"
        "CREATE TABLE customers (id int PRIMARY KEY);"
        "CREATE TABLE sales.orders_2025 (id int PRIMARY KEY);"
        "CREATE TABLE sales.orders_2026 (id int PRIMARY KEY);"
        "CREATE TABLE sales.misc (id int PRIMARY KEY);"
        "CREATE TABLE log (line text);"
        "CREATE TABLE full_log (line text); ALTER TABLE full_log REPLICA IDENTITY FULL;"
        "CREATE TABLE nothing (id int PRIMARY KEY); ALTER TABLE nothing REPLICA IDENTITY NOTHING;"
        "CREATE TABLE late_key (id int PRIMARY KEY DEFERRABLE);"
        "CREATE UNLOGGED TABLE scratch (id int PRIMARY KEY);"
        "CREATE VIEW looks AS SELECT * FROM orders;"
        "CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20);"
        "CREATE TABLE parted_log (id int) PARTITION BY RANGE (id);"
        "CREATE TABLE parted_log_1 PARTITION OF parted_log FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE \"We\"\"ird.Schema\".\"We\"\"ird Täble.1\" (id int PRIMARY KEY);"
        "CREATE TABLE \"We\"\"ird.Schema\".\"🐘\" (id int PRIMARY KEY);"
        "CREATE TABLE \"Select\" (id int PRIMARY KEY);"
        "CREATE TABLE \"" +
            std::string{kLongName} + "12\" (id int PRIMARY KEY)",
    });
  }

  static void TearDownTestSuite() { cluster.reset(); }

  void TearDown() override {
    cluster->run({"DROP PUBLICATION IF EXISTS kaptanto_pub_default",
                  "DROP PUBLICATION IF EXISTS \"Their \"\"pub\"\"\""});
  }

  static config::Config of(const Names& tables) {
    config::Config config;
    for (const std::string& table : tables) {
      config.tables.push_back({.name = table, .columns = {}, .where = {}, .operations = {}});
    }
    return config;
  }

  static config::Config existing(const Names& tables) {
    config::Config config = of(tables);
    config.postgres.publication = "Their \"pub\"";
    config.postgres.publication_existing = true;
    return config;
  }

  static Connection open(const std::string& user) {
    ConnectOptions options;
    options.dsn = cluster->dsn(user);
    auto connection = Connection::open(options, cluster->no_stop());
    EXPECT_TRUE(connection.has_value()) << connection.error().to_string();
    return *std::move(connection);
  }

  static Result<PublicationPlan> plan(const config::Config& config,
                                      const std::string& user = "owner") {
    Connection connection = open(user);
    return plan_publication(connection, config);
  }

  static Error refusal(const config::Config& config, const std::string& user = "owner") {
    const auto planned = plan(config, user);
    EXPECT_FALSE(planned.has_value());
    return planned ? Error{} : planned.error();
  }

  // Plans, applies, and expects that nothing is left to do.
  static PublicationPlan settle(const config::Config& config, const std::string& user = "owner") {
    Connection connection = open(user);
    const auto planned = plan_publication(connection, config);
    EXPECT_TRUE(planned.has_value()) << planned.error().to_string();
    if (!planned) {
      return {};
    }
    const auto applied = apply_publication(connection, *planned);
    EXPECT_TRUE(applied.has_value()) << applied.error().to_string();
    const auto again = plan_publication(connection, config);
    EXPECT_TRUE(again.has_value()) << again.error().to_string();
    EXPECT_TRUE(again->statements.empty()) << again->statements.front();
    EXPECT_EQ(again->tables, planned->tables);
    return *planned;
  }

  static std::string published() {
    return cluster->ask(
        "SELECT string_agg(schemaname || '.' || tablename, ' ' ORDER BY 1)"
        " FROM (SELECT * FROM pg_publication_tables ORDER BY 2, 3) x"
        " WHERE pubname = 'kaptanto_pub_default'");
  }

  static bool mentions(const Names& lines, const std::string& text) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  }

  static std::unique_ptr<TestCluster> cluster;
};

std::unique_ptr<TestCluster> PublicationTest::cluster;

TEST_F(PublicationTest, CreatesWhatIsConfigured) {
  const PublicationPlan made = settle(of({"orders", "sales.misc"}));
  EXPECT_EQ(made.name, "kaptanto_pub_default");
  EXPECT_EQ(made.tables, (Names{"public.orders", "sales.misc"}));
  EXPECT_EQ(made.statements.size(), 1U);
  EXPECT_TRUE(made.warnings.empty());
  EXPECT_EQ(published(), "public.orders sales.misc");
  EXPECT_EQ(cluster->ask("SELECT concat(pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot,"
                         " puballtables, pubowner::regrole) FROM pg_publication"),
            "tttttfowner");
  if (cluster->version() >= 180'000) {
    EXPECT_EQ(cluster->ask("SELECT pubgencols FROM pg_publication"), "s");
  }
}

TEST_F(PublicationTest, FollowsTheConfiguration) {
  settle(of({"orders", "sales.misc"}));
  PublicationPlan changed = settle(of({"orders", "customers"}));
  EXPECT_EQ(changed.statements,
            (Names{"ALTER PUBLICATION \"kaptanto_pub_default\" ADD TABLE ONLY "
                   "\"public\".\"customers\"",
                   "ALTER PUBLICATION \"kaptanto_pub_default\" DROP TABLE ONLY "
                   "\"sales\".\"misc\""}));
  EXPECT_EQ(published(), "public.customers public.orders");
  changed = settle(of({"orders"}));
  EXPECT_EQ(changed.statements.size(), 1U);
  EXPECT_EQ(published(), "public.orders");
}

TEST_F(PublicationTest, MendsWhatOthersChanged) {
  settle(of({"orders"}));
  cluster->run(
      {"ALTER PUBLICATION kaptanto_pub_default SET (publish = 'insert',"
       " publish_via_partition_root = false)"});
  if (cluster->version() >= 150'000) {
    cluster->run(
        {"ALTER PUBLICATION kaptanto_pub_default SET TABLE public.orders (id) WHERE (id > 1)"});
    settle(of({"orders"}));
    EXPECT_EQ(cluster->ask("SELECT count(*) FROM pg_publication_rel"
                           " WHERE prqual IS NOT NULL OR prattrs IS NOT NULL"),
              "0");
    cluster->run({"ALTER PUBLICATION kaptanto_pub_default ADD TABLES IN SCHEMA sales"});
  }
  settle(of({"orders"}));
  EXPECT_EQ(published(), "public.orders");
}

TEST_F(PublicationTest, ExpandsGlobs) {
  EXPECT_EQ(settle(of({"sales.orders_*"})).tables,
            (Names{"sales.orders_2025", "sales.orders_2026"}));
  EXPECT_EQ(settle(of({"orders*"})).tables,
            (Names{"public.orders", "sales.orders_2025", "sales.orders_2026"}));
  const PublicationPlan none = settle(of({"orders", "invoices_*"}));
  EXPECT_EQ(none.tables, Names{"public.orders"});
  EXPECT_TRUE(mentions(none.warnings, "invoices_*"));
}

TEST_F(PublicationTest, TakesABareNameAsPublic) {
  EXPECT_EQ(settle(of({"orders"})).tables, Names{"public.orders"});
  const Error error = refusal(of({"misc"}));
  EXPECT_EQ(error.code, Errc::kSourceSetup);
  EXPECT_NE(error.message.find("did you mean sales.misc?"), std::string::npos) << error.to_string();
}

TEST_F(PublicationTest, KeepsHostileIdentifiers) {
  const PublicationPlan made = settle(of({R"("We""ird.Schema"."We""ird Täble.1")",
                                          R"("We""ird.Schema"."🐘")",
                                          "Select",
                                          std::string{kLongName} + "12"}));
  EXPECT_EQ(made.tables,
            (Names{"We\"ird.Schema.We\"ird Täble.1",
                   "We\"ird.Schema.🐘",
                   "public.Select",
                   "public." + std::string{kLongName} + "12"}));
  config::Config config = of({"orders"});
  config.postgres.publication = "Their \"pub\"";
  settle(config);
  EXPECT_EQ(cluster->ask("SELECT count(*) FROM pg_publication WHERE pubname = 'Their \"pub\"'"),
            "1");
}

TEST_F(PublicationTest, NamesAllThatIsMissingAtOnce) {
  const Error error = refusal(of(
      {"orderz", "ORDERS", "nosuch.thing", "orders", "looks", "scratch", "pg_catalog.pg_class"}));
  EXPECT_EQ(error.code, Errc::kSourceSetup);
  for (const char* part : {"public.orderz does not exist (did you mean public.orders?)",
                           "public.ORDERS does not exist",
                           "nosuch.thing does not exist",
                           "public.looks is a view",
                           "public.scratch is unlogged",
                           "pg_catalog.pg_class is in a system schema"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << part << "\n" << error.to_string();
  }
  EXPECT_EQ(error.message.find("public.orders is"), std::string::npos) << error.to_string();
}

TEST_F(PublicationTest, RefusesAConfigurationThatMeansNothing) {
  EXPECT_EQ(refusal(of({"nosuch.*"})).code, Errc::kSourceSetup);
  EXPECT_EQ(refusal(of({})).code, Errc::kSourceSetup);
}

TEST_F(PublicationTest, PublishesPartitionsUnderTheirRoot) {
  PublicationPlan made = settle(of({"parted"}));
  EXPECT_EQ(made.tables, Names{"public.parted"});
  EXPECT_EQ(published(), "public.parted");
  cluster->run({"CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (20) TO (30)"});
  settle(of({"parted"}));
  cluster->run({"DROP TABLE parted_3"});

  made = settle(of({"parted", "parted_1", "parted_2*"}));
  EXPECT_TRUE(mentions(made.warnings, "public.parted_1 is a partition"));
  EXPECT_FALSE(mentions(made.warnings, "public.parted_2"));
  EXPECT_TRUE(std::ranges::find(made.tables, "public.parted_1") == made.tables.end());

  EXPECT_EQ(settle(of({"parted_2"})).tables, Names{"public.parted_2"});
  EXPECT_EQ(published(), "public.parted_2");
}

TEST_F(PublicationTest, RefusesTablesWhoseUpdatesWouldFail) {
  const Error error = refusal(of({"orders", "log", "nothing", "late_key", "parted_log"}));
  EXPECT_EQ(error.code, Errc::kSourceSetup);
  for (const char* part :
       {"public.log", "public.nothing", "public.late_key", "public.parted_log_1"}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.to_string();
  }
  EXPECT_NE(error.hint.find("ALTER TABLE \"public\".\"log\" REPLICA IDENTITY FULL"),
            std::string::npos);
  EXPECT_NE(error.hint.find("ALTER TABLE \"public\".\"nothing\" REPLICA IDENTITY DEFAULT"),
            std::string::npos);
  EXPECT_NE(error.hint.find("ALTER TABLE \"public\".\"parted_log_1\" REPLICA IDENTITY FULL"),
            std::string::npos);
  EXPECT_EQ(cluster->ask("SELECT count(*) FROM pg_publication"), "0");
  EXPECT_EQ(refusal(of({"*"})).code, Errc::kSourceSetup);
}

TEST_F(PublicationTest, PublishesInsertOnlyTablesWhenToldSo) {
  config::Config config = of({"log"});
  config.tables[0].operations = {Operation::kInsert};
  const PublicationPlan made = settle(config);
  EXPECT_EQ(made.tables, Names{"public.log"});
  EXPECT_TRUE(mentions(made.warnings, "UPDATE and DELETE on public.log fail"));
  EXPECT_TRUE(mentions(made.warnings, "without a primary key"));

  // Published already: stopping now would help nobody.
  const auto later = plan(of({"log"}));
  ASSERT_TRUE(later.has_value()) << later.error().to_string();
  EXPECT_TRUE(mentions(later->warnings, "UPDATE and DELETE on public.log fail"));
}

TEST_F(PublicationTest, TakesFullIdentityWithAWarning) {
  const PublicationPlan made = settle(of({"full_log"}));
  EXPECT_TRUE(mentions(made.warnings, "without a primary key"));
  EXPECT_TRUE(mentions(made.warnings, "public.full_log"));
}

TEST_F(PublicationTest, PublishesAllTablesAsASuperuser) {
  config::Config config = of({});
  config.all_tables = true;
  const Error error = refusal(config, "postgres");  // the keyless ones
  EXPECT_EQ(error.code, Errc::kSourceSetup) << error.to_string();

  for (const char* name : {"log", "nothing", "late_key", "parted_log"}) {
    config.tables.push_back(
        {.name = name, .columns = {}, .where = {}, .operations = {Operation::kInsert}});
  }
  const PublicationPlan made = settle(config, "postgres");
  EXPECT_NE(made.statements.at(0).find("FOR ALL TABLES"), std::string::npos);
  EXPECT_TRUE(mentions(made.warnings, "public.scratch"));
  EXPECT_TRUE(mentions(made.tables, "sales.misc"));

  // From all tables to some, and back: the publication has to be made anew.
  const PublicationPlan narrowed = settle(of({"orders"}), "postgres");
  EXPECT_EQ(narrowed.statements.size(), 1U);
  EXPECT_EQ(published(), "public.orders");
  EXPECT_EQ(settle(config, "postgres").statements.size(), 1U);
}

TEST_F(PublicationTest, ListsAllTablesWithoutASuperuser) {
  config::Config config = of({});
  config.all_tables = true;
  for (const char* name : {"log", "nothing", "late_key", "parted_log"}) {
    config.tables.push_back(
        {.name = name, .columns = {}, .where = {}, .operations = {Operation::kInsert}});
  }
  const PublicationPlan made = settle(config);
  EXPECT_TRUE(mentions(made.warnings, "no superuser"));
  EXPECT_EQ(cluster->ask("SELECT puballtables FROM pg_publication"), "f");
  EXPECT_EQ(std::to_string(made.tables.size()),
            cluster->ask("SELECT count(*) FROM pg_publication_rel"));
}

TEST_F(PublicationTest, TellsMissingRightsWithTheSqlThatGivesThem) {
  Error error = refusal(of({"orders", "sales.misc"}), "stranger");
  EXPECT_EQ(error.code, Errc::kPermission);
  for (const char* part : {"CREATE PUBLICATION \"kaptanto_pub_default\" FOR TABLE ONLY "
                           "\"public\".\"orders\", ONLY \"sales\".\"misc\"",
                           "GRANT CREATE ON DATABASE \"postgres\" TO \"stranger\"",
                           "GRANT \"owner\" TO \"stranger\""}) {
    EXPECT_NE(error.hint.find(part), std::string::npos) << part << "\n" << error.to_string();
  }
  error = refusal(of({"orders"}), "creator");
  EXPECT_EQ(error.code, Errc::kPermission);
  EXPECT_EQ(error.hint.find("GRANT CREATE"), std::string::npos) << error.to_string();

  // Once the owner has done it, nobody needs a right.
  settle(of({"orders"}));
  const auto settled = plan(of({"orders"}), "stranger");
  ASSERT_TRUE(settled.has_value()) << settled.error().to_string();
  EXPECT_TRUE(settled->statements.empty());

  error = refusal(of({"orders", "customers"}), "stranger");
  EXPECT_EQ(error.code, Errc::kPermission);
  EXPECT_NE(error.message.find("ownership of publication"), std::string::npos) << error.to_string();
}

TEST_F(PublicationTest, VerifiesAnExistingPublication) {
  EXPECT_EQ(refusal(existing({"orders"})).code, Errc::kSourceSetup);
  cluster->run(
      {"CREATE PUBLICATION \"Their \"\"pub\"\"\" FOR TABLE orders, sales.misc, parted, log"});

  const auto planned = plan(existing({"orders", "sales.*", "log"}), "stranger");
  ASSERT_TRUE(planned.has_value()) << planned.error().to_string();
  EXPECT_TRUE(planned->statements.empty());
  EXPECT_EQ(planned->tables, (Names{"public.log", "public.orders", "sales.misc"}));
  EXPECT_TRUE(mentions(planned->warnings, "sales.orders_2025"));
  EXPECT_TRUE(mentions(planned->warnings, "UPDATE and DELETE on public.log fail"));

  Error error = refusal(existing({"orders", "customers"}));
  EXPECT_EQ(error.code, Errc::kSourceSetup);
  EXPECT_NE(error.hint.find("ADD TABLE \"public\".\"customers\""), std::string::npos)
      << error.to_string();

  error = refusal(existing({"parted"}));
  EXPECT_EQ(error.code, Errc::kSourceSetup);
  EXPECT_NE(error.hint.find("publish_via_partition_root = true"), std::string::npos)
      << error.to_string();
  EXPECT_TRUE(plan(existing({"parted_1"})).has_value());
}

TEST_F(PublicationTest, ChecksTheOperationsOfAnExistingPublication) {
  cluster->run(
      {"CREATE PUBLICATION \"Their \"\"pub\"\"\" FOR TABLE orders WITH (publish = 'insert')"});
  config::Config config = existing({"orders"});
  const auto planned = plan(config);
  ASSERT_TRUE(planned.has_value()) << planned.error().to_string();
  EXPECT_TRUE(mentions(planned->warnings, "does not publish truncate"));

  config.tables[0].operations = {Operation::kInsert, Operation::kDelete};
  const Error error = refusal(config);
  EXPECT_EQ(error.code, Errc::kSourceSetup);
  EXPECT_NE(error.message.find("does not publish delete"), std::string::npos) << error.to_string();

  config.tables[0].operations = {Operation::kInsert};
  EXPECT_TRUE(plan(config)->warnings.empty());
}

TEST_F(PublicationTest, LeavesEachStatementWholeOrUndone) {
  Connection connection = open("owner");
  PublicationPlan broken = *plan(of({"orders"}));
  broken.statements.emplace_back(
      "ALTER PUBLICATION kaptanto_pub_default DROP TABLE public.orders; "
      "ALTER PUBLICATION kaptanto_pub_default ADD TABLE nosuch.table1");
  const auto applied = apply_publication(connection, broken);
  ASSERT_FALSE(applied.has_value());
  EXPECT_EQ(published(), "public.orders");
  EXPECT_EQ(connection.query("SHOW lock_timeout")->text(0, 0), "0");
  settle(of({"orders"}));
}

TEST_F(PublicationTest, WaitsForALockThatIsGivenUp) {
  Connection locker = cluster->connect();
  ASSERT_TRUE(locker.query("BEGIN").has_value());
  ASSERT_TRUE(locker.query("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").has_value());
  Connection connection = open("owner");
  const PublicationPlan blocked = *plan(of({"orders"}));
  Thread unblocker{"unblocker", [&] {
                     Connection watcher = cluster->connect();
                     wait_until(watcher, "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted");
                     EXPECT_TRUE(locker.query("ROLLBACK").has_value());
                   }};
  EXPECT_TRUE(apply_publication(connection, blocked).has_value());
}

TEST_F(PublicationTest, PublishesMoreTablesThanAStatementHasLocksFor) {
  cluster->run({"CREATE SCHEMA many AUTHORIZATION owner",
                "SET SESSION AUTHORIZATION owner; DO $$ BEGIN FOR i IN 1..1100 LOOP"
                " EXECUTE format('CREATE TABLE many.t%s (id int PRIMARY KEY)', i);"
                " END LOOP; END $$"});
  EXPECT_EQ(settle(of({"many.*"})).statements.size(), 2U);
  settle(of({"orders"}));
  EXPECT_EQ(settle(of({"orders", "many.*"})).statements.size(), 2U);
  settle(of({"orders"}));
}

TEST(PublicationOnAStandby, IsLeftAloneOrRefused) {
  TestCluster cluster;
  cluster.run({"CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)"});
  config::Config config;
  config.tables.push_back({.name = "t", .columns = {}, .where = {}, .operations = {}});
  {
    Connection connection = cluster.connect();
    ASSERT_TRUE(apply_publication(connection, *plan_publication(connection, config)).has_value());
  }
  cluster.restart_as_standby();
  Connection connection = cluster.connect();
  EXPECT_TRUE(plan_publication(connection, config).has_value());
  config.tables[0].name = "u";
  const auto planned = plan_publication(connection, config);
  ASSERT_FALSE(planned.has_value());
  EXPECT_EQ(planned.error().code, Errc::kSourceSetup);
  EXPECT_NE(planned.error().message.find("standby"), std::string::npos);
}

}  // namespace
}  // namespace cdc::postgres
