#include "app/metric_table.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/version.h"
#include "base/process_stats.h"
#include "journal/segment_list.h"
#include "serve/metrics.h"

namespace cdc::app {
namespace {

using capture::SourceStatus;
using delivery::SinkWorker;
using metrics::Kind;
using metrics::Registry;
using metrics::Samples;

constexpr double kMicrosPerSecond = 1e6;

struct Name {
  std::string_view name;
  std::string_view help;
};

Kind kind_of(std::string_view name) noexcept {
  return name.ends_with("_total") ? Kind::kCounter : Kind::kGauge;
}

void add(Registry& registry, const Name& name, std::function<void(Samples&)> collect) {
  registry.add({.name = name.name,
                .kind = kind_of(name.name),
                .help = name.help,
                .collect = std::move(collect)});
}

// ---- process ------------------------------------------------------------------------------------

void add_process(Registry& registry, const ObservedParts& parts) {
  add(registry,
      {"kaptanto_build_info", "1, with version and commit of the program."},
      [](Samples& samples) {
        samples.add(std::uint64_t{1}, {{"version", kVersion}, {"commit", kCommit}});
      });
  add(registry,
      {"process_start_time_seconds", "When the process started, in seconds since 1970."},
      [started = parts.started](Samples& samples) {
        samples.add(static_cast<double>(started.value) / kMicrosPerSecond);
      });
  add(registry,
      {"process_cpu_seconds_total", "Processor time used, user and system."},
      [](Samples& samples) { samples.add(process_stats().cpu_seconds); });
  add(registry, {"process_resident_memory_bytes", "Memory in use."}, [](Samples& samples) {
    if (const auto bytes = process_stats().resident_bytes) {
      samples.add(*bytes);
    }
  });
  add(registry, {"process_open_fds", "Open file descriptors."}, [](Samples& samples) {
    if (const auto files = process_stats().open_files) {
      samples.add(*files);
    }
  });
}

// ---- source -------------------------------------------------------------------------------------

using ViewValue = std::optional<std::uint64_t> (*)(const SourceStatus::View&);

void add_source_value(Registry& registry,
                      const ObservedParts& parts,
                      const Name& name,
                      ViewValue value_of) {
  add(registry, name, [&source = parts.source, &config = parts.config, value_of](Samples& samples) {
    if (const auto value = value_of(source.view())) {
      samples.add(*value, {{"source", config.source_id}});
    }
  });
}

void add_stream(Registry& registry, const ObservedParts& parts) {
  using View = SourceStatus::View;
  using Value = std::optional<std::uint64_t>;
  const std::pair<Name, ViewValue> values[] = {
      {{"kaptanto_source_streaming", "1 while the server streams changes to us."},
       [](const View& view) -> Value {
         return view.is_streaming ? 1 : 0;
       }},
      {{"kaptanto_source_lag_bytes",
        "WAL of the server that we have not made durable yet; 0 when nothing in it is for us."},
       [](const View& view) -> Value {
         return view.lag_bytes();
       }},
      {{"kaptanto_source_stalled_seconds",
        "For how long nothing has come although the server's WAL goes on; 0 while that is short."},
       [](const View& view) -> Value {
         return static_cast<std::uint64_t>(
             view.stalled_for.value_or(std::chrono::seconds{}).count());
       }},
      {{"kaptanto_source_reconnects_total", "Connections that streamed, after the first one."},
       [](const View& view) -> Value {
         return view.connections - (view.has_streamed ? 1 : 0);
       }},
      {{"kaptanto_source_received_bytes_total", "Bytes of changes received from the server."},
       [](const View& view) -> Value {
         return view.stream.received_bytes;
       }},
      {{"kaptanto_source_rows_total", "Row changes decoded, those that were filtered out too."},
       [](const View& view) -> Value {
         return view.stream.decoder.rows;
       }},
      {{"kaptanto_source_events_total", "Events made of the stream."},
       [](const View& view) -> Value {
         return view.stream.decoder.events;
       }},
      {{"kaptanto_source_transactions_total", "Transactions decoded."},
       [](const View& view) -> Value {
         return view.stream.decoder.transactions;
       }},
      {{"kaptanto_source_transactions_streamed_total",
        "Transactions that came, in part, before they committed."},
       [](const View& view) -> Value {
         return view.stream.decoder.streamed_transactions;
       }},
      {{"kaptanto_source_transactions_aborted_total",
        "Transactions that came, in part, and were rolled back."},
       [](const View& view) -> Value {
         return view.stream.decoder.aborted_streams;
       }},
      {{"kaptanto_source_transactions_skipped_total",
        "Transactions that the server sent again after a reconnect."},
       [](const View& view) -> Value {
         return view.stream.decoder.skipped_transactions;
       }},
      {{"kaptanto_source_spilled_bytes_total",
        "Bytes of transactions in progress that were written to files."},
       [](const View& view) -> Value {
         return view.stream.decoder.spilled_bytes;
       }},
      {{"kaptanto_source_schema_changes_total", "Changes of tables' columns or keys."},
       [](const View& view) -> Value {
         return view.stream.decoder.schema_changes;
       }},
  };
  for (const auto& [name, value_of] : values) {
    add_source_value(registry, parts, name, value_of);
  }
}

// The server's number, unless it has none.
std::optional<std::uint64_t> known(const std::optional<std::int64_t>& number) {
  return number && *number >= 0 ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
}

void add_slot(Registry& registry, const ObservedParts& parts) {
  using View = SourceStatus::View;
  using Value = std::optional<std::uint64_t>;
  add_source_value(registry,
                   parts,
                   {"kaptanto_slot_retained_bytes", "WAL that the server keeps for our slot."},
                   [](const View& view) -> Value {
                     return view.slot ? known(view.slot->retained_bytes) : Value{};
                   });
  add_source_value(
      registry,
      parts,
      {"kaptanto_slot_safe_wal_bytes",
       "WAL that may still be written before the slot is in danger of being lost; "
       "absent without a limit."},
      [](const View& view) -> Value { return view.slot ? known(view.slot->safe_bytes) : Value{}; });
  add(registry,
      {"kaptanto_slot_wal_status", "1 for the wal_status that the server gives our slot."},
      [&source = parts.source, &config = parts.config](Samples& samples) {
        const View view = source.view();
        if (view.slot && !view.slot->wal_status.empty()) {
          samples.add(std::uint64_t{1},
                      {{"source", config.source_id}, {"status", view.slot->wal_status}});
        }
      });
}

// ---- journal ------------------------------------------------------------------------------------

void add_appender(Registry& registry, const journal::Appender& appender) {
  add(registry,
      {"kaptanto_journal_state", "1 for the state of the event log's writer."},
      [&appender](Samples& samples) {
        samples.add(std::uint64_t{1}, {{"state", name_of(appender.state())}});
      });
  add(registry,
      {"kaptanto_journal_events_total", "Events written to the event log."},
      [&appender](Samples& samples) { samples.add(appender.events()); });
  add(registry,
      {"kaptanto_journal_written_bytes_total", "Bytes of events written to the event log."},
      [&appender](Samples& samples) { samples.add(appender.bytes()); });
  registry.add({.name = "kaptanto_journal_batch_bytes",
                .kind = Kind::kHistogram,
                .help = "Bytes of a batch of events written at once.",
                .collect = [&appender](Samples& samples) {
                  samples.add(appender.batch_bytes(), 1);
                }});
  registry.add({.name = "kaptanto_journal_fsync_seconds",
                .kind = Kind::kHistogram,
                .help = "Time to make what was written durable.",
                .collect = [&appender](Samples& samples) {
                  samples.add(appender.sync_micros(), kMicrosPerSecond);
                }});
  registry.add({.name = "kaptanto_commit_to_durable_seconds",
                .kind = Kind::kHistogram,
                .help = "From a commit at the server, by its clock, until it was durable here; the "
                        "oldest commit of each fsync.",
                .collect = [&appender](Samples& samples) {
                  samples.add(appender.commit_micros(), kMicrosPerSecond);
                }});
}

void add_journal(Registry& registry, journal::Journal& journal) {
  add(registry,
      {"kaptanto_journal_bytes", "Size of the event log on disk."},
      [&journal](Samples& samples) { samples.add(journal.bytes()); });
  add(registry,
      {"kaptanto_journal_segments", "Files of the event log."},
      [&journal](Samples& samples) {
        samples.add(std::uint64_t{journal.segment_list().snapshot()->size()});
      });
  add(registry,
      {"kaptanto_journal_oldest_sequence", "Number of the oldest event in the event log."},
      [&journal](Samples& samples) {
        samples.add(journal.segment_list().snapshot()->front().header.first.value);
      });
  add(registry,
      {"kaptanto_journal_last_sequence", "Number of the last durable event of the event log."},
      [&journal](Samples& samples) { samples.add(journal.durable_sequence().load()); });
  add(registry,
      {"kaptanto_journal_oldest_timestamp_seconds",
       "When the oldest file of the event log was begun, in seconds since 1970."},
      [&journal](Samples& samples) {
        const auto segments = journal.segment_list().snapshot();
        samples.add(static_cast<double>(segments->front().header.created_unix_micros) /
                    kMicrosPerSecond);
      });
}

// ---- consumers ----------------------------------------------------------------------------------

void add_consumers(Registry& registry, const ObservedParts& parts) {
  const auto add_each = [&](const Name& name, auto value_of) {
    add(registry, name, [workers = parts.workers, value_of](Samples& samples) {
      for (const SinkWorker* worker : workers) {
        samples.add(value_of(*worker), {{"consumer", worker->consumer()}});
      }
    });
  };
  add(registry,
      {"kaptanto_consumer_lag_events",
       "Events in the event log that the consumer has not acknowledged."},
      [parts](Samples& samples) {
        for (const SinkWorker* worker : parts.workers) {
          const Sequence acknowledged{worker->figures().acknowledged.load()};
          samples.add(lag_events(parts.journal, acknowledged), {{"consumer", worker->consumer()}});
        }
        for (const serve::Consumer& consumer : other_consumers(parts)) {
          samples.add(lag_events(parts.journal, consumer.position), {{"consumer", consumer.id}});
        }
      });
  add_each({"kaptanto_events_delivered_total",
            "Events that the consumer acknowledged, repeated ones again."},
           [](const SinkWorker& worker) { return worker.figures().delivered.load(); });
  add(registry,
      {"kaptanto_errors_total",
       "Attempts that failed: kind `deliver`, to deliver; kind `flush`, to save the cursor."},
      [workers = parts.workers](Samples& samples) {
        for (const SinkWorker* worker : workers) {
          samples.add(worker->figures().deliver_errors.load(),
                      {{"consumer", worker->consumer()}, {"kind", "deliver"}});
          samples.add(worker->figures().flush_errors.load(),
                      {{"consumer", worker->consumer()}, {"kind", "flush"}});
        }
      });
  add(registry,
      {"kaptanto_checkpoint_flushes_total", "Cursors of consumers saved."},
      [workers = parts.workers](Samples& samples) {
        std::uint64_t saved = 0;
        for (const SinkWorker* worker : workers) {
          saved += worker->figures().cursors_saved.load();
        }
        samples.add(saved);
      });
  registry.add({.name = "kaptanto_durable_to_delivered_seconds",
                .kind = Kind::kHistogram,
                .help = "From an event being durable until the consumer acknowledged it; of one "
                        "event at a time.",
                .collect = [workers = parts.workers](Samples& samples) {
                  for (const SinkWorker* worker : workers) {
                    samples.add(worker->figures().delay_micros,
                                kMicrosPerSecond,
                                {{"consumer", worker->consumer()}});
                  }
                }});
}

}  // namespace

void add_metrics(Registry& registry, const ObservedParts& parts) {
  add_process(registry, parts);
  add_stream(registry, parts);
  add_slot(registry, parts);
  add_journal(registry, parts.journal);
  add_appender(registry, parts.appender);
  add_consumers(registry, parts);
  serve::add_backfill_metrics(registry, parts.backfills);
}

}  // namespace cdc::app
