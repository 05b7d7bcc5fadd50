#include "capture/postgres_source.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <poll.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "capture/stream_loop.h"
#include "postgres/catalog.h"
#include "postgres/connection.h"
#include "postgres/publication.h"
#include "postgres/replication_stream.h"
#include "postgres/snapshot_table.h"

namespace cdc::capture {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kFirstDelay{500};
constexpr milliseconds kLastDelay{30'000};

// Statuses often enough that the server never times us out, whatever it is set to; and patience
// with a silent server in proportion, since it may be busy with a huge transaction.
StreamTimes times_of(const config::Config& config, const postgres::ServerIdentity& server) {
  StreamTimes times{.status_interval = config.postgres.status_interval};
  if (server.wal_sender_timeout_ms > 0) {
    const milliseconds timeout{server.wal_sender_timeout_ms};
    times.status_interval =
        std::max(milliseconds{50}, std::min(times.status_interval, timeout / 3));
    times.silence_max =
        std::clamp<milliseconds>(3 * timeout, std::chrono::seconds{30}, times.silence_max);
  }
  return times;
}

}  // namespace

Result<std::unique_ptr<PostgresSource>> PostgresSource::create(const Parts& parts) {
  CDC_ASSIGN(auto rules, postgres::TableRules::create(parts.config));
  return std::unique_ptr<PostgresSource>(new PostgresSource(parts, std::move(rules)));
}

PostgresSource::PostgresSource(const Parts& parts, postgres::TableRules rules)
    : parts_(parts),
      rules_(std::move(rules)),
      types_(parts.config.values),
      shapes_(parts.checkpoints, parts.config.source_id),
      decoder_({.config = parts.config,
                .rules = rules_,
                .types = types_,
                .shapes = shapes_,
                .changes = changes_},
               Lsn{parts.durable.lsn.load()}),
      pipeline_(parts.handoff, parts.durable),
      emitter_(parts.exchange, changes_),
      backoff_({.first = kFirstDelay, .longest = kLastDelay},
               static_cast<std::uint64_t>(unix_now().value)) {}

Status PostgresSource::run() {
  for (;;) {
    const Status ended = session();
    status_.streaming_ends(ended.error().message);
    if (parts_.stop.requested()) {
      return {};
    }
    const Error& error = ended.error();
    if (!error.is_retryable() && error.code != Errc::kNoSpace) {
      return ended;
    }
    const milliseconds delay = backoff_.next();
    log::warn("source connection lost, trying again",
              {{"error", error.message},
               {"hint", error.hint},
               {"code", name_of(error.code)},
               {"retry_ms", delay.count()}});
    rest(delay);
  }
}

Status PostgresSource::session() {
  CDC_ASSIGN(auto connection,
             postgres::Connection::open({.dsn = parts_.config.source}, parts_.stop));
  CDC_ASSIGN(const Prepared prepared, prepare(connection));
  CDC_TRY(read_catalog(connection));
  CDC_ASSIGN(auto published,
             postgres::list_published_tables(connection, prepared.publication, rules_));
  CDC_ASSIGN(
      auto replication,
      postgres::Connection::open({.dsn = parts_.config.source, .replication = true}, parts_.stop));
  CDC_ASSIGN(auto stream,
             postgres::ReplicationStream::start(
                 std::move(replication),
                 {.slot = prepared.slot,
                  .publication = prepared.publication,
                  .start = pipeline_.durable_lsn(),
                  .streaming = streams_in_progress(),
                  .messages = !parts_.config.postgres.message_prefixes.empty()},
                 parts_.stop));
  log::info("streaming",
            {{"slot", prepared.slot},
             {"publication", prepared.publication},
             {"server_version", prepared.server.version},
             {"from", to_string(pipeline_.durable_lsn())}});
  emitter_.session_begins(
      {.publication = prepared.publication, .tables = std::move(published), .gap = prepared.gap});
  StreamLoop loop{{.pipeline = pipeline_,
                   .decoder = decoder_,
                   .emitter = emitter_,
                   .types = types_,
                   .catalog = connection,
                   .status = status_,
                   .stop = parts_.stop},
                  std::move(stream),
                  times_of(parts_.config, prepared.server)};
  Status ended = loop.run();
  if (loop.established()) {
    backoff_.reset();
  }
  decoder_.end_session(pipeline_.batch());
  return ended;
}

Result<PostgresSource::Prepared> PostgresSource::prepare(postgres::Connection& connection) {
  const config::Config& config = parts_.config;
  CDC_ASSIGN(auto server, postgres::identify_server(connection));
  CDC_ASSIGN(const auto checkpoint, parts_.checkpoints.load(config.source_id));
  CDC_TRY(check_identity(checkpoint, server));
  CDC_TRY(postgres::check_wal_level(connection));
  // The publication first: the server looks it up as of each change, and a slot made before it
  // would meet changes from a time without one.
  CDC_ASSIGN(const auto plan, postgres::plan_publication(connection, config));
  for (const std::string& warning : plan.warnings) {
    log::warn(warning);
  }
  CDC_TRY(postgres::apply_publication(connection, plan));
  CDC_ASSIGN(const auto ensured,
             postgres::ensure_slot(
                 connection,
                 config,
                 {.used_before = checkpoint.has_value(), .durable = known_position(checkpoint)}));
  const postgres::SlotState& slot = ensured.state;
  if (!checkpoint || checkpoint->identity.timeline != server.timeline) {
    CDC_TRY(parts_.checkpoints.save(
        config.source_id,
        {.identity = {.system_identifier = server.system_identifier,
                      .database = server.database,
                      .slot = slot.name,
                      .plugin = "pgoutput",
                      .timeline = server.timeline},
         .acknowledged = std::max(slot.confirmed_flush, known_position(checkpoint))}));
  }
  if (ensured.gap) {
    log::warn("changes may be missing",
              {{"from", to_string(ensured.gap->from)}, {"to", to_string(ensured.gap->to)}});
    CDC_TRY(decoder_.record_gap(ensured.gap->from, ensured.gap->to, pipeline_.batch()));
  }
  return Prepared{.server = std::move(server),
                  .slot = slot.name,
                  .publication = plan.name,
                  .gap = ensured.gap.has_value()};
}

// Inside a streamed block the server gives a logical message the id of the whole transaction, so a
// rollback to a savepoint could not take it back. Decoded at commit it never comes.
bool PostgresSource::streams_in_progress() const noexcept {
  return parts_.config.postgres.streaming && parts_.config.postgres.message_prefixes.empty();
}

// Everything up to here is in the journal or was before our slot began.
Lsn PostgresSource::known_position(const std::optional<state::Checkpoint>& checkpoint) const {
  return std::max(pipeline_.durable_lsn(), checkpoint ? checkpoint->acknowledged : Lsn{});
}

Status PostgresSource::check_identity(const std::optional<state::Checkpoint>& checkpoint,
                                      const postgres::ServerIdentity& server) const {
  if (!checkpoint) {
    return {};
  }
  const state::SourceIdentity& known = checkpoint->identity;
  const std::string elsewhere =
      format("the data directory {} belongs to another source", parts_.config.data_dir.string());
  if (known.system_identifier != server.system_identifier) {
    return fail(Errc::kSlotForeign,
                format("{}: database system {}, but {} answers",
                       elsewhere,
                       known.system_identifier,
                       server.system_identifier),
                "positions of two servers cannot be compared; use another --data-dir");
  }
  if (known.database != server.database) {
    return fail(
        Errc::kSlotForeign,
        format(
            "{}: database \"{}\", but this is \"{}\"", elsewhere, known.database, server.database),
        "use another --data-dir, or the DSN that was used before");
  }
  return {};
}

Status PostgresSource::read_catalog(postgres::Connection& connection) {
  CDC_ASSIGN(const auto types, connection.query(postgres::types_sql()));
  types_.load(postgres::parse_types(types));
  CDC_ASSIGN(const auto tables, connection.query(postgres::tables_sql()));
  decoder_.begin_session(postgres::parse_tables(tables));
  return {};
}

// Waits for `delay` or the stop, and meanwhile gives the journal what it can take.
void PostgresSource::rest(milliseconds delay) {
  const MonotonicTime deadline = monotonic_now() + delay;
  const auto continues = [this](std::size_t tail) {
    return decoder_.handed_on(tail);
  };
  for (;;) {
    const bool waits = !pipeline_.batch().empty() && !pipeline_.try_hand_on(continues);
    const auto left = std::chrono::ceil<milliseconds>(deadline - monotonic_now()).count();
    if (left <= 0 || parts_.stop.requested()) {
      return;
    }
    pollfd pollers[] = {{parts_.stop.fd(), POLLIN, 0},
                        {waits ? pipeline_.free_event().fd() : -1, POLLIN, 0}};
    ::poll(pollers, 2, static_cast<int>(left));
  }
}

}  // namespace cdc::capture
