// Proves that connection strings of the right shape pass, others do not, and none is ever repeated.
#include "config/dsn.h"

#include <string>

#include <gtest/gtest.h>

namespace cdc::config {
namespace {

TEST(DsnShape, AcceptsWhatLibpqTakes) {
  for (const char* dsn : {"postgres://u:p%40ss@h:5432/db?sslmode=require",
                          "postgresql:///db",
                          "postgres://",
                          "postgres://h1:1,h2:2/db?target_session_attrs=primary",
                          "host=h user=u password='its'",
                          "host=h password='a\\'b c'",
                          " host = h  port = 5432 ",
                          "dbname=x",
                          "password=\\ x host=h",
                          "host='' user=u",
                          "postgres://[::1]:5432/db",
                          "postgres://[::1]/db",
                          "postgres://u@h:/db?x=y:z@w"}) {
    EXPECT_TRUE(check_dsn(dsn).has_value()) << dsn;
  }
}

TEST(DsnShape, RefusesTheRestWithoutShowingIt) {
  for (const char* dsn : {"hush",
                          "hush://h",
                          "hush@host/db",
                          "postgres:/hush",
                          "postgres://h:hush/db",
                          "postgres://u:hu/hush@h/db",
                          "postgres://u:p@hush@h:1/db",
                          "postgres://h:65536/hush",
                          "postgres://hush hush@h/db",
                          "postgres://u:hush%@h/db",
                          "postgres://u:hush%zz@h/db",
                          "host=h hush",
                          "host=h password='hush",
                          "=hush",
                          "HUSH=hush",
                          "mysql://hush@h/db",
                          "mongodb://hush@h/db",
                          "mongodb+srv://hush@h",
                          "jdbc:postgresql://hush/db",
                          "host=h user=u hush hush=1"}) {
    const auto status = check_dsn(dsn);
    ASSERT_FALSE(status.has_value()) << dsn;
    EXPECT_FALSE(status.error().to_string().contains("hush")) << status.error().to_string();
  }
  EXPECT_EQ(check_dsn("mongodb://h/db").error().code, Errc::kUnsupported);
  EXPECT_EQ(check_dsn("mysql://h/db").error().code, Errc::kConfigInvalid);
}

}  // namespace
}  // namespace cdc::config
