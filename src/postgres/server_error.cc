#include "postgres/server_error.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <libpq-fe.h>

namespace cdc::postgres {

namespace {

// A failure is recognised by the start of its SQLSTATE and, where one code stands for several
// things, by a word of its message, detail or routine. The first row that fits decides, so the
// special ones stand before the general ones. A routine is preferred to a word of the message
// where there is one, because servers translate their messages.
struct Rule {
  std::string_view sqlstate;
  std::string_view word;
  Errc code;
  std::string_view hint;
};

constexpr std::string_view kPoolerHint =
    "a connection pooler (PgBouncer, Supavisor, RDS Proxy) is in the way: use the host and port of "
    "the database server itself";
constexpr std::string_view kReplicationRoleHint =
    "run ALTER ROLE ... REPLICATION as a superuser; on Amazon RDS: GRANT rds_replication TO ...; "
    "on Google Cloud SQL: ALTER USER ... WITH REPLICATION";
constexpr std::string_view kSlotLostHint =
    "the changes since then cannot be read any more; set postgres.accept-gap: true to create the "
    "slot anew and record the gap, and raise max_slot_wal_keep_size to keep more WAL";
constexpr std::string_view kWalLevelHint =
    "set wal_level = logical and restart the server; on Amazon RDS: rds.logical_replication = 1; "
    "on Google Cloud SQL: cloudsql.logical_decoding = on";
constexpr std::string_view kPublicationHint =
    "if it exists now, it was created after the position that the slot stands at: create the "
    "publication first and the slot after it";
constexpr std::string_view kHbaHint =
    "add a line for this user, database and address to pg_hba.conf and reload the server, or "
    "change sslmode if the line asks for TLS";
constexpr std::string_view kCertificateHint =
    "sslrootcert must name the authority that signed the server's certificate (sslrootcert=system "
    "takes the operating system's), and the host must be a name in the certificate";
constexpr std::string_view kEncodingHint =
    "a row holds bytes that are no text in the database's own encoding: correct that row";

constexpr Rule kServerRules[] = {
    // Poolers answer in their own words.
    {"08P01", "unsupported startup parameter", Errc::kSourceSetup, kPoolerHint},
    {"08P01", "pgbouncer", Errc::kSourceSetup, kPoolerHint},
    {"XX000", "Supavisor", Errc::kSourceSetup, kPoolerHint},
    {"XX000", "Tenant or user not found", Errc::kSourceSetup, kPoolerHint},
    {"0A000", "RDS Proxy", Errc::kSourceSetup, kPoolerHint},

    {"28P01", "", Errc::kAuthentication, "check the user and the password of the source"},
    {"28000", "pg_hba.conf", Errc::kAuthentication, kHbaHint},
    {"28000", "ClientAuthentication", Errc::kAuthentication, kHbaHint},
    {"28000", "not permitted to log in", Errc::kAuthentication, "run ALTER ROLE ... LOGIN"},
    {"28", "", Errc::kAuthentication, "check the user of the source and how it may log in"},

    {"3D000", "", Errc::kSourceSetup, "check the database name of the source"},

    {"42501",
     "output plugin",
     Errc::kSourceSetup,
     "ALTER SYSTEM SET output_plugin_libraries = 'pgoutput, test_decoding'; SELECT "
     "pg_reload_conf()"},
    {"42501", "CheckSlotPermissions", Errc::kPermission, kReplicationRoleHint},
    {"42501", "walsender", Errc::kPermission, kReplicationRoleHint},
    {"42501", "WAL sender", Errc::kPermission, kReplicationRoleHint},
    {"42501", "replication slots", Errc::kPermission, kReplicationRoleHint},
    {"42501", "CONNECT privilege", Errc::kPermission, "run GRANT CONNECT ON DATABASE ... TO ..."},
    {"42501", "", Errc::kPermission, "grant the role what the message names"},

    {"53300",
     "max_wal_senders",
     Errc::kUnavailable,
     "raise max_wal_senders or end other replication connections"},
    {"53300",
     "InitWalSenderSlot",
     Errc::kUnavailable,
     "raise max_wal_senders or end other replication connections"},
    {"53300",
     "",
     Errc::kUnavailable,
     "raise max_connections or the role's connection limit, or end idle sessions"},
    {"53400",
     "replication",
     Errc::kSourceSetup,
     "raise max_replication_slots, or drop slots that nobody uses: SELECT * FROM "
     "pg_replication_slots WHERE NOT active"},
    {"53400", "", Errc::kSourceSetup, ""},
    {"53", "", Errc::kUnavailable, ""},

    {"55000", "wal_level", Errc::kSourceSetup, kWalLevelHint},
    {"55000", "CheckLogicalDecodingRequirements", Errc::kSourceSetup, kWalLevelHint},
    {"55000", "no longer", Errc::kSlotLost, kSlotLostHint},
    {"55000", "invalidated", Errc::kSlotLost, kSlotLostHint},
    {"55000", "ReportSlotInvalidation", Errc::kSlotLost, kSlotLostHint},
    {"55000",
     "not created in this database",
     Errc::kSlotForeign,
     "name another slot with postgres.slot, or connect to the database of this one"},
    {"55000",
     "physical replication slot",
     Errc::kSlotForeign,
     "name another slot with postgres.slot"},
    {"55000", "", Errc::kSourceSetup, ""},
    {"55006", "", Errc::kSlotBusy, "only one process can stream from a slot: end the other one"},
    {"55P03", "", Errc::kUnavailable, "another session holds a lock on the table"},

    {"42704", "publication", Errc::kSourceSetup, kPublicationHint},
    {"42704", "replication slot", Errc::kSlotLost, kSlotLostHint},
    {"42704", "ReplicationSlot", Errc::kSlotLost, kSlotLostHint},
    {"42704", "", Errc::kSourceSetup, ""},
    {"42710", "", Errc::kUnavailable, "another session created it at the same moment"},
    {"42P01", "", Errc::kSourceSetup, ""},
    {"42602",
     "",
     Errc::kConfigInvalid,
     "slot names hold lower-case letters, digits and underscores, at most 63"},
    {"42883", "", Errc::kUnsupported, "this version of the server is not supported"},
    {"42601", "", Errc::kUnsupported, "this version of the server is not supported"},
    {"22023", "", Errc::kUnsupported, "this version of the server is not supported"},
    {"22021", "", Errc::kProtocol, kEncodingHint},
    {"22P05", "", Errc::kProtocol, kEncodingHint},
    {"0A000", "", Errc::kUnsupported, ""},
    {"25006", "", Errc::kSourceSetup, "the server is a standby or read-only: use the primary"},

    // The output plugin's own library is the only file of a program that can be missing here.
    {"58P01",
     "could not access file",
     Errc::kSourceSetup,
     "the server's installation lacks the pgoutput library"},
    {"58P01",
     "load_library",
     Errc::kSourceSetup,
     "the server's installation lacks the pgoutput library"},
    {"58P01", "", Errc::kSlotLost, kSlotLostHint},

    {"57P03", "", Errc::kUnavailable, "the server is starting up, shutting down or recovering"},
    {"XX000",
     "invalid memory alloc request size",
     Errc::kUnavailable,
     "a known fault of the server's decoder with very large transactions: install its newest minor "
     "release; the slot keeps its position"},
    {"08", "", Errc::kUnavailable, ""},
    {"40", "", Errc::kUnavailable, ""},
    {"57", "", Errc::kUnavailable, ""},
    {"58", "", Errc::kUnavailable, ""},
    {"XX", "", Errc::kUnavailable, ""},
    {"", "", Errc::kInternal, ""},
};

// libpq's own findings, in its own words: this library is linked statically and has no
// translations, so the words are fixed.
constexpr Rule kLibraryRules[] = {
    {"",
     "could not translate host name",
     Errc::kUnavailable,
     "check the host name and the name server"},
    {"",
     "server does not support SSL",
     Errc::kAuthentication,
     "turn TLS on at the server (ssl = on), or set sslmode=prefer"},
    {"", "root certificate file", Errc::kAuthentication, kCertificateHint},
    {"", "certificate", Errc::kAuthentication, kCertificateHint},
    {"", "private key file", Errc::kAuthentication, "check sslkey and its permissions"},
    {"",
     "channel binding",
     Errc::kAuthentication,
     "channel_binding=require needs TLS and scram-sha-256 passwords at the server"},
    {"",
     "no password supplied",
     Errc::kAuthentication,
     "the server asks for a password: add it to the source, or use a passfile"},
    {"", "authentication", Errc::kAuthentication, ""},
    {"", "SASL", Errc::kAuthentication, ""},
    {"", "SCRAM", Errc::kAuthentication, ""},
    {"",
     "incorrect server signature",
     Errc::kAuthentication,
     "the server does not know the password: it is not who it says"},
    {"",
     "GSSAPI",
     Errc::kAuthentication,
     "Kerberos is not built in: use a password or certificate"},
    {"",
     "session is",
     Errc::kUnavailable,
     "no host of the list fits target_session_attrs at the moment"},
    {"",
     "server is in hot standby mode",
     Errc::kUnavailable,
     "no host of the list fits target_session_attrs at the moment"},
    {"",
     "server is not in hot standby mode",
     Errc::kUnavailable,
     "no host of the list fits target_session_attrs at the moment"},
    {"", "definition of service", Errc::kConfigInvalid, "check service= and the service file"},
    {"",
     "received invalid response",
     Errc::kUnavailable,
     "is this the port of a PostgreSQL server?"},
    {"", "invalid ", Errc::kConfigInvalid, "check the connection string"},
    {"", "could not match", Errc::kConfigInvalid, "give one port for all hosts, or one for each"},
    {"",
     "Connection refused",
     Errc::kUnavailable,
     "is the server running there, and does listen_addresses cover this address?"},
    {"",
     "No such file or directory",
     Errc::kUnavailable,
     "is the server running, and is host the folder of its socket?"},
    {"", "", Errc::kUnavailable, ""},
};

bool fits(const Rule& rule, const ServerReport& report) {
  const auto contains = [&](const std::string& text) {
    return text.find(rule.word) != std::string::npos;
  };
  return report.sqlstate.starts_with(rule.sqlstate) &&
         (contains(report.message) || contains(report.detail) || contains(report.routine));
}

template <std::size_t Count>
const Rule& find_rule(const Rule (&rules)[Count], const ServerReport& report) {
  const auto* const found =
      std::ranges::find_if(rules, [&](const Rule& rule) { return fits(rule, report); });
  return *found;  // the last row of either table fits everything
}

std::string field(const pg_result* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string{} : std::string{text};
}

// One line for the log, however many the text has.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      if (!out.empty() && out.back() != ' ') {
        out.push_back(' ');
      }
    } else {
      out.push_back(c);
    }
  }
  while (!out.empty() && out.back() == ' ') {
    out.pop_back();
  }
  return out;
}

