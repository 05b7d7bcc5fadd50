#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"
#include "base/sync/thread.h"
#include "capture/source_status.h"
#include "config/config.h"
#include "postgres/connection.h"

namespace cdc::capture {

// Asks the server every few seconds how our slot stands and where its WAL ends, over a connection
// of its own, so that the stream is watched by somebody who does not depend on it.
//
// Errors    None stops it: what cannot be asked is unknown until it can be again.
// Thread    start(), stop(): the owner; it runs on its own. Lifetime: the parts outlive it, and
//           stop() comes before destruction.
class SlotMonitor {
 public:
  SlotMonitor(const config::Config& config, SourceStatus& status);

  void start();
  void stop();

 private:
  void run();
  [[nodiscard]] Result<SlotFigures> look();

  const config::Config& config_;
  SourceStatus& status_;
  std::optional<postgres::Connection> connection_;
  StallWatch watch_;
  StopSignal stop_;
  Thread thread_;
};

}  // namespace cdc::capture
