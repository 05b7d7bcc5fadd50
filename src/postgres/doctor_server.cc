#include <algorithm>
#include <cctype>
#include <string>

#include "base/format.h"
#include "expr/table_pattern.h"
#include "postgres/internal/doctor_checks.h"

namespace cdc::postgres {

namespace {

constexpr int kMajorMin = 14;
constexpr int kMajorMax = 18;  // the newest that the tests run against
constexpr int kMajorWithStandbyDecoding = 16;

int major_version(const DoctorContext& context) {
  constexpr int kMinors = 10'000;
  return context.connection.server_version() / kMinors;
}

void check_version(const DoctorContext& context, Findings& findings) {
  const int major = major_version(context);
  if (major < kMajorMin) {
    findings.fail("server_version",
                  cdc::format("PostgreSQL {} is too old", major),
                  cdc::format("upgrade to PostgreSQL {} or later", kMajorMin));
  } else if (major > kMajorMax) {
    findings.warn("server_version",
                  cdc::format("PostgreSQL {} is newer than this program was tested with", major),
                  cdc::format("tested up to PostgreSQL {}", kMajorMax));
  } else {
    findings.pass("server_version", cdc::format("PostgreSQL {}", major));
  }
}

void check_standby(const DoctorContext& context, Findings& findings) {
  if (!context.rights) {
    return;
  }
  if (!context.rights->in_recovery) {
    findings.pass("standby", "the server is a primary");
  } else if (major_version(context) < kMajorWithStandbyDecoding) {
    findings.fail("standby",
                  "the server is a standby, and logical decoding there needs PostgreSQL 16",
                  "connect to the primary; with several hosts add target_session_attrs=primary");
  } else {
    findings.warn("standby",
                  "the server is a standby: slots are lost when the primary removes rows they need",
                  "set hot_standby_feedback = on, or connect to the primary");
  }
}

// A pooler in transaction mode shows us one backend and lends us another. The process id that came
// with the connection is then the pooler's invention.
void check_pooler(const DoctorContext& context, Findings& findings) {
  const auto result = context.connection.query("SELECT pg_catalog.pg_backend_pid()");
  if (!result) {
    findings.fail("pooler", result.error());
  } else if (result->integer(0, 0) == context.connection.backend_pid()) {
    findings.pass("pooler", "the connection goes to the server itself");
  } else {
    findings.fail("pooler",
                  "a connection pooler is in the way: the replication protocol does not pass it",
                  "use the host and port of the database server itself");
  }
}

void check_wal_level(const DoctorContext& context, Findings& findings) {
  const std::string_view level = context.setting("wal_level");
  if (level == "logical") {
    findings.pass("wal_level", "logical");
    return;
  }
  findings.fail("wal_level",
                cdc::format("is {}, must be logical", level),
                "ALTER SYSTEM SET wal_level = 'logical'; then restart the server (Amazon RDS: "
                "rds.logical_replication = 1; Google Cloud SQL: cloudsql.logical_decoding = on)");
}

// Servers of some builds only load output plugins that are listed.
void check_output_plugin(const DoctorContext& context, Findings& findings) {
  const std::string_view listed = context.setting("output_plugin_libraries");
  if (context.settings.contains("output_plugin_libraries") &&
      listed.find("pgoutput") == std::string_view::npos &&
      listed.find('*') == std::string_view::npos) {
    findings.fail("output_plugin",
                  cdc::format("output_plugin_libraries is '{}', without pgoutput", listed),
                  "ALTER SYSTEM SET output_plugin_libraries = 'pgoutput, test_decoding'; SELECT "
                  "pg_reload_conf()");
    return;
  }
  findings.pass("output_plugin", "pgoutput may be loaded");
}

void check_encoding(const DoctorContext& context, Findings& findings) {
  const std::string_view encoding = context.setting("server_encoding");
  if (encoding == "SQL_ASCII") {
    findings.warn(
        "encoding",
        "the database is SQL_ASCII: its text may be in any encoding, and bytes that are no "
        "UTF-8 are replaced",
        "convert the database to UTF8");
    return;
  }
  findings.pass("encoding", std::string{encoding});
}

void check_role(const DoctorContext& context, Findings& findings) {
  const auto result = context.connection.query(
      "SELECT r.rolsuper OR r.rolreplication, EXISTS (SELECT FROM pg_catalog.pg_roles m"
      " WHERE m.rolname = 'rds_replication' AND pg_catalog.pg_has_role(m.oid, 'USAGE')),"
      " r.rolname, EXISTS (SELECT FROM pg_catalog.pg_roles m WHERE m.rolname = 'rds_replication')"
      " FROM pg_catalog.pg_roles r WHERE r.rolname = current_user");
  if (!result) {
    findings.fail("role", result.error());
    return;
  }
  const std::string name{result->text(0, 2)};
  if (result->boolean(0, 0)) {
    findings.pass("role", cdc::format("{} may replicate", name));
  } else if (result->boolean(0, 1)) {
    findings.pass("role", cdc::format("{} is a member of rds_replication", name));
  } else {
    const bool on_rds = result->boolean(0, 3);
    findings.fail("role",
                  cdc::format("{} lacks the attribute REPLICATION", name),
                  cdc::format("{} {}{}",
                              on_rds ? "GRANT rds_replication TO" : "ALTER ROLE",
                              expr::quote_identifier(name),
                              on_rds ? "" : " REPLICATION"));
  }
}

}  // namespace

void check_server(const DoctorContext& context, Findings& findings) {
  check_version(context, findings);
  check_standby(context, findings);
  check_pooler(context, findings);
  check_wal_level(context, findings);
  check_output_plugin(context, findings);
  check_encoding(context, findings);
  check_role(context, findings);
}

}  // namespace cdc::postgres