bool is_sqlstate(std::string_view text) noexcept {
  return text.size() == 5 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
         });
}

// Finds ":  28P01: " in the first line; the word before it, the severity, may be translated.
std::optional<std::size_t> find_sqlstate(std::string_view line) noexcept {
  constexpr std::size_t kPattern = 10;  // colon, two spaces, code, colon, space
  for (std::size_t at = line.find(":  "); at != std::string_view::npos;
       at = line.find(":  ", at + 1)) {
    const std::string_view rest = line.substr(at);
    if (rest.size() >= kPattern && rest.substr(8, 2) == ": " && is_sqlstate(rest.substr(3, 5))) {
      return at + 3;
    }
  }
  return std::nullopt;
}

// libpq adds one paragraph per host that it tried.
std::string_view last_attempt(std::string_view text) noexcept {
  const std::size_t at = text.rfind("\nconnection to server ");
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The message up to the severity word, as in `connection to server at "db", port 5432 failed: `.
std::string_view before_severity(std::string_view line, std::size_t sqlstate_at) noexcept {
  const std::string_view head = line.substr(0, sqlstate_at - 3);
  const std::size_t space = head.rfind(": ");
  return space == std::string_view::npos ? std::string_view{} : head.substr(0, space + 2);
}

}  // namespace

