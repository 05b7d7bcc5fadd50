// The option table itself. The order is that of the documentation.
#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "base/format.h"
#include "config/dsn.h"
#include "config/option.h"

namespace cdc::config {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr std::array<std::string_view, 3> kOutputs{"stdout", "sse", "none"};
constexpr std::array<std::string_view, 8> kOutputsLater{
    "grpc", "nats", "sqs", "kafka", "pubsub", "rabbitmq", "webhook", "vector"};
constexpr std::array<std::string_view, 5> kLogLevels{"debug", "info", "warn", "warning", "error"};
constexpr std::array<std::string_view, 2> kNumberFormats{"number", "string"};
constexpr std::array<std::string_view, 2> kValueModes{"native", "text"};
constexpr std::array<std::string_view, 2> kPublicationModes{"managed", "existing"};

constexpr std::array<std::string_view, 4> kSnapshotModes{name_of(SnapshotMode::kInitial),
                                                         name_of(SnapshotMode::kNever),
                                                         name_of(SnapshotMode::kAlways),
                                                         name_of(SnapshotMode::kInitialOnly)};

constexpr std::size_t kSourceIdBytesMax = 40;
constexpr std::size_t kIdentifierBytesMax = 63;

const std::string& text_of(const OptionValue& value) {
  return std::get<std::string>(value);
}

bool is_slot_text(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

Status check_source(const OptionValue& value) {
  return check_dsn(text_of(value));
}

Status check_source_id(const OptionValue& value) {
  if (!is_slot_text(text_of(value)) || text_of(value).size() > kSourceIdBytesMax) {
    return fail(Errc::kConfigInvalid,
                cdc::format("must be 1 to {} characters out of a-z, 0-9 and _", kSourceIdBytesMax),
                "it becomes part of the names of the slot and the publication");
  }
  return {};
}

Status check_slot(const OptionValue& value) {
  if (!is_slot_text(text_of(value)) || text_of(value).size() > kIdentifierBytesMax) {
    return fail(
        Errc::kConfigInvalid,
        cdc::format("must be 1 to {} characters out of a-z, 0-9 and _", kIdentifierBytesMax),
        "PostgreSQL allows no others in the name of a slot");
  }
  return {};
}

Status check_publication(const OptionValue& value) {
  if (text_of(value).size() > kIdentifierBytesMax || text_of(value).contains('\0')) {
    return fail(
        Errc::kConfigInvalid,
        cdc::format("must be at most {} bytes, PostgreSQL's limit for a name", kIdentifierBytesMax),
        "write the name without quotes");
  }
  return {};
}

bool is_whole_seconds(const OptionValue& value) {
  return std::get<Milliseconds>(value) % std::chrono::seconds{1} == Milliseconds{0};
}

Status check_retention(const OptionValue& value) {
  if (!is_whole_seconds(value)) {
    return fail(Errc::kConfigInvalid, "must be whole seconds", "write 0 to keep nothing");
  }
  return {};
}

Status check_whole_seconds(const OptionValue& value) {
  if (!is_whole_seconds(value)) {
    return fail(Errc::kConfigInvalid, "must be whole seconds", "write 30s or 5m");
  }
  return {};
}

Status check_address(const OptionValue& value) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  const char* text = text_of(value).c_str();
  if (::inet_pton(AF_INET, text, address.data()) == 1 ||
      ::inet_pton(AF_INET6, text, address.data()) == 1) {
    return {};
  }
  return fail(Errc::kConfigInvalid,
              "is not an IP address",
              "write 127.0.0.1 for this machine alone, 0.0.0.0 or :: for every network");
}

// A control character would end a header, and a blank at an end be lost in one.
Status check_token(const OptionValue& value) {
  const bool is_plain =
      std::ranges::all_of(text_of(value), [](char c) { return c > ' ' && c <= '~'; });
  if (!is_plain) {
    return fail(Errc::kConfigInvalid,
                "must be printable ASCII without blanks",
                "for example the output of `openssl rand -hex 32`");
  }
  return {};
}

Output output_of(std::string_view name) {
  if (name == "sse") {
    return Output::kSse;
  }
  return name == "none" ? Output::kNone : Output::kStdout;
}

log::Level log_level_of(std::string_view name) {
  if (name == "debug") {
    return log::Level::kDebug;
  }
  if (name == "info") {
    return log::Level::kInfo;
  }
  return name == "error" ? log::Level::kError : log::Level::kWarn;
}

NumberFormat number_format_of(const OptionValue& value) {
  return text_of(value) == "string" ? NumberFormat::kString : NumberFormat::kNumber;
}

// Stores of options of a later version.
void ignore(Config& /*config*/, const OptionValue& /*value*/) {}

// clang-format off
const std::array kOptions = std::to_array<OptionSpec>({
    {.path = "source",
     .flag = "source",
     .doc = "Connection string of the database to read: a postgres:// URI or libpq's keyword "
            "form. A password on the command line can be seen by other users for a moment; the "
            "file, the environment or `source-file` do not have that fault.",
     .store = [](Config& c, const OptionValue& v) { c.source = text_of(v); },
     .check = check_source,
     .is_secret = true},
    {.path = "source-file",
     .kind = OptionKind::kPath,
     .flag = "source-file",
     .doc = "File that holds the connection string, such as a mounted secret. Instead of "
            "`source`.",
     .store = ignore},
    {.path = "tables",
     .kind = OptionKind::kTables,
     .flag = "tables",
     .doc = "Tables to capture. In the file a list of names, or a map from name to `columns`, "
            "`where`, `operations` and `snapshot`. As a flag, names separated by commas, "
            "repeatable: they replace the set of tables, and a name that the file also has keeps "
            "its rules."},
    {.path = "all-tables",
     .kind = OptionKind::kBoolean,
     .default_text = "false",
     .flag = "all-tables",
     .doc = "Capture every table, present and future. Without it `tables` must name some.",
     .store = [](Config& c, const OptionValue& v) { c.all_tables = std::get<bool>(v); }},
    {.path = "output",
     .kind = OptionKind::kChoice,
     .default_text = "stdout",
     .flag = "output",
     .doc = "Where events go: one JSON object per line on standard output, to every client that "
            "asks for them over HTTP (server-sent events), or nowhere but the event log.",
     .store = [](Config& c, const OptionValue& v) { c.output = output_of(text_of(v)); },
     .choices = kOutputs,
     .choices_later = kOutputsLater},
    {.path = "port",
     .kind = OptionKind::kInteger,
     .default_text = "7654",
     .flag = "port",
     .doc = "TCP port that `output: sse` listens on. The admin API listens on the next port, "
            "unless `admin.enabled` is off.",
     .store = [](Config& c, const OptionValue& v) {
       c.port = static_cast<std::uint16_t>(std::get<std::uint64_t>(v));
     },
     .minimum = 1,
     .maximum = 65'534},
    {.path = "address",
     .default_text = "127.0.0.1",
     .flag = "address",
     .doc = "IP address that `output: sse` listens on. Beyond loopback it needs `auth-token`, or "
            "`insecure`.",
     .store = [](Config& c, const OptionValue& v) { c.address = text_of(v); },
     .check = check_address},
    {.path = "auth-token",
     .flag = "auth-token",
     .doc = "Bearer token that clients of `output: sse` must send. A flag can be seen by other "
            "users for a moment; the file, the environment or `auth-token-file` do not have that "
            "fault.",
     .store = [](Config& c, const OptionValue& v) { c.auth_token = text_of(v); },
     .check = check_token,
     .is_secret = true},
    {.path = "auth-token-file",
     .kind = OptionKind::kPath,
     .flag = "auth-token-file",
     .doc = "File that holds the token, such as a mounted secret. Instead of `auth-token`.",
     .store = ignore},
    {.path = "insecure",
     .kind = OptionKind::kBoolean,
     .default_text = "false",
     .flag = "insecure",
     .doc = "Let `output: sse` listen beyond loopback without a token: whoever reaches it reads "
            "every event.",
     .store = [](Config& c, const OptionValue& v) { c.insecure = std::get<bool>(v); }},
    {.path = "cors-origin",
     .kind = OptionKind::kList,
     .flag = "cors-origin",
     .doc = "Origins whose pages may read `output: sse` in a browser, such as "
            "`https://app.example`; `*` stands for all. None by default.",
     .store = [](Config& c, const OptionValue& v) {
       c.sse.cors_origins = std::get<std::vector<std::string>>(v);
     }},
    {.path = "data-dir",
     .kind = OptionKind::kPath,
     .default_text = "./data",
     .flag = "data-dir",
     .doc = "Directory of the event log and the positions. Created with mode 0700. One process at "
            "a time may use it.",
     .store = [](Config& c, const OptionValue& v) { c.data_dir = text_of(v); }},
    {.path = "retention",
     .kind = OptionKind::kDuration,
     .default_text = "1h",
     .flag = "retention",
     .doc = "How long events stay in the event log after all consumers have passed them. 0 "
            "deletes them as soon as all have.",
     .store = [](Config& c, const OptionValue& v) {
       c.retention = std::chrono::duration_cast<std::chrono::seconds>(std::get<Milliseconds>(v));
     },
     .check = check_retention},
    {.path = "log-level",
     .kind = OptionKind::kChoice,
     .default_text = "info",
     .flag = "log-level",
     .doc = "Least severe messages that the log on standard error shows.",
     .store = [](Config& c, const OptionValue& v) { c.log_level = log_level_of(text_of(v)); },
     .choices = kLogLevels},
    {.path = "source-id",
     .default_text = "default",
     .flag = "source-id",
     .doc = "Name of this source: the `source` of every event, and part of the default names of "
            "the slot and the publication. 1 to 40 characters out of a-z, 0-9 and _.",
     .store = [](Config& c, const OptionValue& v) { c.source_id = text_of(v); },
     .check = check_source_id},

    {.path = "values.int8",
     .kind = OptionKind::kChoice,
     .default_text = "number",
     .flag = "values-int8",
     .doc = "How bigint values are written: as JSON numbers, or as strings for readers that keep "
            "numbers in a double.",
     .store = [](Config& c, const OptionValue& v) { c.values.int8 = number_format_of(v); },
     .choices = kNumberFormats},
    {.path = "values.numeric",
     .kind = OptionKind::kChoice,
     .default_text = "number",
     .flag = "values-numeric",
     .doc = "How numeric values are written: as JSON numbers, digit for digit, or as strings.",
     .store = [](Config& c, const OptionValue& v) { c.values.numeric = number_format_of(v); },
     .choices = kNumberFormats},
    {.path = "values.mode",
     .kind = OptionKind::kChoice,
     .default_text = "native",
     .flag = "values-mode",
     .doc = "`native` writes JSON types, `text` writes every value as the string PostgreSQL "
            "prints.",
     .store = [](Config& c, const OptionValue& v) {
       c.values.mode = text_of(v) == "text" ? ValueMode::kText : ValueMode::kNative;
     },
     .choices = kValueModes},

    {.path = "journal.segment-bytes",
     .kind = OptionKind::kSize,
     .default_text = "64MiB",
     .flag = "journal-segment-bytes",
     .doc = "Size of one file of the event log. Deletion works on whole files.",
     .store = [](Config& c, const OptionValue& v) {
       c.journal.segment_bytes = std::get<std::uint64_t>(v);
     },
     .minimum = 1ULL << 20U,
     .maximum = 1ULL << 30U},
    {.path = "journal.max-bytes",
     .kind = OptionKind::kSize,
     .default_text = "16GiB",
     .flag = "journal-max-bytes",
     .doc = "Size at which the event log pauses the source until consumers have passed more of "
            "it. At least twice `journal.segment-bytes`.",
     .store = [](Config& c, const OptionValue& v) {
       c.journal.bytes_max = std::get<std::uint64_t>(v);
     },
     .minimum = 2ULL << 20U,
     .maximum = 1ULL << 50U},

    {.path = "postgres.publication",
     .flag = "postgres-publication",
     .doc = "Name of the publication. Default: `kaptanto_pub_<source-id>`.",
     .store = [](Config& c, const OptionValue& v) { c.postgres.publication = text_of(v); },
     .check = check_publication},
    {.path = "postgres.publication-mode",
     .kind = OptionKind::kChoice,
     .default_text = "managed",
     .flag = "postgres-publication-mode",
     .doc = "`managed`: the publication is created and altered to match `tables`. `existing`: it "
            "is used as it is and never changed; `postgres.publication` must name it.",
     .store = [](Config& c, const OptionValue& v) {
       c.postgres.publication_existing = text_of(v) == "existing";
     },
     .choices = kPublicationModes},
    {.path = "postgres.slot",
     .flag = "postgres-slot",
     .doc = "Name of the replication slot. Default: `kaptanto_<source-id>`.",
     .store = [](Config& c, const OptionValue& v) { c.postgres.slot = text_of(v); },
     .check = check_slot},
    {.path = "postgres.slot-failover",
     .kind = OptionKind::kBoolean,
     .default_text = "false",
     .flag = "postgres-slot-failover",
     .doc = "Create the slot so that it follows a failover (PostgreSQL 17 and later).",
     .store = [](Config& c, const OptionValue& v) {
       c.postgres.slot_failover = std::get<bool>(v);
     }},
    {.path = "postgres.accept-gap",
     .kind = OptionKind::kBoolean,
     .default_text = "false",
     .flag = "postgres-accept-gap",
     .doc = "Go on after the slot was lost or has moved on, recording the gap as a control event. "
            "Without it the process stops, because events may be missing.",
     .store = [](Config& c, const OptionValue& v) { c.postgres.accept_gap = std::get<bool>(v); }},
    {.path = "postgres.streaming",
     .kind = OptionKind::kBoolean,
     .default_text = "true",
     .flag = "postgres-streaming",
     .doc = "Receive large transactions while they are in progress. Off while `postgres.messages` "
            "is set, because a streamed message cannot be taken back by a rollback to a savepoint.",
     .store = [](Config& c, const OptionValue& v) { c.postgres.streaming = std::get<bool>(v); }},
    {.path = "postgres.spill-memory",
     .kind = OptionKind::kSize,
     .default_text = "16MiB",
     .flag = "postgres-spill-memory",
     .doc = "Memory for transactions in progress; what exceeds it waits in files under "
            "`data-dir`.",
     .store = [](Config& c, const OptionValue& v) {
       c.postgres.spill_memory_bytes = std::get<std::uint64_t>(v);
     },
     .minimum = 64ULL << 10U,
     .maximum = 1ULL << 36U},
    {.path = "postgres.messages",
     .kind = OptionKind::kList,
     .flag = "postgres-messages",
     .doc = "Prefixes of logical messages (pg_logical_emit_message) to capture; `*` stands for "
            "any text. None by default.",
     .store = [](Config& c, const OptionValue& v) {
       c.postgres.message_prefixes = std::get<std::vector<std::string>>(v);
     }},
    {.path = "postgres.status-interval",
     .kind = OptionKind::kDuration,
     .default_text = "10s",
     .flag = "postgres-status-interval",
     .doc = "Longest time between two reports of the position to the server. A third of the "
            "server's wal_sender_timeout is used when that is less.",
     .store = [](Config& c, const OptionValue& v) {
       c.postgres.status_interval = std::get<Milliseconds>(v);
     },
     .minimum = 100,
     .maximum = 3'600'000},

    {.path = "snapshot.mode",
     .kind = OptionKind::kChoice,
     .default_text = "initial",
     .flag = "snapshot-mode",
     .doc = "Which existing rows become `read` events. `initial`: all, once for each table, and "
            "then its changes. `never`: none, changes only. `always`: all, at every start. "
            "`initial_only`: all, once, and no changes. A table may have its own, `snapshot`.",
     .store = [](Config& c, const OptionValue& v) {
       c.snapshot.mode = parse_snapshot_mode(text_of(v)).value_or(SnapshotMode::kInitial);
     },
     .choices = kSnapshotModes},
    {.path = "snapshot.workers",
     .kind = OptionKind::kInteger,
     .default_text = "2",
     .flag = "snapshot-workers",
     .doc = "Chunks of existing rows that are read at the same time, each over a connection of "
            "its own.",
     .store = [](Config& c, const OptionValue& v) {
       c.snapshot.workers = static_cast<unsigned>(std::get<std::uint64_t>(v));
     },
     .minimum = 1,
     .maximum = 16},
    {.path = "snapshot.chunk-time",
     .kind = OptionKind::kDuration,
     .default_text = "500ms",
     .flag = "snapshot-chunk-time",
     .doc = "How long reading a chunk should take. Chunks grow and shrink to meet it.",
     .store = [](Config& c, const OptionValue& v) {
       c.snapshot.chunk_time = std::get<Milliseconds>(v);
     },
     .minimum = 10,
     .maximum = 60'000},
    {.path = "snapshot.lock-timeout",
     .kind = OptionKind::kDuration,
     .default_text = "5s",
     .flag = "snapshot-lock-timeout",
     .doc = "Longest wait for a table that someone holds an exclusive lock on. The chunk is tried "
            "again later, so that nobody queues behind it meanwhile.",
     .store = [](Config& c, const OptionValue& v) {
       c.snapshot.lock_timeout = std::get<Milliseconds>(v);
     },
     .minimum = 100,
     .maximum = 3'600'000},

    {.path = "admin.enabled",
     .kind = OptionKind::kBoolean,
     .default_text = "true",
     .flag = "admin-enabled",
     .doc = "Whether the admin API listens, on `port` + 1: backfills, health and metrics.",
     .store = [](Config& c, const OptionValue& v) { c.admin.enabled = std::get<bool>(v); }},
    {.path = "admin.address",
     .default_text = "127.0.0.1",
     .flag = "admin-address",
     .doc = "IP address the admin API listens on. It asks nobody who they are: beyond loopback, "
            "whoever reaches it may start and cancel backfills.",
     .store = [](Config& c, const OptionValue& v) { c.admin.address = text_of(v); },
     .check = check_address},

    {.path = "sse.heartbeat",
     .kind = OptionKind::kDuration,
     .default_text = "15s",
     .flag = "sse-heartbeat",
     .doc = "How long a client is sent nothing before it is sent a comment, so that it and the "
            "proxies between know that the connection lives.",
     .store = [](Config& c, const OptionValue& v) {
       c.sse.heartbeat = std::get<Milliseconds>(v);
     },
     .minimum = 1'000,
     .maximum = 3'600'000},
    {.path = "sse.stall-time",
     .kind = OptionKind::kDuration,
     .default_text = "30s",
     .flag = "sse-stall-time",
     .doc = "How long a client may take nothing of what it is sent before it is closed.",
     .store = [](Config& c, const OptionValue& v) {
       c.sse.stall_time = std::get<Milliseconds>(v);
     },
     .minimum = 1'000,
     .maximum = 3'600'000},
    {.path = "sse.buffer",
     .kind = OptionKind::kSize,
     .default_text = "256KiB",
     .flag = "sse-buffer",
     .doc = "What is prepared for a client at a time. One larger event may exceed it.",
     .store = [](Config& c, const OptionValue& v) {
       c.sse.buffer_bytes = std::get<std::uint64_t>(v);
     },
     .minimum = 4ULL << 10U,
     .maximum = 64ULL << 20U},
    {.path = "sse.max-connections",
     .kind = OptionKind::kInteger,
     .default_text = "10000",
     .flag = "sse-max-connections",
     .doc = "Connections at a time. One too many is answered with status 503.",
     .store = [](Config& c, const OptionValue& v) {
       c.sse.connections_max = std::get<std::uint64_t>(v);
     },
     .minimum = 1,
     .maximum = 1'000'000},

    {.path = "health.max-lag",
     .kind = OptionKind::kSize,
     .default_text = "1GiB",
     .flag = "health-max-lag",
     .doc = "WAL of the server that may wait to be made durable before `/readyz` says that the "
            "process is not ready.",
     .store = [](Config& c, const OptionValue& v) {
       c.health.lag_bytes_max = std::get<std::uint64_t>(v);
     },
     .minimum = 1,
     .maximum = 1ULL << 50U},
    {.path = "health.stall-time",
     .kind = OptionKind::kDuration,
     .default_text = "5m",
     .flag = "health-stall-time",
     .doc = "How long nothing may arrive or become durable while the server's WAL goes on, before "
            "`/readyz` says so.",
     .store = [](Config& c, const OptionValue& v) {
       c.health.stall_time =
           std::chrono::duration_cast<std::chrono::seconds>(std::get<Milliseconds>(v));
     },
     .check = check_whole_seconds,
     .minimum = 1'000,
     .maximum = 86'400'000},

    {.path = "node-id",
     .flag = "node-id",
     .doc = "Name of this process among its peers.",
     .store = ignore,
     .support = Support::kNoEffect},
    {.path = "nats-cluster-port",
     .kind = OptionKind::kInteger,
     .default_text = "6222",
     .flag = "nats-cluster-port",
     .doc = "Port for the peers of a cluster.",
     .store = ignore,
     .maximum = 65'535,
     .support = Support::kNoEffect},
    {.path = "sinks",
     .kind = OptionKind::kBlock,
     .doc = "Settings of outputs, by name. Only the block of the chosen output counts.",
     .support = Support::kNoEffect},
    {.path = "server-tls.cert-file",
     .kind = OptionKind::kPath,
     .flag = "tls-cert",
     .doc = "Certificate of the outputs that listen.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "server-tls.key-file",
     .kind = OptionKind::kPath,
     .flag = "tls-key",
     .doc = "Key of that certificate.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "server-tls.client-ca-file",
     .kind = OptionKind::kPath,
     .flag = "tls-client-ca",
     .doc = "Authority that client certificates must come from.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "ha",
     .kind = OptionKind::kBoolean,
     .default_text = "false",
     .flag = "ha",
     .doc = "Leader election among several processes.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "cluster",
     .kind = OptionKind::kBoolean,
     .default_text = "false",
     .flag = "cluster",
     .doc = "Share the work among several processes.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "cluster-dsn",
     .flag = "cluster-dsn",
     .doc = "Database of the state that a cluster shares.",
     .store = ignore,
     .support = Support::kLater,
     .is_secret = true},
    {.path = "cluster-peers",
     .kind = OptionKind::kList,
     .flag = "cluster-peers",
     .doc = "Addresses of the peers of a cluster.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "dlq.enabled",
     .kind = OptionKind::kBoolean,
     .flag = "dlq-enabled",
     .doc = "Keep events that an output refuses for good. The outputs of this version refuse "
            "none.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "dlq.path",
     .kind = OptionKind::kPath,
     .flag = "dlq-path",
     .doc = "File of refused events.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "dlq.retention",
     .kind = OptionKind::kDuration,
     .flag = "dlq-retention",
     .doc = "How long refused events are kept.",
     .store = ignore,
     .support = Support::kLater},
    {.path = "actions",
     .kind = OptionKind::kBlock,
     .doc = "Calls to other services for matching events.",
     .support = Support::kLater},
    {.path = "mcp",
     .kind = OptionKind::kBlock,
     .doc = "Server for the Model Context Protocol.",
     .support = Support::kLater},
    {.path = "enrichment",
     .kind = OptionKind::kBlock,
     .doc = "Events completed by an HTTP service before they are stored.",
     .support = Support::kLater},
});
// clang-format on

}  // namespace

std::span<const OptionSpec> options() noexcept {
  return kOptions;
}

const OptionSpec* find_option(std::string_view path) noexcept {
  const auto* const found =
      std::ranges::find_if(kOptions, [&](const OptionSpec& option) { return option.path == path; });
  return found == kOptions.end() ? nullptr : found;
}

}  // namespace cdc::config
