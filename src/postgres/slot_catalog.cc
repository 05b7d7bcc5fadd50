#include "postgres/slot_catalog.h"

#include <array>
#include <utility>

#include "base/format.h"

namespace cdc::postgres {

namespace {

constexpr int kVersionWithConflicting = 160'000;
constexpr int kVersionWithInvalidationReason = 170'000;

std::string slots_sql(int version, std::string_view condition) {
  std::string_view newer = "NULL, false, false";
  if (version >= kVersionWithInvalidationReason) {
    newer = "s.invalidation_reason, s.failover, s.synced";
  } else if (version >= kVersionWithConflicting) {
    newer = "CASE WHEN s.conflicting THEN 'conflict with recovery' END, false, false";
  }
  return cdc::format(
      "SELECT s.slot_name, s.plugin, s.database, s.slot_type = 'logical', s.temporary, s.two_phase,"
      " s.active_pid, s.confirmed_flush_lsn, s.wal_status,"
      " pg_catalog.pg_wal_lsn_diff(e.wal_end, s.restart_lsn)::bigint, s.safe_wal_size, {},"
      " e.wal_end"
      " FROM pg_catalog.pg_replication_slots s,"
      " (SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()"
      " ELSE pg_catalog.pg_current_wal_lsn() END AS wal_end) e {} ORDER BY s.slot_name",
      newer,
      condition);
}

SlotRow parse_slot(const QueryResult& result, int row) {
  SlotRow slot{
      .name = std::string{result.text(row, 0)},
      .plugin = std::string{result.text(row, 1)},
      .database = std::string{result.text(row, 2)},
      .logical = result.boolean(row, 3),
      .temporary = result.boolean(row, 4),
      .two_phase = result.boolean(row, 5),
      .failover = result.boolean(row, 12),
      .synced = result.boolean(row, 13),
      .active_pid = std::nullopt,
      .confirmed_flush = parse_lsn(result.text(row, 7)).value_or(Lsn{}),
      .wal_status = std::string{result.text(row, 8)},
      .invalidation_reason = std::string{result.text(row, 11)},
      .retained_bytes = result.integer(row, 9),
      .safe_bytes = result.integer(row, 10),
      .wal_end = parse_lsn(result.text(row, 14)).value_or(Lsn{}),
  };
  if (const auto pid = result.integer(row, 6)) {
    slot.active_pid = static_cast<int>(*pid);
  }
  return slot;
}

void append_part(std::string& out, std::string_view label, std::string_view value) {
  if (!value.empty()) {
    out.append(out.empty() ? "" : ", ").append(label).append(value);
  }
}

std::string in_parentheses(const std::string& parts) {
  return parts.empty() ? std::string{} : " (" + parts + ")";
}

}  // namespace

Result<std::vector<SlotRow>> list_slots(Connection& connection) {
  CDC_ASSIGN(const QueryResult result,
             connection.query(slots_sql(connection.server_version(), "")));
  std::vector<SlotRow> slots;
  slots.reserve(static_cast<std::size_t>(result.rows()));
  for (int row = 0; row < result.rows(); ++row) {
    slots.push_back(parse_slot(result, row));
  }
  return slots;
}

Result<std::optional<SlotRow>> find_slot(Connection& connection, std::string_view name) {
  const std::array<std::string, 1> parameters{std::string{name}};
  CDC_ASSIGN(const QueryResult result,
             connection.query(slots_sql(connection.server_version(), "WHERE s.slot_name = $1"),
                              parameters));
  if (result.rows() == 0) {
    return std::optional<SlotRow>{};
  }
  return parse_slot(result, 0);
}

std::string describe_backend(Connection& connection, int pid) {
  std::string out = "process " + std::to_string(pid);
  const auto result = connection.query(
      cdc::format("SELECT application_name, usename, client_addr, state,"
                  " EXTRACT(epoch FROM pg_catalog.clock_timestamp() - backend_start)::bigint"
                  " FROM pg_catalog.pg_stat_activity WHERE pid = {}",
                  pid));
  if (!result || result->rows() == 0) {
    return out;
  }
  std::string parts;
  append_part(parts, "application ", result->text(0, 0));
  append_part(parts, "role ", result->text(0, 1));
  append_part(parts, "client ", result->text(0, 2));
  append_part(parts, "", result->text(0, 3));
  if (!result->is_null(0, 4)) {
    append_part(parts, "connected for ", std::string{result->text(0, 4)} + " s");
  }
  return out + in_parentheses(parts);
}

Result<std::vector<OpenTransaction>> list_open_transactions(Connection& connection) {
  // Locks are visible to everyone, unlike backend_xid; an exclusive lock on its own transaction id
  // is what a transaction that has written holds.
  constexpr std::string_view kSql =
      "SELECT l.pid::text, a.usename::text, a.application_name, a.state,"
      " EXTRACT(epoch FROM pg_catalog.clock_timestamp() - a.xact_start)::bigint AS age"
      " FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid"
      " WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted"
      " AND l.pid <> pg_catalog.pg_backend_pid()"
      " UNION ALL SELECT NULL, p.owner::text, p.gid, 'prepared',"
      " EXTRACT(epoch FROM pg_catalog.clock_timestamp() - p.prepared)::bigint"
      " FROM pg_catalog.pg_prepared_xacts p ORDER BY age DESC NULLS LAST LIMIT 5";
  CDC_ASSIGN(const QueryResult result, connection.query(kSql));
  std::vector<OpenTransaction> found;
  for (int row = 0; row < result.rows(); ++row) {
    OpenTransaction open;
    std::string parts;
    if (result.is_null(row, 0)) {
      open.description = cdc::format("prepared transaction '{}'", result.text(row, 2));
      open.fix = cdc::format("ROLLBACK PREPARED '{}' or COMMIT PREPARED", result.text(row, 2));
      append_part(parts, "role ", result.text(row, 1));
    } else {
      open.description = cdc::format("process {}", result.text(row, 0));
      open.fix = cdc::format("SELECT pg_terminate_backend({})", result.text(row, 0));
      append_part(parts, "application ", result.text(row, 2));
      append_part(parts, "role ", result.text(row, 1));
      append_part(parts, "", result.text(row, 3));
    }
    open.age_seconds = result.integer(row, 4).value_or(0);
    if (!result.is_null(row, 4)) {
      append_part(parts, "open for ", std::string{result.text(row, 4)} + " s");
    }
    open.description += in_parentheses(parts);
    found.push_back(std::move(open));
  }
  return found;
}

}  // namespace cdc::postgres
