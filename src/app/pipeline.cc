#include "app/pipeline.h"

#include <chrono>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/metric_table.h"
#include "app/progress.h"
#include "app/status_report.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "serve/admin_api.h"
#include "serve/consumers_api.h"
#include "serve/observation_api.h"
#include "sink_stdout/stdout_sink.h"

namespace cdc::app {

namespace {

// What the sink may still take to deliver and to finish a line once we are asked to stop.
constexpr std::chrono::milliseconds kSinkStopTime{700};
// What requests under way may still take then.
constexpr std::chrono::milliseconds kAdminGrace{200};

// A failure that cannot be posted is the seventeenth: the first one ends the process anyway.
void post(Inbox<Error>& failures, const Error& error) {
  static_cast<void>(failures.post(error));
}

// main() puts a read-only descriptor where standard output was closed.
Status check_standard_output() {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) {
    return fail(Errc::kClosed,
                "standard output is closed",
                "redirect it to a file or a pipe, or set output: none");
  }
  return {};
}

// Each client needs two descriptors, its socket and its place in the event log.
void allow_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// What clients may name; none: every table.
std::vector<std::string> captured_tables(const config::Config& config) {
  std::vector<std::string> names;
  names.reserve(config.tables.size());
  for (const config::TableRule& rule : config.tables) {
    names.push_back(rule.name);
  }
  return config.all_tables ? std::vector<std::string>() : names;
}

}  // namespace

RunningPipeline::RunningPipeline(const config::Config& config, DataDirectory directory)
    : config_(config), directory_(std::move(directory)) {}

RunningPipeline::~RunningPipeline() {
  stop();
}

Result<std::unique_ptr<RunningPipeline>> RunningPipeline::open(const config::Config& config) {
  CDC_ASSIGN(auto directory, DataDirectory::open(config.data_dir));
  std::unique_ptr<RunningPipeline> pipeline(new RunningPipeline(config, std::move(directory)));
  CDC_TRY(pipeline->open_stores());
  pipeline->open_appender();
  CDC_TRY(pipeline->open_backfill());
  CDC_TRY(pipeline->open_source());
  CDC_TRY(pipeline->open_sink());
  CDC_TRY(pipeline->open_data_plane());
  CDC_TRY(pipeline->open_admin());
  return pipeline;
}

Status RunningPipeline::open_stores() {
  files_ = std::make_unique<journal::PosixFileSystem>();
  CDC_ASSIGN(journal_,
             journal::Journal::open(*files_,
                                    {.directory = directory_.path() / "events",
                                     .segment_bytes = config_.journal.segment_bytes,
                                     .bytes_max = config_.journal.bytes_max,
                                     .retention = config_.retention}));
  CDC_ASSIGN(checkpoints_, state::CheckpointStore::open(directory_.path() / "checkpoint.db"));
  CDC_ASSIGN(cursors_, state::CursorStore::open(directory_.path() / "cursors.db"));
  consumers_ = std::make_unique<serve::Consumers>(*cursors_);
  CDC_ASSIGN(backfills_, state::BackfillStore::open(directory_.path() / "backfill.db"));
  const journal::RecoveryReport& recovery = journal_->recovery();
  log::info("journal open",
            {{"events", recovery.events},
             {"segments", recovery.segments},
             {"truncated_bytes", recovery.truncated_bytes},
             {"durable_lsn", to_string(Lsn{journal_->durable_lsn().load()})}});
  return {};
}

void RunningPipeline::open_appender() {
  journal::AppenderOptions options;
  options.passed = [this] {
    // Without a consumer nothing waits for an event: age alone decides.
    return worker_ ? worker_->passed() : Sequence{journal_->durable_sequence().load()};
  };
  options.on_failure = [this](const Error& error) {
    post(failures_, error);
  };
  appender_ = std::make_unique<journal::Appender>(*journal_, handoff_, std::move(options));
}

Status RunningPipeline::open_backfill() {
  CDC_ASSIGN(coordinator_,
             snapshot::Coordinator::create(
                 config_,
                 *backfills_,
                 exchange_,
                 {.progress_interval = progress_interval(),
                  .on_progress = show_progress,
                  .on_finished = [this](std::size_t failed) { backfill_over(failed); },
                  .on_failure =
                      [this](const Error& error) {
                        post(failures_, error);
                      }}));
  return {};
}

// Mode `initial_only`.
void RunningPipeline::backfill_over(std::size_t failed) {
  if (failed > 0) {
    post(failures_,
         make_error(Errc::kSourceSetup,
                    format("existing rows of {} tables were not read to the end", failed),
                    "`kaptanto backfill status` says why; start again to go on"));
    return;
  }
  finished_.request();
}

