// Proves against a real server: every way of connecting that can fail is told apart, with a hint
// and without the password; sessions are pinned; waits end by answer, timeout, loss or stop.

#include "postgres/connection.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/sync/thread.h"
#include "base/unique_handle.h"
#include "postgres/tests/test_cluster.h"

namespace cdc::postgres {
namespace {

using std::chrono::milliseconds;

constexpr const char* kHba =
    "local refused all reject\n"
    "host all unknown_to_hba 127.0.0.1/32 reject\n"
    "host all scram 127.0.0.1/32 scram-sha-256\n"
    "host app all 127.0.0.1/32 trust\n"
    "host postgres all 127.0.0.1/32 trust\n"
    "host bytes all 127.0.0.1/32 trust\n"
    "host missing all 127.0.0.1/32 trust\n";

class ConnectionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<TestCluster>(
        TestCluster::Options{.settings = {"max_connections = 12",
                                          "superuser_reserved_connections = 3",
                                          "max_wal_senders = 4",
                                          "password_encryption = 'scram-sha-256'"},
                             .hba = kHba});
    cluster->run({"CREATE ROLE scram LOGIN PASSWORD 'right horse'",
                  "CREATE ROLE plain LOGIN",
                  "CREATE ROLE group_role",
                  "CREATE ROLE unknown_to_hba LOGIN",
                  "CREATE ROLE crowded LOGIN CONNECTION LIMIT 0",
                  "CREATE ROLE odd LOGIN REPLICATION",
                  "CREATE DATABASE app",
                  "CREATE DATABASE unlisted",
                  "ALTER ROLE odd SET datestyle = 'German'",
                  "ALTER ROLE odd SET intervalstyle = 'iso_8601'",
                  "ALTER ROLE odd SET timezone = 'Asia/Tokyo'",
                  "ALTER ROLE odd SET extra_float_digits = -5",
                  "ALTER ROLE odd SET bytea_output = 'escape'",
                  "ALTER ROLE odd SET client_encoding = 'LATIN1'",
                  "ALTER ROLE odd SET search_path = 'public'"});
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static Result<Connection> open(std::string dsn, bool replication = false) {
    ConnectOptions options;
    options.dsn = std::move(dsn);
    options.replication = replication;
    return Connection::open(options, cluster->no_stop());
  }

  static Error refusal(std::string dsn, bool replication = false) {
    const auto connection = open(std::move(dsn), replication);
    EXPECT_FALSE(connection.has_value());
    return connection ? Error{} : connection.error();
  }

