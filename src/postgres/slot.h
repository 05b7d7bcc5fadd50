#pragma once

#include <chrono>
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

// Needs no right beyond CONNECT.
[[nodiscard]] Result<ServerIdentity> identify_server(Connection& connection);

// The slot that the configuration names: postgres.slot, or kaptanto_<source-id>.
[[nodiscard]] std::string slot_name(const config::Config& config);

// kSourceSetup unless wal_level is logical. For callers that change something before they come to
// the slot: a start that cannot succeed leaves nothing behind.
[[nodiscard]] Status check_wal_level(Connection& connection);

// What we know of the slot's past; empty on the first run.
struct SlotExpectation {
  bool used_before = false;  // our state says that we streamed from it
  // Everything up to here is in our journal, or was before the slot began: save the confirmed_flush
  // of a new slot as the first such position, or a restart before the first event reads as a gap.
  Lsn durable;
};

struct SlotState {
  std::string name;
  bool created = false;
  Lsn confirmed_flush;  // the server starts here, whatever we ask for below it
};

// Positions between which changes may be missing, for a control event.
struct SlotGap {
  Lsn from;
  Lsn to;
};

struct EnsuredSlot {
  SlotState state;
  std::optional<SlotGap> gap;
};

inline constexpr std::chrono::milliseconds kSlotCreateTimeout{30'000};

// Finds the slot, or creates it when it was never used, and verifies that it can serve us: plugin,
// database, wal_status, invalidation, that nobody else reads it and that it has not moved past
// `durable`. `connection` is an ordinary one, outside a transaction.
//
// Errors   kSlotLost     missing though used before, or invalidated by the server
//          kSlotForeign  another plugin, database or kind; or the server's WAL ends before
//                        `durable`, which makes it another server whatever its name
//          kSlotGap      moved past `durable` by something else
//          kSlotBusy     another process reads it: named in the message; worth a retry
//          kUnavailable  open transactions kept the new slot waiting for longer than
//                        `create_timeout`: named in the message; worth a retry
//          kPermission, kSourceSetup, kUnsupported as the server says
// With postgres.accept-gap a lost slot is created anew, a moved one is taken as it is, and the gap
// is returned. A slot that exists and was never used by us is taken from where it stands.
[[nodiscard]] Result<EnsuredSlot> ensure_slot(
    Connection& connection,
    const config::Config& config,
    const SlotExpectation& expectation,
    std::chrono::milliseconds create_timeout = kSlotCreateTimeout);

}  // namespace cdc::postgres