Status RunningPipeline::open_source() {
  CDC_ASSIGN(source_,
             capture::PostgresSource::create({.config = config_,
                                              .checkpoints = *checkpoints_,
                                              .handoff = handoff_,
                                              .durable = {.lsn = journal_->durable_lsn(),
                                                          .batches = appender_->durable_batches()},
                                              .exchange = exchange_,
                                              .stop = stop_source_}));
  return {};
}

Status RunningPipeline::open_sink() {
  if (config_.output == config::Output::kStdout) {
    CDC_TRY(check_standard_output());
    sink_ = std::make_unique<sink_stdout::StdoutSink>(STDOUT_FILENO);
    worker_ = std::make_unique<delivery::SinkWorker>(
        *journal_,
        *cursors_,
        *sink_,
        delivery::SinkWorker::Options{.consumer = "stdout"},
        [this](const Error& error) { post(failures_, error); });
    consumers_->set_connected("stdout", true);
  }
  return {};
}

Status RunningPipeline::open_data_plane() {
  if (config_.output != config::Output::kSse) {
    return {};
  }
  allow_descriptors();
  hub_ =
      std::make_unique<serve::SseHub>(*journal_,
                                      *consumers_,
                                      serve::Access(config_.auth_token, config_.sse.cors_origins),
                                      serve::SseOptions{.heartbeat = config_.sse.heartbeat,
                                                        .helping_bytes = config_.sse.buffer_bytes,
                                                        .tables = captured_tables(config_)});
  http::Router router;
  hub_->add_routes(router);
  http::ServerOptions options{.address = config_.address, .port = config_.port};
  options.connections_max = config_.sse.connections_max;
  options.stall_time_max = config_.sse.stall_time;
  options.any_host = !config_.auth_token.empty() || config_.insecure;
  CDC_ASSIGN(data_plane_, http::Server::listen(options, std::move(router)));
  hub_->attach(*data_plane_);
  log::info("serving events", {{"address", config_.address}, {"port", config_.port}});
  return {};
}

Status RunningPipeline::open_admin() {
  if (!config_.admin.enabled) {
    return {};
  }
  http::Router router;
  serve::add_admin_routes(router, *coordinator_);
  serve::add_consumer_routes(router, *consumers_, *journal_);
  add_observation(router);
  CDC_ASSIGN(admin_,
             http::Server::listen({.address = config_.admin.address,
                                   .port = static_cast<std::uint16_t>(config_.port + 1)},
                                  std::move(router)));
  return {};
}

void RunningPipeline::add_observation(http::Router& router) {
  capture::SourceStatus& source = source_->status();
  monitor_ = std::make_unique<capture::SlotMonitor>(config_, source);
  ObservedParts parts{.config = config_,
                      .source = source,
                      .journal = *journal_,
                      .appender = *appender_,
                      .backfills = *coordinator_,
                      .consumers = consumers_.get()};
  if (worker_) {
    parts.workers.push_back(worker_.get());
  }
  add_metrics(metrics_, parts);
  serve::add_observation_routes(router,
                                {.registry = metrics_,
                                 .checks = [parts] { return health_checks(parts); },
                                 .started = [&source] { return source.view().has_streamed; },
                                 .status =
                                     [parts] {
                                       return status_json(parts);
                                     }});
}

bool RunningPipeline::delivered() const {
  // Clients come and go: there is no last one to wait for.
  if (data_plane_) {
    return false;
  }
  return !worker_ || worker_->passed().value >= journal_->durable_sequence().load();
}

void RunningPipeline::start() {
  running_ = true;
  appender_->start();
  if (worker_) {
    worker_->start();
  }
  coordinator_->start();
  if (data_plane_) {
    data_plane_->start();
  }
  if (admin_) {
    monitor_->start();
    admin_->start();
  }
  source_thread_.start("source", [this] {
    const Status ended = source_->run();
    if (!ended) {
      post(failures_, ended.error());
    }
  });
}

void RunningPipeline::stop() {
  if (!std::exchange(running_, false)) {
    return;
  }
  if (admin_) {
    admin_->stop(kAdminGrace);
  }
  coordinator_->stop_reading();
  stop_source_.request();
  source_thread_.join();
  coordinator_->stop();
  appender_->stop();
  if (data_plane_) {
    data_plane_->stop(kAdminGrace);
  }
  if (worker_) {
    worker_->stop(monotonic_now() + kSinkStopTime);
    worker_->join();
  }
  // Last: it may be waiting for a name to be resolved, which nothing can interrupt.
  if (monitor_) {
    monitor_->stop();
  }
}

}  // namespace cdc::app
