// Proves on a real server that each sslmode keeps what it promises: the right certificate is
// accepted, and a wrong authority, a wrong host, an expired certificate, a missing client
// certificate and a password exchange without the TLS channel are refused for good.

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/connection.h"
#include "postgres/tests/test_cluster.h"

namespace cdc::postgres {
namespace {

class TlsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster = std::make_unique<TestCluster>(
        TestCluster::Options{.settings = {"password_encryption = 'scram-sha-256'"},
                             .hba = "hostssl all certified 127.0.0.1/32 cert\n"
                                    "hostssl all scram 127.0.0.1/32 scram-sha-256\n"
                                    "host all open 127.0.0.1/32 scram-sha-256\n"
                                    "hostssl all postgres 127.0.0.1/32 trust\n"});
    cluster->run({"CREATE ROLE scram LOGIN PASSWORD 'geheim'",
                  "CREATE ROLE open LOGIN PASSWORD 'geheim'",
                  "CREATE ROLE certified LOGIN"});
    make_authority("ca");
    make_authority("other_ca");
    make_certificate("server", "-sha256", "2");
    make_certificate("server384", "-sha384", "2");
    make_certificate("expired", "-sha256", "-1");
    cluster->configure({"ssl_cert_file = '" + path("server.crt") + "'",
                        "ssl_key_file = '" + path("server.key") + "'",
                        "ssl_ca_file = '" + path("ca.crt") + "'",
                        "ssl = on"});
  }

  static void TearDownTestSuite() { cluster.reset(); }

  static std::string path(const std::string& name) { return (cluster->folder() / name).string(); }

  static void openssl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "openssl");
    run_program(std::move(arguments), path("openssl.log"));
  }

  static void make_authority(const std::string& name) {
    openssl({"req",
             "-x509",
             "-newkey",
             "ec",
             "-pkeyopt",
             "ec_paramgen_curve:P-256",
             "-nodes",
             "-keyout",
             path(name + ".key"),
             "-out",
             path(name + ".crt"),
             "-days",
             "2",
             "-subj",
             "/CN=" + name});
  }

  // For the host name localhost, signed by `ca`.
  static void make_certificate(const std::string& name,
                               const std::string& digest,
                               const std::string& days) {
    openssl({"req",
             "-newkey",
             "ec",
             "-pkeyopt",
             "ec_paramgen_curve:P-256",
             "-nodes",
             "-keyout",
             path(name + ".key"),
             "-out",
             path(name + ".csr"),
             "-subj",
             "/CN=localhost",
             "-addext",
             "subjectAltName=DNS:localhost"});
    openssl({"x509",
             "-req",
             digest,
             "-in",
             path(name + ".csr"),
             "-CA",
             path("ca.crt"),
             "-CAkey",
             path("ca.key"),
             "-CAcreateserial",
             "-out",
             path(name + ".crt"),
             "-days",
             days,
             "-copy_extensions",
             "copy"});
  }

  static void use_certificate(const std::string& name) {
    cluster->configure({"ssl_cert_file = '" + path(name + ".crt") + "'",
                        "ssl_key_file = '" + path(name + ".key") + "'"});
  }

  // By a name of the certificate, without asking a name server.
  static std::string by_name(const std::string& user, const std::string& rest) {
    return "host=localhost hostaddr=127.0.0.1 port=" + std::to_string(cluster->port()) +
           " dbname=postgres password=geheim user=" + user + " " + rest;
  }

  static std::string by_address(const std::string& user, const std::string& rest) {
    return cluster->dsn(user) + " password=geheim " + rest;
  }

  static std::string verify(const std::string& mode, const std::string& authority) {
    return "sslmode=" + mode + " sslrootcert=" + path(authority + ".crt");
  }

  static Result<Connection> open(const std::string& dsn) {
    ConnectOptions options;
    options.dsn = dsn;
    return Connection::open(options, cluster->no_stop());
  }

  static void expect_tls(const std::string& dsn) {
    auto connection = open(dsn);
    ASSERT_TRUE(connection.has_value()) << connection.error().to_string();
    EXPECT_EQ(
        connection->query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")->text(0, 0),
        "t");
  }

  static void expect_refused(const std::string& dsn) {
    const auto connection = open(dsn);
    ASSERT_FALSE(connection.has_value()) << dsn;
    EXPECT_EQ(connection.error().code, Errc::kAuthentication) << connection.error().to_string();
    EXPECT_FALSE(connection.error().hint.empty()) << connection.error().to_string();
    EXPECT_EQ(connection.error().to_string().find("geheim"), std::string::npos);
  }

  static std::unique_ptr<TestCluster> cluster;
};

std::unique_ptr<TestCluster> TlsTest::cluster;

TEST_F(TlsTest, UsesTlsWhereTheServerHasIt) {
  expect_tls(by_address("scram", ""));
  expect_tls(by_address("scram", "sslmode=require"));
}

TEST_F(TlsTest, VerifiesAuthorityAndHost) {
  expect_tls(by_name("scram", verify("verify-full", "ca")));
  expect_tls(by_address("scram", verify("verify-ca", "ca")));
  expect_refused(by_address("scram", verify("verify-full", "ca")));
  expect_refused(by_name("scram", verify("verify-full", "other_ca")));
  expect_refused(by_name("scram", verify("verify-ca", "other_ca")));
  expect_refused(by_name("scram", verify("verify-ca", "missing")));
  // A root certificate turns `require` into verify-ca, as libpq documents.
  expect_refused(by_name("scram", verify("require", "other_ca")));
}

TEST_F(TlsTest, RefusesAnExpiredCertificate) {
  use_certificate("expired");
  expect_refused(by_name("scram", verify("verify-full", "ca")));
  expect_refused(by_name("scram", verify("verify-ca", "ca")));
  use_certificate("server");
}

TEST_F(TlsTest, TakesTheSystemsAuthoritiesWhenAsked) {
  ASSERT_EQ(::setenv("SSL_CERT_FILE", path("ca.crt").c_str(), 1), 0);
  expect_tls(by_name("scram", "sslrootcert=system"));
  expect_refused(by_address("scram", "sslrootcert=system sslmode=verify-full"));
  ASSERT_EQ(::setenv("SSL_CERT_FILE", path("other_ca.crt").c_str(), 1), 0);
  expect_refused(by_name("scram", "sslrootcert=system"));
  ASSERT_EQ(::unsetenv("SSL_CERT_FILE"), 0);
}

TEST_F(TlsTest, BindsThePasswordToTheChannel) {
  const std::string binding = " channel_binding=require";
  for (const char* certificate : {"server384", "server"}) {
    use_certificate(certificate);
    expect_tls(by_name("scram", verify("verify-full", "ca") + binding));
  }
  expect_refused(by_address("open", "sslmode=disable" + binding));
  EXPECT_TRUE(open(by_address("open", "sslmode=disable")).has_value());
}

TEST_F(TlsTest, TellsThatTheServerWantsTls) {
  expect_refused(by_address("scram", "sslmode=disable"));
}

TEST_F(TlsTest, TellsThatTheServerWantsACertificate) {
  expect_refused(by_address("certified", "sslmode=require"));
  expect_refused(by_address(
      "certified",
      "sslmode=require sslcert=" + path("server.crt") + " sslkey=" + path("missing.key")));
}

}  // namespace
}  // namespace cdc::postgres