ServerReport parse_verbose_report(std::string_view text) {
  ServerReport report;
  std::string_view rest = last_attempt(text);
  const std::string_view first = take_line(rest);
  const auto sqlstate_at = find_sqlstate(first);
  if (!sqlstate_at) {
    report.message = one_line(last_attempt(text));
    return report;
  }
  report.sqlstate = first.substr(*sqlstate_at, 5);
  report.message = before_severity(first, *sqlstate_at);
  report.message += first.substr(*sqlstate_at + 7);
  std::string* part = &report.message;
  while (!rest.empty()) {
    std::string_view line = take_line(rest);
    const std::pair<std::string_view, std::string*> labels[] = {
        {"DETAIL:  ", &report.detail},
        {"HINT:  ", &report.hint},
        {"LOCATION:  ", &report.routine},
    };
    for (const auto& [label, target] : labels) {
      if (line.starts_with(label)) {
        line.remove_prefix(label.size());
        part = target;
        break;
      }
    }
    part->append(part->empty() ? "" : " ").append(line);
  }
  report.message = one_line(report.message);
  report.routine = report.routine.substr(0, report.routine.find(','));
  return report;
}

ServerReport read_report(const pg_result* result) {
  ServerReport report{
      .sqlstate = field(result, PG_DIAG_SQLSTATE),
      .message = one_line(field(result, PG_DIAG_MESSAGE_PRIMARY)),
      .detail = one_line(field(result, PG_DIAG_MESSAGE_DETAIL)),
      .hint = one_line(field(result, PG_DIAG_MESSAGE_HINT)),
      .routine = field(result, PG_DIAG_SOURCE_FUNCTION),
  };
  if (report.message.empty()) {
    return parse_verbose_report(PQresultErrorMessage(result));
  }
  return report;
}

ServerReport read_report(const pg_conn* connection) {
  return parse_verbose_report(PQerrorMessage(connection));
}

Error classify(const ServerReport& report, std::string_view doing) {
  const Rule& rule =
      report.sqlstate.empty() ? find_rule(kLibraryRules, report) : find_rule(kServerRules, report);
  std::string message = report.message.empty() ? "the connection failed" : report.message;
  if (!report.detail.empty()) {
    message += ": " + report.detail;
  }
  if (!report.sqlstate.empty()) {
    message += " [SQLSTATE " + report.sqlstate + "]";
  }
  std::string hint{rule.hint};
  if (hint.empty()) {
    hint = report.hint;
  }
  return with_context(make_error(rule.code, std::move(message), std::move(hint)), doing);
}

}  // namespace cdc::postgres
