#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "postgres/connection.h"

namespace cdc::postgres {

// A row of pg_replication_slots, whatever the version of the server has of it.
struct SlotRow {
  std::string name;
  std::string plugin;    // empty for physical slots
  std::string database;  // empty for physical slots
  bool logical = false;
  bool temporary = false;
  bool two_phase = false;
  bool failover = false;  // server 17 and later
  bool synced = false;    // a standby's copy of the primary's slot; server 17 and later
  std::optional<int> active_pid;
  Lsn confirmed_flush;
  std::string wal_status;                      // reserved, extended, unreserved, lost
  std::string invalidation_reason;             // server 16 and later
  std::optional<std::int64_t> retained_bytes;  // WAL kept for it; none when that cannot be told
  std::optional<std::int64_t> safe_bytes;      // WAL until it is lost; none without a limit
  Lsn wal_end;                                 // of the server, at that moment

  [[nodiscard]] bool lost() const noexcept {
    return wal_status == "lost" || !invalidation_reason.empty();
  }
};

// All slots of the server, of every database, by name.
[[nodiscard]] Result<std::vector<SlotRow>> list_slots(Connection& connection);
[[nodiscard]] Result<std::optional<SlotRow>> find_slot(Connection& connection,
                                                       std::string_view name);

// "process 42 (application kaptanto, role app, client 10.0.0.1, active for 12 s)": what of it the
// role may see.
[[nodiscard]] std::string describe_backend(Connection& connection, int pid);

// Transactions of others that have written and are still open, oldest first, with how to end each:
// a new logical slot must wait for them.
struct OpenTransaction {
  std::string description;
  std::string fix;
  std::int64_t age_seconds = 0;  // 0 where the role may not see it
};

[[nodiscard]] Result<std::vector<OpenTransaction>> list_open_transactions(Connection& connection);

}  // namespace cdc::postgres
