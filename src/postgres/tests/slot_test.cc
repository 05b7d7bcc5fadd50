// Proves on a real server that a slot is created, verified and refused as slot.h says: each way in
// which a slot can be somebody else's, lost, moved, busy or impossible to make.

#include "postgres/slot.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/slot_catalog.h"
#include "postgres/tests/test_cluster.h"

namespace cdc::postgres {
namespace {

using std::chrono::milliseconds;

class SlotTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<TestCluster>(
        TestCluster::Options{.settings = {"max_slot_wal_keep_size = 16MB",
                                          "min_wal_size = 32MB",
                                          "max_wal_size = 48MB",
                                          "max_replication_slots = 3",
                                          "max_prepared_transactions = 2"}});
    cluster->run({"CREATE DATABASE other",
                  "CREATE ROLE streamer LOGIN REPLICATION",
                  "CREATE ROLE plain LOGIN",
                  "CREATE TABLE t (id int PRIMARY KEY)"});
  }

  static void TearDownTestSuite() { cluster.reset(); }

  void TearDown() override {
    cluster->run(
        {"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active"});
    Connection connection = cluster->connect();
    wait_until(connection, "SELECT count(*) = 0 FROM pg_replication_slots WHERE active");
    cluster->run({"SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"});
  }

  static config::Config configured() {
    config::Config config;
    config.source_id = "test";
    return config;
  }

  static Connection open(const std::string& user = "streamer", const char* database = "postgres") {
    ConnectOptions options;
    options.dsn = cluster->dsn(user, database);
    auto connection = Connection::open(options, cluster->no_stop());
    EXPECT_TRUE(connection.has_value()) << connection.error().to_string();
    return *std::move(connection);
  }

  static Result<EnsuredSlot> ensure(const config::Config& config,
                                    const SlotExpectation& expectation = {}) {
    Connection connection = open();
    return ensure_slot(connection, config, expectation);
  }

  static Error refusal(const config::Config& config, const SlotExpectation& expectation = {}) {
    const auto ensured = ensure(config, expectation);
    EXPECT_FALSE(ensured.has_value());
    return ensured ? Error{} : ensured.error();
  }

  static Lsn lsn(const std::string& sql) { return parse_lsn(cluster->ask(sql)).value(); }

  // Makes the server drop the WAL that the slot needs.
  static void invalidate_slots() {
    for (int i = 0; i < 5; ++i) {
      cluster->run({"SELECT pg_logical_emit_message(false, 'p', 'x')", "SELECT pg_switch_wal()"});
    }
    cluster->run({"CHECKPOINT"});
  }

  static std::unique_ptr<TestCluster> cluster;
};

std::unique_ptr<TestCluster> SlotTest::cluster;

