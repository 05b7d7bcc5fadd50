#include "postgres/slot.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/log.h"
#include "expr/table_pattern.h"
#include "postgres/slot_catalog.h"

namespace cdc::postgres {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view kPlugin = "pgoutput";
constexpr int kVersionWithStandbyDecoding = 160'000;
constexpr int kVersionWithFailoverSlots = 170'000;
constexpr std::string_view kAcceptGapHint =
    "to go on without those changes, set postgres.accept-gap: true; the gap is then recorded as an "
    "event";

struct ServerNow {
  std::string database;
  bool in_recovery = false;
  Lsn wal_end;
};

Result<ServerNow> look_at_server(Connection& connection) {
  CDC_ASSIGN(
      const QueryResult result,
      connection.query("SELECT pg_catalog.current_database(), pg_catalog.pg_is_in_recovery(),"
                       " CASE WHEN pg_catalog.pg_is_in_recovery()"
                       " THEN pg_catalog.pg_last_wal_replay_lsn()"
                       " ELSE pg_catalog.pg_current_wal_flush_lsn() END"));
  return ServerNow{.database = std::string{result.text(0, 0)},
                   .in_recovery = result.boolean(0, 1),
                   .wal_end = parse_lsn(result.text(0, 2)).value_or(Lsn{})};
}

Status check_server(const ServerNow& server,
                    int version,
                    const config::Config& config,
                    const SlotExpectation& expectation) {
  if (server.in_recovery && version < kVersionWithStandbyDecoding) {
    return fail(Errc::kSourceSetup,
                "the server is a standby, and logical decoding on standbys needs PostgreSQL 16",
                "connect to the primary; with several hosts, add target_session_attrs=primary");
  }
  if (config.postgres.slot_failover && version < kVersionWithFailoverSlots) {
    return fail(Errc::kUnsupported,
                "postgres.slot-failover needs PostgreSQL 17 or later",
                "remove postgres.slot-failover");
  }
  // Positions that we have recorded would come a second time, for other changes, and be taken for
  // repetitions: no gap could be told. So not even accept-gap helps here.
  if (expectation.used_before && expectation.durable > server.wal_end) {
    return fail(
        Errc::kSlotForeign,
        cdc::format("the server's WAL ends at {}, but changes up to {} are recorded already: "
                    "this is another server, or one restored from a backup or promoted "
                    "before it had everything",
                    to_string(server.wal_end),
                    to_string(expectation.durable)),
        "connect to the right server, or start anew with another data-dir or source-id");
  }
  return {};
}

Status check_kind(const SlotRow& slot, const ServerNow& server) {
  std::string fault;
  if (!slot.logical) {
    fault = "it is a physical slot";
  } else if (slot.plugin != kPlugin) {
    fault = cdc::format("its output plugin is {}, not {}", slot.plugin, kPlugin);
  } else if (slot.database != server.database) {
    fault = cdc::format("it belongs to database {}, not {}", slot.database, server.database);
  } else if (slot.temporary) {
    fault = "it is temporary and ends with the session that made it";
  } else if (slot.two_phase) {
    fault = "it decodes prepared transactions (two_phase)";
  } else if (slot.synced && server.in_recovery) {
    fault = "it is a standby's copy of the primary's slot, of no use before a promotion";
  } else {
    return {};
  }
  return fail(Errc::kSlotForeign,
              cdc::format("replication slot {} cannot be used: {}", slot.name, fault),
              "name another slot with postgres.slot; one that does not exist is created");
}

Error lost_error(const SlotRow& slot) {
  const std::string reason =
      slot.invalidation_reason.empty() ? "the WAL it needs was removed" : slot.invalidation_reason;
  return make_error(
      Errc::kSlotLost,
      cdc::format("replication slot {} is lost ({}); changes after {} cannot be read any more",
                  slot.name,
                  reason,
                  to_string(slot.confirmed_flush)),
      cdc::format("{}; a larger max_slot_wal_keep_size keeps this from happening again",
                  kAcceptGapHint));
}

Error missing_error(const std::string& name, Lsn durable) {
  return make_error(
      Errc::kSlotLost,
      cdc::format("replication slot {} is gone; changes after {} cannot be read any more",
                  name,
                  to_string(durable)),
      std::string{kAcceptGapHint});
}

Error moved_error(const SlotRow& slot, Lsn durable) {
  return make_error(
      Errc::kSlotGap,
      cdc::format("replication slot {} stands at {}, but only changes up to {} are recorded: "
                  "something else moved it, and the changes between are gone",
                  slot.name,
                  to_string(slot.confirmed_flush),
                  to_string(durable)),
      cdc::format("find out what else reads the slot; {}", kAcceptGapHint));
}

// A new slot waits for every transaction that had written before. Names the ones still open.
Error explain_creation(Connection& connection, const std::string& name, Error error) {
  error = with_context(std::move(error), cdc::format("create replication slot {}", name));
  if (error.code == Errc::kPermission) {
    error.hint = cdc::format(
        "as a superuser: ALTER ROLE {} REPLICATION; on Amazon RDS: GRANT "
        "rds_replication TO {}",
        expr::quote_identifier(connection.user()),
        expr::quote_identifier(connection.user()));
    return error;
  }
  if (error.code != Errc::kUnavailable) {
    return error;
  }
  const auto open = list_open_transactions(connection);
  if (!open || open->empty()) {
    return error;
  }
  error.message += "; it must wait for open transactions:";
  error.hint.clear();
  for (const OpenTransaction& transaction : *open) {
    error.message += (&transaction == open->data() ? " " : ", ") + transaction.description;
    error.hint += (&transaction == open->data() ? "end it: " : "; ") + transaction.fix;
  }
  return error;
}

Result<SlotState> create_slot(Connection& connection,
                              const config::Config& config,
                              milliseconds timeout) {
  const std::string name = slot_name(config);
  std::string sql =
      "SELECT lsn FROM pg_catalog.pg_create_logical_replication_slot(slot_name => $1,"
      " plugin => 'pgoutput', temporary => false, twophase => false";
  if (connection.server_version() >= kVersionWithFailoverSlots) {
    sql += config.postgres.slot_failover ? ", failover => true" : ", failover => false";
  }
  sql += ")";
  // The server ends the statement itself, and with it the half-made slot: one that we merely stop
  // waiting for would stay behind. Ours is the longer patience.
  CDC_TRY(connection.query(cdc::format("SET statement_timeout = {}", timeout.count())));
  const std::array<std::string, 1> parameters{name};
  constexpr milliseconds kGrace{10'000};
  auto created = connection.query(sql, parameters, timeout + kGrace);
  if (!created) {
    Error error = explain_creation(connection, name, std::move(created).error());
    // On a connection that is lost, this fails too, and what the caller needs is the first error.
    if (const auto reset = connection.query("RESET statement_timeout"); !reset) {
      log::debug("statement_timeout is not reset", {{"error", reset.error().message}});
    }
    return fail(std::move(error));
  }
  CDC_TRY(connection.query("RESET statement_timeout"));
  const Lsn start = parse_lsn(created->text(0, 0)).value_or(Lsn{});
  log::info("replication slot created", {{"slot", name}, {"position", to_string(start)}});
  return SlotState{.name = name, .created = true, .confirmed_flush = start};
}

Result<EnsuredSlot> create_after_gap(Connection& connection,
                                     const config::Config& config,
                                     Lsn from,
                                     milliseconds timeout) {
  CDC_ASSIGN(SlotState state, create_slot(connection, config, timeout));
  const SlotGap gap{.from = from, .to = state.confirmed_flush};
  log::warn("changes are missing between two positions",
            {{"slot", state.name}, {"from", to_string(gap.from)}, {"to", to_string(gap.to)}});
  return EnsuredSlot{.state = std::move(state), .gap = gap};
}

Result<EnsuredSlot> replace_lost_slot(Connection& connection,
                                      const config::Config& config,
                                      const SlotRow& slot,
                                      Lsn from,
                                      milliseconds timeout) {
  const std::array<std::string, 1> parameters{slot.name};
  auto dropped = connection.query("SELECT pg_catalog.pg_drop_replication_slot($1)", parameters);
  if (!dropped) {
    return fail(with_context(std::move(dropped).error(),
                             cdc::format("drop the lost replication slot {}", slot.name)));
  }
  log::warn("lost replication slot dropped", {{"slot", slot.name}});
  return create_after_gap(connection, config, from, timeout);
}

void warn_of_dangers(const SlotRow& slot, const config::Config& config) {
  if (slot.wal_status == "unreserved") {
    log::warn(
        "the replication slot is about to be lost: it retains more than "
        "max_slot_wal_keep_size",
        {{"slot", slot.name}, {"retained_bytes", slot.retained_bytes.value_or(0)}});
  }
  if (config.postgres.slot_failover && !slot.failover) {
    log::warn("the replication slot exists without failover; drop it to have it created with it",
              {{"slot", slot.name}});
  }
}

}  // namespace

std::string slot_name(const config::Config& config) {
  return config.postgres.slot.empty() ? "kaptanto_" + config.source_id : config.postgres.slot;
}

Result<ServerIdentity> identify_server(Connection& connection) {
  // The name of a WAL file begins with the timeline being written, eight digits; the checkpoint's
  // timeline, all that a standby can tell, lags behind after a promotion.
  auto result = connection.query(
      "SELECT (pg_catalog.pg_control_system()).system_identifier,"
      " CASE WHEN pg_catalog.pg_is_in_recovery()"
      " THEN (pg_catalog.pg_control_checkpoint()).timeline_id"
      " ELSE ('x' || pg_catalog.left(pg_catalog.pg_walfile_name("
      "pg_catalog.pg_current_wal_lsn()), 8))::bit(32)::int END,"
      " pg_catalog.current_database(),"
      " (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'wal_sender_timeout')");
  if (!result) {
    return fail(with_context(std::move(result).error(), "identify the server"));
  }
  return ServerIdentity{
      .system_identifier = std::string{result->text(0, 0)},
      .timeline = static_cast<std::uint32_t>(result->integer(0, 1).value_or(0)),
      .database = std::string{result->text(0, 2)},
      .version = connection.server_version(),
      .wal_sender_timeout_ms = result->integer(0, 3).value_or(0),
  };
}

Status check_wal_level(Connection& connection) {
  CDC_ASSIGN(const QueryResult result, connection.query("SHOW wal_level"));
  if (result.text(0, 0) == "logical") {
    return {};
  }
  return fail(
      Errc::kSourceSetup,
      cdc::format("the server has wal_level = {}, logical decoding needs wal_level = logical",
                  result.text(0, 0)),
      "ALTER SYSTEM SET wal_level = 'logical', then restart the server; on Amazon RDS: "
      "rds.logical_replication = 1");
}

Result<EnsuredSlot> ensure_slot(Connection& connection,
                                const config::Config& config,
                                const SlotExpectation& expectation,
                                milliseconds create_timeout) {
  const std::string name = slot_name(config);
  const bool accept_gap = config.postgres.accept_gap;
  CDC_ASSIGN(const ServerNow server, look_at_server(connection));
  CDC_TRY(check_server(server, connection.server_version(), config, expectation));
  CDC_ASSIGN(const auto slot, find_slot(connection, name));
  if (!slot) {
    if (!expectation.used_before) {
      CDC_ASSIGN(SlotState state, create_slot(connection, config, create_timeout));
      return EnsuredSlot{.state = std::move(state), .gap = std::nullopt};
    }
    if (!accept_gap) {
      return fail(missing_error(name, expectation.durable));
    }
    return create_after_gap(connection, config, expectation.durable, create_timeout);
  }
  CDC_TRY(check_kind(*slot, server));
  if (slot->lost()) {
    if (!accept_gap) {
      return fail(lost_error(*slot));
    }
    const Lsn from = expectation.used_before ? expectation.durable : slot->confirmed_flush;
    return replace_lost_slot(connection, config, *slot, from, create_timeout);
  }
  if (slot->active_pid) {
    return fail(Errc::kSlotBusy,
                cdc::format("replication slot {} is in use by {}",
                            name,
                            describe_backend(connection, *slot->active_pid)),
                "only one process can stream from a slot: end the other one, or use another "
                "source-id");
  }
  warn_of_dangers(*slot, config);
  EnsuredSlot ensured{
      .state = {.name = name, .created = false, .confirmed_flush = slot->confirmed_flush},
      .gap = std::nullopt};
  if (expectation.used_before && slot->confirmed_flush > expectation.durable) {
    if (!accept_gap) {
      return fail(moved_error(*slot, expectation.durable));
    }
    ensured.gap = SlotGap{.from = expectation.durable, .to = slot->confirmed_flush};
    log::warn("changes are missing between two positions",
              {{"slot", name},
               {"from", to_string(ensured.gap->from)},
               {"to", to_string(ensured.gap->to)}});
  }
  return ensured;
}

}  // namespace cdc::postgres
