// Proves the reading of libpq's verbose error text and the classification of answers that the test
// servers cannot be made to give. What real servers answer is in connection_test.

#include "postgres/server_error.h"

#include <string>

#include <gtest/gtest.h>

namespace cdc::postgres {
namespace {

Error classified(std::string sqlstate, std::string message, std::string routine = {}) {
  return classify(ServerReport{.sqlstate = std::move(sqlstate),
                               .message = std::move(message),
                               .detail = {},
                               .hint = {},
                               .routine = std::move(routine)},
                  "try");
}

TEST(VerboseReport, TakesTheParts) {
  const ServerReport report = parse_verbose_report(
      "connection to server at \"db\", port 5432 failed: FATAL:  28P01: password wrong for \"a: "
      "b\"\n"
      "DETAIL:  first line\nsecond line\nHINT:  try again\nLOCATION:  auth_failed, auth.c:335\n");
  EXPECT_EQ(report.sqlstate, "28P01");
  EXPECT_EQ(report.message,
            "connection to server at \"db\", port 5432 failed: password wrong for \"a: b\"");
  EXPECT_EQ(report.detail, "first line second line");
  EXPECT_EQ(report.hint, "try again");
  EXPECT_EQ(report.routine, "auth_failed");
}

TEST(VerboseReport, BelievesTheLastHost) {
  const ServerReport report = parse_verbose_report(
      "connection to server at \"a\", port 1 failed: FATAL:  57P03: starting up\nLOCATION:  x, "
      "y:1\n"
      "connection to server at \"b\", port 2 failed: Connection refused\n"
      "\tIs the server running on that host and accepting TCP/IP connections?\n");
  EXPECT_EQ(report.sqlstate, "");
  EXPECT_EQ(
      report.message,
      "connection to server at \"b\", port 2 failed: Connection refused Is the server running "
      "on that host and accepting TCP/IP connections?");
}

TEST(VerboseReport, ReadsATranslatedSeverityAndOddText) {
  EXPECT_EQ(parse_verbose_report("SCHWERWIEGEND:  3D000: Datenbank gibt es nicht").sqlstate,
            "3D000");
  EXPECT_EQ(parse_verbose_report("SCHWERWIEGEND:  3D000: Datenbank gibt es nicht").message,
            "Datenbank gibt es nicht");
  EXPECT_EQ(parse_verbose_report("").message, "");
  EXPECT_EQ(parse_verbose_report("\n\n").message, "");
  EXPECT_EQ(parse_verbose_report("FATAL:  28P0").sqlstate, "");
  EXPECT_EQ(parse_verbose_report("FATAL:  28p01: x").sqlstate, "");
}

TEST(Classify, RecognisesPoolers) {
  const Error error = classified("08P01", "unsupported startup parameter: replication");
  EXPECT_EQ(error.code, Errc::kSourceSetup);
  EXPECT_NE(error.hint.find("PgBouncer"), std::string::npos);
  EXPECT_EQ(classified("XX000", "Tenant or user not found").code, Errc::kSourceSetup);
}

TEST(Classify, TellsRetryableFromPermanent) {
  EXPECT_TRUE(classified("57P03", "the database system is starting up").is_retryable());
  EXPECT_TRUE(classified("57P01", "terminating connection").is_retryable());
  EXPECT_TRUE(classified("53300", "sorry, too many clients already").is_retryable());
  EXPECT_TRUE(classified("08006", "x").is_retryable());
  EXPECT_TRUE(classified("XX000", "invalid memory alloc request size 1").is_retryable());
  EXPECT_TRUE(classified("55006", "slot is active for PID 1").is_retryable());
  EXPECT_TRUE(classified("", "could not translate host name \"x\" to address").is_retryable());
  EXPECT_TRUE(classified("", "server closed the connection unexpectedly").is_retryable());
  EXPECT_TRUE(classified("", "timeout expired").is_retryable());
  EXPECT_FALSE(classified("28P01", "x").is_retryable());
  EXPECT_FALSE(classified("42501", "x").is_retryable());
  EXPECT_FALSE(classified("", "SSL error: certificate verify failed").is_retryable());
  EXPECT_FALSE(classified("22P05", "x").is_retryable());
  EXPECT_FALSE(classified("99999", "x").is_retryable());
}

TEST(Classify, KnowsSlotTroublesByCodeAndRoutine) {
  EXPECT_EQ(classified("58P01", "requested WAL segment 0 has already been removed").code,
            Errc::kSlotLost);
  EXPECT_EQ(classified("58P01", "could not access file \"pgoutput\"").code, Errc::kSourceSetup);
  EXPECT_EQ(classified("55000", "can no longer get changes from replication slot \"x\"").code,
            Errc::kSlotLost);
  EXPECT_EQ(classified("55000", "übersetzt", "ReportSlotInvalidation").code, Errc::kSlotLost);
  EXPECT_EQ(classified("42704", "übersetzt", "ReplicationSlotAcquire").code, Errc::kSlotLost);
  EXPECT_EQ(classified("42704", "publication \"x\" does not exist").code, Errc::kSourceSetup);
}

TEST(Classify, TellsAnUnlistedPluginFromAMissingRight) {
  EXPECT_EQ(classified("42501", "library \"pgoutput\" may not be used as an output plugin").code,
            Errc::kSourceSetup);
  EXPECT_EQ(classified("42501", "permission denied to use replication slots").code,
            Errc::kPermission);
}

TEST(Classify, KeepsTheServersHintWhereWeHaveNone) {
  const Error error = classify(
      ServerReport{.sqlstate = "0A000", .message = "m", .detail = "d", .hint = "h", .routine = ""},
      "do it");
  EXPECT_EQ(error.message, "do it: m: d [SQLSTATE 0A000]");
  EXPECT_EQ(error.hint, "h");
}

}  // namespace
}  // namespace cdc::postgres
