#pragma once

#include "base/metrics.h"
#include "base/sync/counter.h"

namespace cdc::delivery {

// How delivery to one consumer goes, for metrics.
// Thread: its worker writes, any may read.
struct DeliveryFigures {
  Gauge acknowledged;      // everything up to this sequence is acknowledged or was not wanted
  Counter delivered;       // events acknowledged, repeated ones again
  Counter deliver_errors;  // attempts that failed and were tried again
  Counter flush_errors;    // cursors that could not be saved
  Counter cursors_saved;
  // Microseconds from seeing an event durable to its acknowledgement: of one event at a time, so
  // that nothing has to be remembered for each.
  metrics::Histogram delay_micros{metrics::duration_bounds()};
};

}  // namespace cdc::delivery
