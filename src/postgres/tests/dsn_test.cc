// Proves that no form of connection string lets a secret out: redaction of URIs and keyword
// strings, quoting and escapes of both, and the messages about strings that do not parse.

#include "postgres/dsn.h"

#include <string>

#include <gtest/gtest.h>

#include "postgres/connection.h"

namespace cdc::postgres {
namespace {

TEST(RedactDsn, HidesThePasswordOfAUri) {
  EXPECT_EQ(redact_dsn("postgres://u:secret@h:5432/db"), "postgres://u:xxxxx@h:5432/db");
  EXPECT_EQ(redact_dsn("postgresql://u:s%40c@h1:1,h2:2/db?target_session_attrs=primary"),
            "postgresql://u:xxxxx@h1:1,h2:2/db?target_session_attrs=primary");
  EXPECT_EQ(redact_dsn("postgres://u:a:b@h/db"), "postgres://u:xxxxx@h/db");
  EXPECT_EQ(redact_dsn("postgres://:secret@h/db"), "postgres://:xxxxx@h/db");
  EXPECT_EQ(redact_dsn("postgres://u:s?e&c=r@[::1]:5432/db"), "postgres://u:xxxxx@[::1]:5432/db");
}

TEST(RedactDsn, HidesPasswordParametersOfAUri) {
  EXPECT_EQ(redact_dsn("postgres://h/db?user=u&password=secret&sslpassword=other&passfile=/a/b"),
            "postgres://h/db?user=u&password=xxxxx&sslpassword=xxxxx&passfile=/a/b");
  EXPECT_EQ(redact_dsn("postgres://h/db?%70assword=secret"), "postgres://h/db?%70assword=xxxxx");
  EXPECT_EQ(redact_dsn("postgres://u:one@h?password=two"), "postgres://u:xxxxx@h?password=xxxxx");
}

TEST(RedactDsn, HidesThePasswordOfKeywordStrings) {
  EXPECT_EQ(redact_dsn("host=h password=secret user=u"), "host=h password=xxxxx user=u");
  EXPECT_EQ(redact_dsn("host = h  password = 'se cr\\'et' sslpassword=a\\ b passfile=/p"),
            "host = h  password = xxxxx sslpassword=xxxxx passfile=/p");
  EXPECT_EQ(redact_dsn("password='' host=h"), "password='' host=h");
  EXPECT_EQ(redact_dsn("dbname='password=x' password=secret"),
            "dbname='password=x' password=xxxxx");
}

TEST(RedactDsn, LeavesTextWithoutSecretsAsItIs) {
  for (const char* dsn :
       {"postgres://u@h/db", "postgres://", "host=h", "", "postgres:///db?host=/tmp"}) {
    EXPECT_EQ(redact_dsn(dsn), dsn);
  }
}

TEST(RedactDsn, ReplacesTextThatDoesNotParse) {
  for (const char* dsn : {"secret",
                          "mongodb://u:secret@h",
                          "host=h password=my secret",
                          "host=h password='secret",
                          "postgres://u:secret%zz@h",
                          "postgres://u:sec@ret@h/db",
                          "postgres://u:sec/ret@h/db",
                          "postgres://secret:ret/@h/db",
                          "postgres://[secret/db"}) {
    const std::string redacted = redact_dsn(dsn);
    EXPECT_EQ(redacted, "(connection string hidden)") << dsn;
  }
}

TEST(Dsn, FaultsDoNotRepeatTheText) {
  for (const char* dsn : {"secret",
                          "password=my secret host=h",
                          "secret=1",
                          "password='secret",
                          "postgres://u:secret%zz@h",
                          "postgres://u:p@secret@h/db",
                          "postgres://u:secret/x@h/db",
                          "postgres://u:p@h/db?secret=1",
                          "postgres://[secret/db"}) {
    const auto parsed = Dsn::parse(dsn);
    ASSERT_FALSE(parsed.has_value()) << dsn;
    EXPECT_EQ(parsed.error().code, Errc::kConfigInvalid);
    EXPECT_EQ(parsed.error().to_string().find("secret"), std::string::npos)
        << parsed.error().to_string();
    EXPECT_FALSE(parsed.error().hint.empty());
  }
}

TEST(Dsn, CountsHosts) {
  EXPECT_EQ(Dsn::parse("postgres://u@a,b,c/db")->host_count(), 3U);
  EXPECT_EQ(Dsn::parse("host=a")->host_count(), 1U);
  EXPECT_EQ(Dsn::parse("")->host_count(), 1U);
  EXPECT_EQ(Dsn::parse("hostaddr=127.0.0.1,127.0.0.2")->host_count(), 2U);
}

}  // namespace
}  // namespace cdc::postgres
