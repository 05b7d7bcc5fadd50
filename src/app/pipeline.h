#pragma once

#include <memory>
#include <optional>

#include "app/data_directory.h"
#include "base/metrics.h"
#include "base/result.h"
#include "base/sync/handoff.h"
#include "base/sync/inbox.h"
#include "base/sync/thread.h"
#include "capture/postgres_source.h"
#include "capture/slot_monitor.h"
#include "config/config.h"
#include "delivery/sink.h"
#include "delivery/sink_worker.h"
#include "http/server.h"
#include "journal/appender.h"
#include "journal/file_system.h"
#include "journal/journal.h"
#include "serve/consumers.h"
#include "serve/sse_hub.h"
#include "snapshot/coordinator.h"
#include "snapshot/exchange.h"
#include "state/backfill_store.h"
#include "state/checkpoint_store.h"
#include "state/cursor_store.h"

namespace cdc::app {

// Everything that runs, wired by hand and in one place: source thread, journal appender, sink
// worker or data plane.
//
// Order     Opened from the bottom up; stopped in the direction of the data: the source hands on
//           what is whole, the appender makes it durable, the sink delivers what it can until the
//           deadline.
// Thread    The main thread. `failures` gets what ended a part for good, from any thread.
class RunningPipeline {
 public:
  [[nodiscard]] static Result<std::unique_ptr<RunningPipeline>> open(const config::Config& config);
  ~RunningPipeline();
  RunningPipeline(const RunningPipeline&) = delete;
  RunningPipeline& operator=(const RunningPipeline&) = delete;

  void start();
  void stop();

  [[nodiscard]] Inbox<Error>& failures() noexcept { return failures_; }

  // Mode `initial_only`: all that was wanted is in the journal.
  [[nodiscard]] const StopSignal& finished() const noexcept { return finished_; }

  // The sink has delivered everything that is in the journal now.
  [[nodiscard]] bool delivered() const;

 private:
  RunningPipeline(const config::Config& config, DataDirectory directory);
  [[nodiscard]] Status open_stores();
  void open_appender();
  [[nodiscard]] Status open_backfill();
  void backfill_over(std::size_t failed);
  [[nodiscard]] Status open_source();
  [[nodiscard]] Status open_sink();
  [[nodiscard]] Status open_data_plane();
  [[nodiscard]] Status open_admin();
  void add_observation(http::Router& router);

  const config::Config& config_;
  DataDirectory directory_;
  Inbox<Error> failures_{16};
  StopSignal stop_source_;
  StopSignal finished_;
  std::unique_ptr<journal::FileSystem> files_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<state::CheckpointStore> checkpoints_;
  std::unique_ptr<state::CursorStore> cursors_;
  std::unique_ptr<state::BackfillStore> backfills_;
  Handoff<model::EventBatch> handoff_;
  snapshot::Exchange exchange_;
  std::unique_ptr<snapshot::Coordinator> coordinator_;
  std::unique_ptr<capture::PostgresSource> source_;
  std::unique_ptr<delivery::Sink> sink_;
  std::unique_ptr<delivery::SinkWorker> worker_;  // none but with `output: stdout`
  std::unique_ptr<journal::Appender> appender_;
  std::unique_ptr<serve::Consumers> consumers_;
  // Both none but with `output: sse`.
  std::unique_ptr<serve::SseHub> hub_;
  std::unique_ptr<http::Server> data_plane_;
  metrics::Registry metrics_;
  // Both none with `admin.enabled: false`.
  std::unique_ptr<capture::SlotMonitor> monitor_;
  std::unique_ptr<http::Server> admin_;
  Thread source_thread_;
  bool running_ = false;
};

}  // namespace cdc::app