  static std::unique_ptr<TestCluster> cluster;
};

std::unique_ptr<TestCluster> ConnectionTest::cluster;

TEST_F(ConnectionTest, ConnectsByUriKeywordsAndSocket) {
  const std::string port = std::to_string(cluster->port());
  for (const std::string& dsn :
       {cluster->dsn(),
        cluster->socket_dsn(),
        "postgres://plain@127.0.0.1:" + port + "/app?sslmode=disable",
        "postgresql://scram:right%20horse@127.0.0.1:" + port + "/app",
        "host=127.0.0.1 user=scram dbname=app password='right horse' port=" + port,
        "postgres://plain@127.0.0.1:1,127.0.0.1:" + port +
            "/app?target_session_attrs=read-write"}) {
    const auto connection = open(dsn);
    ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
    EXPECT_EQ(connection->server_version(), cluster->version());
    EXPECT_GT(connection->backend_pid(), 0);
    EXPECT_GE(connection->fd(), 0);
  }
}

TEST_F(ConnectionTest, TakesAnyBytesFromADatabaseWithoutEncoding) {
  auto admin = open(cluster->dsn());
  ASSERT_TRUE(admin.has_value());
  ASSERT_TRUE(
      admin->query("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
          .has_value());
  const std::string dsn = cluster->dsn("postgres", "bytes");
  for (const bool replication : {false, true}) {
    auto connection = open(dsn, replication);
    ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
    const auto row = connection->query("SELECT convert_from('\\xff41', 'SQL_ASCII')");
    ASSERT_TRUE(row.has_value()) << row.error().to_string();
    EXPECT_EQ(row->text(0, 0),
              "\xff"
              "A");
  }
}

TEST_F(ConnectionTest, PinsTheSessionWhateverTheRoleHas) {
  for (const bool replication : {false, true}) {
    auto connection = open(cluster->dsn("odd"), replication);
    ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
    const auto row = connection->query(
        "SELECT timestamptz '2026-01-02 03:04:05+00', interval '1 day 2 hours', "
        "0.1::float8 + 0.2::float8, '\\x00ff'::bytea, 'ü'");
    ASSERT_TRUE(row.has_value()) << row.error().to_string();
    EXPECT_EQ(row->text(0, 0), "2026-01-02 03:04:05+00");
    EXPECT_EQ(row->text(0, 1), "1 day 02:00:00");
    EXPECT_EQ(row->text(0, 2), "0.30000000000000004");
    EXPECT_EQ(row->text(0, 3), "\\x00ff");
    EXPECT_EQ(row->text(0, 4), "ü");
    EXPECT_EQ(connection->query("SHOW search_path")->text(0, 0), "");
  }
}

TEST_F(ConnectionTest, NamesItselfUnlessTheDsnDoes) {
  EXPECT_EQ(open(cluster->dsn())->query("SHOW application_name")->text(0, 0), "kaptanto");
  EXPECT_EQ(
      open(cluster->dsn() + " application_name=mine")->query("SHOW application_name")->text(0, 0),
      "mine");
}

TEST_F(ConnectionTest, TellsAWrongPassword) {
  const Error error = refusal(cluster->dsn("scram") + " password=wrong-and-secret");
  EXPECT_EQ(error.code, Errc::kAuthentication) << error.to_string();
  EXPECT_NE(error.message.find("28P01"), std::string::npos) << error.to_string();
  EXPECT_EQ(error.to_string().find("wrong-and-secret"), std::string::npos);
  EXPECT_FALSE(error.hint.empty());
}

TEST_F(ConnectionTest, TellsAMissingPassword) {
  const Error error = refusal(cluster->dsn("scram"));
  EXPECT_EQ(error.code, Errc::kAuthentication) << error.to_string();
  EXPECT_NE(error.hint.find("password"), std::string::npos) << error.to_string();
}

TEST_F(ConnectionTest, TellsHbaRefusals) {
  for (const Error& error :
       {refusal(cluster->dsn("plain", "unlisted")), refusal(cluster->dsn("unknown_to_hba"))}) {
    EXPECT_EQ(error.code, Errc::kAuthentication) << error.to_string();
    EXPECT_NE(error.hint.find("pg_hba.conf"), std::string::npos) << error.to_string();
  }
}

TEST_F(ConnectionTest, TellsMissingRolesAndDatabases) {
  Error error = refusal(cluster->dsn("plain", "missing"));
  EXPECT_EQ(error.code, Errc::kSourceSetup) << error.to_string();
  error = refusal(cluster->dsn("nobody"));
  EXPECT_EQ(error.code, Errc::kAuthentication) << error.to_string();
  error = refusal(cluster->dsn("group_role"));
  EXPECT_EQ(error.code, Errc::kAuthentication) << error.to_string();
  EXPECT_NE(error.hint.find("LOGIN"), std::string::npos) << error.to_string();
}

TEST_F(ConnectionTest, TellsAMissingReplicationAttribute) {
  const Error error = refusal(cluster->dsn("plain"), true);
  EXPECT_EQ(error.code, Errc::kPermission) << error.to_string();
  EXPECT_NE(error.hint.find("REPLICATION"), std::string::npos) << error.to_string();
}

TEST_F(ConnectionTest, TellsTooManyConnections) {
  Error error = refusal(cluster->dsn("crowded"));
  EXPECT_EQ(error.code, Errc::kUnavailable) << error.to_string();
  EXPECT_NE(error.hint.find("connection limit"), std::string::npos) << error.to_string();

  std::vector<Connection> held;
  for (int i = 0; i < 20; ++i) {
    auto connection = open(cluster->dsn("plain"));
    if (!connection) {
      error = connection.error();
      EXPECT_EQ(error.code, Errc::kUnavailable) << error.to_string();
      EXPECT_NE(error.message.find("53300"), std::string::npos) << error.to_string();
      break;
    }
    held.push_back(*std::move(connection));
  }
  EXPECT_LT(held.size(), 20U);
}

TEST_F(ConnectionTest, TellsTooManyWalSenders) {
  std::vector<Connection> held;
  for (int i = 0; i < 5; ++i) {
    auto connection = open(cluster->dsn("odd"), true);
    if (!connection) {
      EXPECT_TRUE(connection.error().is_retryable()) << connection.error().to_string();
      EXPECT_NE(connection.error().hint.find("max_wal_senders"), std::string::npos)
          << connection.error().to_string();
      break;
    }
    held.push_back(*std::move(connection));
  }
  EXPECT_EQ(held.size(), 4U);
}

TEST_F(ConnectionTest, TellsNetworkTroubles) {
  Error error = refusal("host=127.0.0.1 port=1 dbname=app user=u");
  EXPECT_TRUE(error.is_retryable()) << error.to_string();
  EXPECT_NE(error.hint.find("running"), std::string::npos);

  // A label longer than a name server takes fails without one being asked.
  error = refusal("dbname=app host=" + std::string(64, 'x'));
  EXPECT_TRUE(error.is_retryable()) << error.to_string();
  EXPECT_NE(error.hint.find("name"), std::string::npos) << error.to_string();

  error = refusal("host=/nonexistent dbname=app");
  EXPECT_TRUE(error.is_retryable()) << error.to_string();
}

TEST_F(ConnectionTest, TellsAServerWithoutTls) {
  for (const char* mode : {"require", "verify-full"}) {
    const Error error = refusal(cluster->dsn() + " sslrootcert=/dev/null sslmode=" + mode);
    EXPECT_EQ(error.code, Errc::kAuthentication) << error.to_string();
  }
}

TEST_F(ConnectionTest, RefusesBadConnectionStrings) {
  for (const char* dsn : {"app", "postgres://u:se/cret@h/db", "host=h nonsense=1"}) {
    const Error error = refusal(dsn);
    EXPECT_EQ(error.code, Errc::kConfigInvalid) << error.to_string();
    EXPECT_EQ(error.to_string().find("cret"), std::string::npos) << error.to_string();
  }
  EXPECT_EQ(refusal(cluster->dsn() + " sslmode=none").code, Errc::kConfigInvalid);
  EXPECT_EQ(refusal(cluster->dsn() + " sslrootcert=system sslmode=require").code,
            Errc::kConfigInvalid);
}

TEST_F(ConnectionTest, WaitsForAHostThatFitsTheSessionAttributes) {
  const Error error = refusal(cluster->dsn() + " target_session_attrs=standby");
  EXPECT_TRUE(error.is_retryable()) << error.to_string();
  EXPECT_NE(error.hint.find("target_session_attrs"), std::string::npos) << error.to_string();
}

TEST_F(ConnectionTest, GivesRowsAndParameters) {
  Connection connection = cluster->connect();
  const std::array<std::string, 2> parameters{"it's", "42"};
  const auto row =
      connection.query("SELECT $1::text, $2::int8, NULL::int8, true, 'x'::text", parameters);
  ASSERT_TRUE(row.has_value()) << row.error().to_string();
  EXPECT_EQ(row->rows(), 1);
  EXPECT_EQ(row->columns(), 5);
  EXPECT_EQ(row->text(0, 0), "it's");
  EXPECT_EQ(row->integer(0, 1), 42);
  EXPECT_TRUE(row->is_null(0, 2));
  EXPECT_EQ(row->integer(0, 2), std::nullopt);
  EXPECT_TRUE(row->boolean(0, 3));
  EXPECT_EQ(row->integer(0, 4), std::nullopt);
}

TEST_F(ConnectionTest, GivesTheLastOfSeveralResultsAndTheFirstFailure) {
  Connection connection = cluster->connect();
  EXPECT_EQ(connection.query("SELECT 1; SELECT 2")->text(0, 0), "2");
  const auto failed = connection.query("SELECT 1; SELECT 1/0; SELECT 3");
  ASSERT_FALSE(failed.has_value());
  EXPECT_NE(failed.error().message.find("22012"), std::string::npos) << failed.error().to_string();
  EXPECT_EQ(connection.query("SELECT 4")->text(0, 0), "4");  // still of use
}

TEST_F(ConnectionTest, AnswersWithoutWaiting) {
  Connection connection = cluster->connect();
  ASSERT_TRUE(connection.send("SELECT pg_sleep(0.05), 7").has_value());
  while (true) {
    const auto result = connection.try_result();
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    if (*result) {
      EXPECT_EQ((*result)->text(0, 1), "7");
      break;
    }
    pollfd readable{.fd = connection.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&readable, 1, 10'000), 1);
  }
}

TEST_F(ConnectionTest, CutsAConnectionThatDoesNotAnswerInTime) {
  Connection connection = cluster->connect();
  const auto slow = connection.query("SELECT pg_sleep(30)", {}, milliseconds{50});
  ASSERT_FALSE(slow.has_value());
  EXPECT_TRUE(slow.error().is_retryable()) << slow.error().to_string();
  EXPECT_FALSE(connection.query("SELECT 1").has_value());
}

TEST_F(ConnectionTest, TellsATerminatedBackend) {
  Connection connection = cluster->connect();
  cluster->run({"SELECT pg_terminate_backend(" + std::to_string(connection.backend_pid()) + ")"});
  const auto cut = connection.query("SELECT pg_sleep(30)");
  ASSERT_FALSE(cut.has_value());
  EXPECT_TRUE(cut.error().is_retryable()) << cut.error().to_string();
}

TEST_F(ConnectionTest, StopsWhileItWaits) {
  StopSignal stop;
  ConnectOptions options;
  options.dsn = cluster->dsn();
  auto connection = Connection::open(options, stop);
  ASSERT_TRUE(connection.has_value());
  const std::string pid = std::to_string(connection->backend_pid());
  Thread stopper{
      "stopper", [&] {
        Connection other = cluster->connect();
        wait_until(other, "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = " + pid);
        stop.request();
      }};
  const auto stopped = connection->query("SELECT pg_sleep(30)");
  ASSERT_FALSE(stopped.has_value());
  EXPECT_EQ(stopped.error().code, Errc::kClosed);
  EXPECT_EQ(Connection::open(options, stop).error().code, Errc::kClosed);
}

// A listening socket whose backlog is full: the kernel drops further connection requests, as a
// firewall does.
class BlackHole {
 public:
  BlackHole() {
    listener_ = UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* generic = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 0), 0);
    EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
    for (UniqueFd& filler : fillers_) {
      filler = UniqueFd{::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
      (void)::connect(filler.get(), generic, size);
    }
  }

  [[nodiscard]] std::string port() const { return std::to_string(::ntohs(address_.sin_port)); }

 private:
  UniqueFd listener_;
  std::array<UniqueFd, 3> fillers_;
  sockaddr_in address_{};
};

TEST_F(ConnectionTest, GivesUpOnAHostThatDoesNotAnswer) {
  const BlackHole hole;
  ConnectOptions options;
  options.dsn = "host=127.0.0.1 dbname=app user=plain port=" + hole.port();
  options.timeout = milliseconds{200};
  const auto connection = Connection::open(options, cluster->no_stop());
  ASSERT_FALSE(connection.has_value());
  EXPECT_TRUE(connection.error().is_retryable()) << connection.error().to_string();
  EXPECT_NE(connection.error().message.find("no answer"), std::string::npos);
}

TEST_F(ConnectionTest, GoesOnToTheNextHostWhenOneDoesNotAnswer) {
  const BlackHole hole;
  ConnectOptions options;
  options.dsn = "postgres://plain@127.0.0.1:" + hole.port() +
                ",127.0.0.1:" + std::to_string(cluster->port()) + "/app";
  options.timeout = milliseconds{1'500};
  const auto connection = Connection::open(options, cluster->no_stop());
  ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
}

}  // namespace
}  // namespace cdc::postgres
