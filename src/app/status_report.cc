#include "app/status_report.h"

#include <map>
#include <string_view>

#include "app/console.h"
#include "app/version.h"
#include "base/format.h"
#include "journal/segment_list.h"
#include "postgres/slot.h"

namespace cdc::app {
namespace {

using capture::SourceStatus;
using serve::Check;
using View = SourceStatus::View;

Check source_check(const View& view) {
  Check check{.name = "source", .ok = view.is_streaming, .detail = "streaming"};
  if (!check.ok) {
    check.detail = view.error.empty() ? "the first connection is being made"
                                      : cdc::format("not streaming: {}", view.error);
  }
  return check;
}

Check journal_check(journal::AppenderState state) {
  Check check{.name = "journal",
              .ok = state == journal::AppenderState::kRunning,
              .detail = std::string(name_of(state))};
  if (state == journal::AppenderState::kPaused) {
    check.detail = "paused: the disk or the event log is full, and the source waits";
  }
  return check;
}

Check lag_check(const View& view, const config::HealthOptions& health) {
  return {.name = "lag",
          .ok = view.lag_bytes() <= health.lag_bytes_max,
          .detail = cdc::format(
              "{} bytes of WAL behind, {} are allowed", view.lag_bytes(), health.lag_bytes_max)};
}

Check progress_check(const View& view) {
  Check check{.name = "progress", .ok = !view.stalled_for.has_value(), .detail = "moving, or idle"};
  if (view.stalled_for) {
    check.detail = cdc::format(
        "the server's WAL goes on, {} bytes ahead of us, but for {} s nothing was decoded or "
        "became durable",
        view.lag_bytes(),
        view.stalled_for->count());
  }
  return check;
}

std::string number_or_null(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : "null";
}

std::string source_json(const View& view, const config::Config& config) {
  const postgres::DecoderCounters& decoder = view.stream.decoder;
  const std::string_view state = view.is_streaming    ? "streaming"
                                 : view.error.empty() ? "connecting"
                                                      : "waiting";
  return cdc::format(
      R"({{"id":{},"state":"{}","error":{},"position":"{}","lag_bytes":{},"reconnects":{},)"
      R"("received_bytes":{},"transactions":{},"events":{}}})",
      json_text(config.source_id),
      state,
      json_text(view.error),
      to_string(view.stream.position),
      view.lag_bytes(),
      view.connections - (view.has_streamed ? 1 : 0),
      view.stream.received_bytes,
      decoder.transactions,
      decoder.events);
}

std::string slot_json(const View& view, const config::Config& config) {
  const capture::SlotFigures slot = view.slot.value_or(capture::SlotFigures{});
  return cdc::format(
      R"({{"name":{},"wal_status":{},"retained_bytes":{},"safe_wal_bytes":{},"error":{}}})",
      json_text(postgres::slot_name(config)),
      json_text(slot.wal_status),
      number_or_null(slot.retained_bytes),
      number_or_null(slot.safe_bytes),
      json_text(view.slot_error));
}

std::string journal_json(const ObservedParts& parts) {
  const auto segments = parts.journal.segment_list().snapshot();
  return cdc::format(
      R"({{"state":"{}","bytes":{},"max_bytes":{},"segments":{},"oldest_sequence":{},)"
      R"("last_sequence":{}}})",
      name_of(parts.appender.state()),
      parts.journal.bytes(),
      parts.config.journal.bytes_max,
      segments->size(),
      segments->front().header.first.value,
      parts.journal.durable_sequence().load());
}

// How many tables are in each state, and what was read.
std::string backfill_json(const snapshot::Control& backfills) {
  std::map<std::string_view, std::size_t> states;
  std::uint64_t rows = 0;
  const auto tables = backfills.status();
  for (const state::BackfillTable& table : tables) {
    ++states[name_of(table.state)];
    rows += table.rows_read;
  }
  std::string counts;
  for (const auto& [state, count] : states) {
    counts += cdc::format("{}\"{}\":{}", counts.empty() ? "" : ",", state, count);
  }
  return cdc::format(
      R"({{"tables":{},"states":{{{}}},"rows_read":{}}})", tables.size(), counts, rows);
}

// What nobody counts is null.
std::string consumers_json(const ObservedParts& parts) {
  std::string items;
  for (const delivery::SinkWorker* worker : parts.workers) {
    const delivery::DeliveryFigures& figures = worker->figures();
    items += cdc::format(
        R"({}{{"name":{},"acknowledged":{},"lag_events":{},"delivered":{},"errors":{}}})",
        items.empty() ? "" : ",",
        json_text(worker->consumer()),
        figures.acknowledged.load(),
        lag_events(parts.journal, Sequence{figures.acknowledged.load()}),
        figures.delivered.load(),
        figures.deliver_errors.load() + figures.flush_errors.load());
  }
  for (const serve::Consumer& consumer : other_consumers(parts)) {
    items += cdc::format(
        R"({}{{"name":{},"acknowledged":{},"lag_events":{},"delivered":null,"errors":null}})",
        items.empty() ? "" : ",",
        json_text(consumer.id),
        consumer.position.value,
        lag_events(parts.journal, consumer.position));
  }
  return items;
}

}  // namespace

std::vector<Check> health_checks(const ObservedParts& parts) {
  const View view = parts.source.view();
  return {source_check(view),
          journal_check(parts.appender.state()),
          lag_check(view, parts.config.health),
          progress_check(view)};
}

std::string status_json(const ObservedParts& parts) {
  const View view = parts.source.view();
  const std::vector<Check> checks = health_checks(parts);
  return cdc::format(
      R"({{"version":{},"commit":{},"uptime_seconds":{},"ready":{},"checks":[{}],"source":{},)"
      R"("slot":{},"journal":{},"backfill":{},"consumers":[{}]}})",
      json_text(kVersion),
      json_text(kCommit),
      (unix_now().value - parts.started.value) / 1'000'000,
      serve::all_ok(checks),
      serve::checks_json(checks),
      source_json(view, parts.config),
      slot_json(view, parts.config),
      journal_json(parts),
      backfill_json(parts.backfills),
      consumers_json(parts));
}

}  // namespace cdc::app
