#pragma once

#include <vector>

#include "base/clock.h"
#include "capture/source_status.h"
#include "config/config.h"
#include "delivery/sink_worker.h"
#include "journal/appender.h"
#include "journal/journal.h"
#include "serve/consumers.h"
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
  serve::Consumers* consumers = nullptr;  // those that no worker delivers to; none: null
  UnixMicros started = unix_now();
};

// How many events in the journal a consumer has not acknowledged.
[[nodiscard]] std::uint64_t lag_events(journal::Journal& journal, Sequence acknowledged);

// The consumers of `consumers` that no worker delivers to. None when they cannot be read.
[[nodiscard]] std::vector<serve::Consumer> other_consumers(const ObservedParts& parts);

}  // namespace cdc::app
