#pragma once

#include <vector>

#include "base/clock.h"
#include "capture/source_status.h"
#include "config/config.h"
#include "delivery/sink_worker.h"
#include "journal/appender.h"
#include "journal/journal.h"
#include "snapshot/control.h"

namespace cdc::app {

// What metrics, health and status are made of. Lifetime: all of it outlives the admin API.
struct ObservedParts {
  const config::Config& config;
  const capture::SourceStatus& source;
  journal::Journal& journal;
  const journal::Appender& appender;
  const snapshot::Control& backfills;
  std::vector<const delivery::SinkWorker*> workers = {};
  UnixMicros started = unix_now();
};

// How many events in the journal the worker's consumer has not acknowledged.
[[nodiscard]] inline std::uint64_t lag_events(journal::Journal& journal,
                                              const delivery::SinkWorker& worker) {
  // In this order: the consumer cannot be ahead of an end that is looked at later.
  const std::uint64_t acknowledged = worker.figures().acknowledged.load();
  return journal.durable_sequence().load() - acknowledged;
}

}  // namespace cdc::app
