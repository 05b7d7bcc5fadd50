#include "postgres/doctor.h"

#include <array>
#include <charconv>
#include <utility>

#include <libpq-fe.h>

#include "base/format.h"
#include "postgres/internal/doctor_checks.h"
#include "postgres/slot.h"

namespace cdc::postgres {

namespace {

constexpr std::chrono::milliseconds kConnectTimeout{10'000};

Result<Connection> open(const config::Config& config, bool replication, const StopSignal& stop) {
  ConnectOptions options;
  options.dsn = config.source;
  options.replication = replication;
  options.application_name = "kaptanto doctor";
  options.timeout = kConnectTimeout;
  return Connection::open(options, stop);
}

void report_connection(Connection& connection, Findings& findings) {
  const pg_conn* raw = connection.raw();
  const auto version = connection.query("SHOW server_version");
  findings.pass("connection",
                cdc::format("PostgreSQL {} at {} port {}, database {}, role {}, {} TLS",
                            version ? version->text(0, 0) : "of unknown version",
                            PQhost(raw),
                            PQport(raw),
                            PQdb(raw),
                            PQuser(raw),
                            PQsslInUse(connection.raw()) == 0 ? "without" : "with"));
}

// The stream needs a connection of its own kind, which pg_hba.conf, the role's attributes, a pooler
// or max_wal_senders may refuse although ordinary ones are let in.
void check_replication_connection(const config::Config& config,
                                  const StopSignal& stop,
                                  Findings& findings) {
  const auto connection = open(config, true, stop);
  if (connection) {
    findings.pass("replication_connection", "accepted");
  } else {
    findings.fail("replication_connection", connection.error());
  }
}

void load_settings(DoctorContext& context, Findings& findings) {
  const auto result = context.connection.query("SELECT name, setting FROM pg_catalog.pg_settings");
  if (!result) {
    findings.fail("settings", result.error());
    return;
  }
  for (int row = 0; row < result->rows(); ++row) {
    context.settings.emplace(result->text(row, 0), result->text(row, 1));
  }
}

}  // namespace

void Findings::pass(std::string name, std::string detail) {
  checks_.push_back(Check{
      .name = std::move(name), .verdict = Verdict::kPass, .detail = std::move(detail), .fix = {}});
}

void Findings::warn(std::string name, std::string detail, std::string fix) {
  checks_.push_back(Check{.name = std::move(name),
                          .verdict = Verdict::kWarn,
                          .detail = std::move(detail),
                          .fix = std::move(fix)});
}

void Findings::fail(std::string name, std::string detail, std::string fix) {
  checks_.push_back(Check{.name = std::move(name),
                          .verdict = Verdict::kFail,
                          .detail = std::move(detail),
                          .fix = std::move(fix)});
}

void Findings::fail(std::string name, const Error& error) {
  fail(std::move(name), error.message, error.hint);
}

std::string_view DoctorContext::setting(std::string_view name) const {
  const auto found = settings.find(name);
  return found == settings.end() ? std::string_view{} : std::string_view{found->second};
}

std::optional<std::int64_t> DoctorContext::number(std::string_view name) const {
  const std::string_view text = setting(name);
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

const SlotRow* DoctorContext::own_slot() const {
  if (slots) {
    for (const SlotRow& slot : *slots) {
      if (slot.name == slot_name(config)) {
        return &slot;
      }
    }
  }
  return nullptr;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return cdc::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::vector<Check> examine_source(const config::Config& config, const StopSignal& stop) {
  Findings findings;
  auto connection = open(config, false, stop);
  if (!connection) {
    findings.fail("connection", connection.error());
    return findings.take();
  }
  report_connection(*connection, findings);
  DoctorContext context{.config = config,
                        .connection = *connection,
                        .settings = {},
                        .rights = std::nullopt,
                        .slots = std::nullopt};
  load_settings(context, findings);
  if (auto rights = load_session_rights(*connection)) {
    context.rights = *std::move(rights);
  } else {
    findings.fail("rights", rights.error());
  }
  if (auto slots = list_slots(*connection)) {
    context.slots = *std::move(slots);
  } else {
    findings.fail("slots", slots.error());
  }
  check_server(context, findings);
  check_slots(context, findings);
  // After the walsenders were counted: this is one, and the server notices its end a little later.
  check_replication_connection(config, stop, findings);
  check_tables(context, findings);
  return findings.take();
}

}  // namespace cdc::postgres