TEST_F(SlotTest, IdentifiesTheServerAsAPlainRole) {
  Connection connection = open("plain");
  const auto identity = identify_server(connection);
  ASSERT_TRUE(identity.has_value()) << identity.error().to_string();
  EXPECT_EQ(identity->system_identifier,
            cluster->ask("SELECT system_identifier FROM pg_control_system()"));
  EXPECT_EQ(identity->timeline, 1U);
  EXPECT_EQ(identity->database, "postgres");
  EXPECT_EQ(identity->version, cluster->version());
  EXPECT_EQ(identity->wal_sender_timeout_ms, 60'000);
}

TEST_F(SlotTest, CreatesASlotAndFindsItAgain) {
  const auto created = ensure(configured());
  ASSERT_TRUE(created.has_value()) << created.error().to_string();
  EXPECT_TRUE(created->state.created);
  EXPECT_EQ(created->state.name, "kaptanto_test");
  EXPECT_TRUE(static_cast<bool>(created->state.confirmed_flush));
  EXPECT_FALSE(created->gap.has_value());
  EXPECT_EQ(cluster->ask("SELECT plugin || database || slot_type || temporary || two_phase"
                         " FROM pg_replication_slots"),
            "pgoutputpostgreslogicalfalsefalse");

  for (const bool used_before : {false, true}) {
    const auto found = ensure(
        configured(), {.used_before = used_before, .durable = created->state.confirmed_flush});
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    EXPECT_FALSE(found->state.created);
    EXPECT_EQ(found->state.confirmed_flush, created->state.confirmed_flush);
    EXPECT_FALSE(found->gap.has_value());
  }
}

TEST_F(SlotTest, TakesTheConfiguredName) {
  config::Config config = configured();
  config.postgres.slot = "my_slot";
  EXPECT_EQ(ensure(config)->state.name, "my_slot");
  config.postgres.slot = "Not-A-Slot";
  EXPECT_EQ(refusal(config).code, Errc::kConfigInvalid);
}

TEST_F(SlotTest, RefusesSlotsOfAnotherKind) {
  config::Config config = configured();
  config.postgres.slot = "foreign_slot";
  const std::vector<std::string> makers = {
      "SELECT pg_create_logical_replication_slot('foreign_slot', 'test_decoding')",
      "SELECT pg_create_physical_replication_slot('foreign_slot')",
      "SELECT pg_create_logical_replication_slot('foreign_slot', 'pgoutput', false, true)",
  };
  for (const std::string& maker : makers) {
    cluster->run({maker});
    const Error error = refusal(config);
    EXPECT_EQ(error.code, Errc::kSlotForeign) << error.to_string();
    EXPECT_FALSE(error.hint.empty());
    cluster->run({"SELECT pg_drop_replication_slot('foreign_slot')"});
  }
  cluster->run({"SELECT pg_create_logical_replication_slot('foreign_slot', 'pgoutput')"}, "other");
  const Error error = refusal(config);
  EXPECT_EQ(error.code, Errc::kSlotForeign) << error.to_string();
  EXPECT_NE(error.message.find("other"), std::string::npos) << error.to_string();
}

TEST_F(SlotTest, RefusesASlotThatIsGone) {
  const Lsn durable = lsn("SELECT pg_current_wal_flush_lsn()");
  const Error error = refusal(configured(), {.used_before = true, .durable = durable});
  EXPECT_EQ(error.code, Errc::kSlotLost) << error.to_string();
  EXPECT_NE(error.hint.find("accept-gap"), std::string::npos) << error.to_string();
  EXPECT_EQ(cluster->ask("SELECT count(*) FROM pg_replication_slots"), "0");

  config::Config config = configured();
  config.postgres.accept_gap = true;
  const auto created = ensure(config, {.used_before = true, .durable = durable});
  ASSERT_TRUE(created.has_value()) << created.error().to_string();
  EXPECT_TRUE(created->state.created);
  ASSERT_TRUE(created->gap.has_value());
  EXPECT_EQ(created->gap->from, durable);
  EXPECT_EQ(created->gap->to, created->state.confirmed_flush);
}

TEST_F(SlotTest, RefusesASlotThatWasMoved) {
  const Lsn durable = ensure(configured())->state.confirmed_flush;
  cluster->run({"INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
                "SELECT pg_replication_slot_advance('kaptanto_test', pg_current_wal_lsn())"});
  const SlotExpectation expectation{.used_before = true, .durable = durable};
  const Error error = refusal(configured(), expectation);
  EXPECT_EQ(error.code, Errc::kSlotGap) << error.to_string();

  config::Config config = configured();
  config.postgres.accept_gap = true;
  const auto taken = ensure(config, expectation);
  ASSERT_TRUE(taken.has_value()) << taken.error().to_string();
  EXPECT_FALSE(taken->state.created);
  ASSERT_TRUE(taken->gap.has_value());
  EXPECT_EQ(taken->gap->from, durable);
  EXPECT_EQ(taken->gap->to, taken->state.confirmed_flush);
  EXPECT_GT(taken->gap->to, durable);
}

TEST_F(SlotTest, RefusesAnInvalidatedSlot) {
  const Lsn durable = ensure(configured())->state.confirmed_flush;
  invalidate_slots();
  const SlotExpectation expectation{.used_before = true, .durable = durable};
  for (const SlotExpectation& known : {expectation, SlotExpectation{}}) {
    const Error error = refusal(configured(), known);
    EXPECT_EQ(error.code, Errc::kSlotLost) << error.to_string();
    EXPECT_NE(error.hint.find("max_slot_wal_keep_size"), std::string::npos) << error.to_string();
  }
  config::Config config = configured();
  config.postgres.accept_gap = true;
  const auto created = ensure(config, expectation);
  ASSERT_TRUE(created.has_value()) << created.error().to_string();
  EXPECT_TRUE(created->state.created);
  ASSERT_TRUE(created->gap.has_value());
  EXPECT_EQ(created->gap->from, durable);
  EXPECT_EQ(created->gap->to, created->state.confirmed_flush);
}

TEST_F(SlotTest, NamesWhoUsesTheSlot) {
  ASSERT_TRUE(ensure(configured()).has_value());
  ConnectOptions options;
  options.dsn = cluster->dsn("streamer");
  options.replication = true;
  options.application_name = "the other one";
  auto other = Connection::open(options, cluster->no_stop());
  ASSERT_TRUE(other.has_value()) << other.error().to_string();
  ASSERT_TRUE(other
                  ->send("START_REPLICATION SLOT kaptanto_test LOGICAL 0/0 (proto_version '1', "
                         "publication_names 'p')")
                  .has_value());
  Connection watcher = cluster->connect();
  wait_until(watcher, "SELECT active FROM pg_replication_slots WHERE slot_name = 'kaptanto_test'");
  const Error error = refusal(configured());
  EXPECT_EQ(error.code, Errc::kSlotBusy) << error.to_string();
  EXPECT_TRUE(error.is_retryable());
  for (const std::string& part : {std::to_string(other->backend_pid()),
                                  std::string{"the other one"},
                                  std::string{"127.0.0.1"}}) {
    EXPECT_NE(error.message.find(part), std::string::npos) << error.to_string();
  }
}

TEST_F(SlotTest, RefusesAServerWhoseWalEndsBeforeOurs) {
  ASSERT_TRUE(ensure(configured()).has_value());
  config::Config config = configured();
  config.postgres.accept_gap = true;  // must not help
  const Error error = refusal(config, {.used_before = true, .durable = Lsn{1ULL << 60U}});
  EXPECT_EQ(error.code, Errc::kSlotForeign) << error.to_string();
}

TEST_F(SlotTest, TellsThatAllSlotsAreTaken) {
  for (const char* name : {"a", "b", "c"}) {
    cluster->run({std::string{"SELECT pg_create_physical_replication_slot('"} + name + "')"});
  }
  const Error error = refusal(configured());
  EXPECT_EQ(error.code, Errc::kSourceSetup) << error.to_string();
  EXPECT_NE(error.hint.find("max_replication_slots"), std::string::npos) << error.to_string();
}

TEST_F(SlotTest, TellsAMissingReplicationAttribute) {
  Connection connection = open("plain");
  const auto ensured = ensure_slot(connection, configured(), {});
  ASSERT_FALSE(ensured.has_value());
  EXPECT_EQ(ensured.error().code, Errc::kPermission) << ensured.error().to_string();
  EXPECT_NE(ensured.error().hint.find("ALTER ROLE \"plain\" REPLICATION"), std::string::npos)
      << ensured.error().to_string();
}

TEST_F(SlotTest, NamesTheTransactionThatBlocksCreation) {
  ConnectOptions options;
  options.dsn = cluster->dsn("postgres");
  options.application_name = "long worker";
  auto writer = Connection::open(options, cluster->no_stop());
  ASSERT_TRUE(writer.has_value());
  ASSERT_TRUE(writer->query("BEGIN").has_value());
  ASSERT_TRUE(writer->query("INSERT INTO public.t VALUES (1000)").has_value());
  Connection connection = open();
  const auto ensured = ensure_slot(connection, configured(), {}, milliseconds{300});
  ASSERT_FALSE(ensured.has_value());
  const Error& error = ensured.error();
  EXPECT_TRUE(error.is_retryable()) << error.to_string();
  const std::string pid = std::to_string(writer->backend_pid());
  EXPECT_NE(error.message.find(pid), std::string::npos) << error.to_string();
  EXPECT_NE(error.message.find("long worker"), std::string::npos) << error.to_string();
  EXPECT_NE(error.hint.find("pg_terminate_backend(" + pid + ")"), std::string::npos);
  EXPECT_EQ(cluster->ask("SELECT count(*) FROM pg_replication_slots"), "0");

  // The same connection is of use again once the transaction is over.
  ASSERT_TRUE(writer->query("ROLLBACK").has_value());
  EXPECT_TRUE(ensure_slot(connection, configured(), {}).has_value());
  EXPECT_EQ(connection.query("SHOW statement_timeout")->text(0, 0), "0");
}

TEST_F(SlotTest, NamesAPreparedTransactionThatBlocksCreation) {
  cluster->run({"BEGIN; INSERT INTO t VALUES (1001); PREPARE TRANSACTION 'half done'"});
  Connection connection = open();
  const auto ensured = ensure_slot(connection, configured(), {}, milliseconds{300});
  cluster->run({"ROLLBACK PREPARED 'half done'"});
  ASSERT_FALSE(ensured.has_value());
  EXPECT_NE(ensured.error().message.find("half done"), std::string::npos)
      << ensured.error().to_string();
}

TEST_F(SlotTest, CreatesWithFailoverWhereTheServerCan) {
  config::Config config = configured();
  config.postgres.slot_failover = true;
  const auto ensured = ensure(config);
  if (cluster->version() < 170'000) {
    ASSERT_FALSE(ensured.has_value());
    EXPECT_EQ(ensured.error().code, Errc::kUnsupported);
    return;
  }
  ASSERT_TRUE(ensured.has_value()) << ensured.error().to_string();
  EXPECT_EQ(cluster->ask("SELECT failover FROM pg_replication_slots"), "t");
}

TEST_F(SlotTest, ListsSlotsWithWhatTheyRetain) {
  ASSERT_TRUE(ensure(configured()).has_value());
  cluster->run({"SELECT pg_create_physical_replication_slot('bare')"});
  Connection connection = open();
  const auto slots = list_slots(connection);
  ASSERT_TRUE(slots.has_value()) << slots.error().to_string();
  ASSERT_EQ(slots->size(), 2U);
  EXPECT_EQ((*slots)[0].name, "bare");
  EXPECT_FALSE((*slots)[0].logical);
  EXPECT_FALSE((*slots)[0].retained_bytes.has_value());
  EXPECT_EQ((*slots)[1].name, "kaptanto_test");
  EXPECT_TRUE((*slots)[1].retained_bytes.has_value());
  EXPECT_TRUE((*slots)[1].safe_bytes.has_value());
  EXPECT_EQ((*slots)[1].wal_status, "reserved");
}

TEST(SlotOnAServerWithoutLogicalDecoding, TellsTheSetting) {
  TestCluster cluster{{.settings = {"wal_level = replica"}}};
  Connection connection = cluster.connect();
  const auto ensured = ensure_slot(connection, config::Config{}, {});
  ASSERT_FALSE(ensured.has_value());
  EXPECT_EQ(ensured.error().code, Errc::kSourceSetup) << ensured.error().to_string();
  EXPECT_NE(ensured.error().hint.find("wal_level = logical"), std::string::npos);
}

TEST(SlotOnAStandby, IsRefusedWhereTheServerCannotDecode) {
  TestCluster cluster;
  cluster.restart_as_standby();
  Connection connection = cluster.connect();
  const auto identity = identify_server(connection);
  ASSERT_TRUE(identity.has_value()) << identity.error().to_string();
  EXPECT_EQ(identity->timeline, 1U);
  // A newer server can, but waits for its primary, which this one has not.
  const auto ensured = ensure_slot(connection, config::Config{}, {}, milliseconds{200});
  ASSERT_FALSE(ensured.has_value());
  if (cluster.version() < 160'000) {
    EXPECT_EQ(ensured.error().code, Errc::kSourceSetup) << ensured.error().to_string();
    EXPECT_NE(ensured.error().message.find("standby"), std::string::npos);
  } else {
    EXPECT_TRUE(ensured.error().is_retryable()) << ensured.error().to_string();
  }
}

}  // namespace
}  // namespace cdc::postgres
