#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "model/operation.h"

namespace cdc::config {

// Which existing rows of a table become `read` events.
enum class SnapshotMode : std::uint8_t {
  kInitial,      // all, once; then its changes
  kNever,        // none: its changes only
  kAlways,       // all, at every start of the process
  kInitialOnly,  // all, once; none of its changes
};

// The word in configuration.
[[nodiscard]] constexpr std::string_view name_of(SnapshotMode mode) noexcept {
  constexpr std::string_view kNames[] = {"initial", "never", "always", "initial_only"};
  return kNames[static_cast<std::uint8_t>(mode)];
}

[[nodiscard]] constexpr std::optional<SnapshotMode> parse_snapshot_mode(
    std::string_view name) noexcept {
  for (const SnapshotMode mode : {SnapshotMode::kInitial,
                                  SnapshotMode::kNever,
                                  SnapshotMode::kAlways,
                                  SnapshotMode::kInitialOnly}) {
    if (name_of(mode) == name) {
      return mode;
    }
  }
  return std::nullopt;
}

// One entry of `tables`. `name` may be table, schema.table, quoted parts or a glob.
struct TableRule {
  std::string name;
  std::vector<std::string> columns;           // empty: all
  std::string where;                          // empty: all rows
  std::vector<model::Operation> operations;   // empty: all
  std::optional<SnapshotMode> snapshot = {};  // empty: the mode of all tables
};

enum class NumberFormat : std::uint8_t {
  kNumber,
  kString
};
enum class ValueMode : std::uint8_t {
  kNative,
  kText
};
enum class Output : std::uint8_t {
  kStdout,
  kSse,
  kNone
};

struct ValueOptions {
  NumberFormat int8 = NumberFormat::kNumber;
  NumberFormat numeric = NumberFormat::kNumber;
  ValueMode mode = ValueMode::kNative;
};

struct JournalOptions {
  std::uint64_t segment_bytes = 64U << 20U;
  std::uint64_t bytes_max = 16ULL << 30U;
};

struct PostgresOptions {
  std::string publication;            // empty: managed, named kaptanto_pub_<source-id>
  bool publication_existing = false;  // leave the named publication alone
  std::string slot;                   // empty: kaptanto_<source-id>
  bool slot_failover = false;         // create it with failover (server 17 and later)
  bool accept_gap = false;            // go on after a slot was lost or moved, recording the gap
  bool streaming = true;              // in-progress transactions (protocol 2)
  std::uint64_t spill_memory_bytes = 16U << 20U;  // per source, before spilling to files
  std::vector<std::string> message_prefixes;      // globs; empty: logical messages are not captured
  // At most; a third of wal_sender_timeout if that is less.
  std::chrono::milliseconds status_interval{10'000};
};

struct SnapshotOptions {
  SnapshotMode mode = SnapshotMode::kInitial;
  unsigned workers = 2;                           // chunks read at the same time
  std::chrono::milliseconds chunk_time{500};      // what reading a chunk should take
  std::chrono::milliseconds lock_timeout{5'000};  // for ACCESS SHARE on the table
};

// The HTTP API for people and monitoring, on Config::port + 1.
struct AdminOptions {
  bool enabled = true;
  std::string address = "127.0.0.1";  // an IP address
};

// When the process says that it is not ready, and why.
struct HealthOptions {
  std::uint64_t lag_bytes_max = 1ULL << 30U;
  std::chrono::seconds stall_time{300};
};

// The data plane of `output: sse`, on Config::address and Config::port.
struct SseOptions {
  std::chrono::milliseconds heartbeat{15'000};
  std::chrono::milliseconds stall_time{30'000};  // before a client that takes nothing is closed
  std::uint64_t buffer_bytes = 256U << 10U;      // for each client
  std::uint64_t connections_max = 10'000;
  std::vector<std::string> cors_origins;  // as in an Origin header, or "*"
};

// The whole configuration, typed, checked and with defaults applied.
// docs/operating/configuration.md is generated from the same schema.
struct Config {
  std::string source;  // DSN; never log it, see redact_dsn()
  std::vector<TableRule> tables;
  bool all_tables = false;
  Output output = Output::kStdout;
  std::uint16_t port = 7654;
  std::string address = "127.0.0.1";  // an IP address
  std::string auth_token;             // empty: none; never log it
  bool insecure = false;              // listen beyond loopback without a token
  std::filesystem::path data_dir = "./data";
  std::chrono::seconds retention = std::chrono::hours{1};
  log::Level log_level = log::Level::kInfo;
  std::string source_id = "default";
  ValueOptions values;
  JournalOptions journal;
  PostgresOptions postgres;
  SnapshotOptions snapshot;
  AdminOptions admin;
  SseOptions sse;
  HealthOptions health;
};

}  // namespace cdc::config
