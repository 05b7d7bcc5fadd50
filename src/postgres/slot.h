#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "config/config.h"
#include "postgres/connection.h"

namespace cdc::postgres {

struct ServerIdentity {
  std::string system_identifier;
  std::uint32_t timeline = 0;
  std::string database;
  int version = 0;
  std::int64_t wal_sender_timeout_ms = 60'000;  // 0: none
};

[[nodiscard]] Result<ServerIdentity> identify_server(Connection& connection);

// What we know of the slot's past; empty on the first run.
struct SlotExpectation {
  bool used_before = false;     // our state says that we streamed from it
  Lsn durable;                  // everything up to here is in our journal
};

struct SlotState {
  std::string name;
  bool created = false;
  Lsn confirmed_flush;          // the server starts here, whatever we ask for below it
};

// Finds the slot, or creates it when it was never used, and verifies that it can serve us: plugin,
// database, wal_status, invalidation, and that it has not moved past `durable`.
// Errors: kSlotLost, kSlotForeign, kSlotGap, kSlotBusy (active elsewhere), kPermission, kSourceSetup.
// With options.accept_gap a lost slot is created anew and a gap is returned in `gap` for a control
// event: (from, to) positions between which changes may be missing.
struct SlotGap {
  Lsn from;
  Lsn to;
};
struct EnsuredSlot {
  SlotState state;
  std::optional<SlotGap> gap;
};
[[nodiscard]] Result<EnsuredSlot> ensure_slot(Connection& connection,
                                              const config::Config& config,
                                              const SlotExpectation& expectation);

}  // namespace cdc::postgres
