#include "app/run.h"

#include <array>
#include <csignal>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/pipeline.h"
#include "base/log.h"
#include "postgres/connection.h"

namespace cdc::app {

UniqueFd take_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  return UniqueFd{::signalfd(-1, &wanted, SFD_CLOEXEC)};
}

namespace {

// How often a sink that still delivers is looked at, once nothing new is to come.
constexpr int kDeliveryPollMillis = 20;

// The first failure, or success when a signal came or the work was done first.
Status wait_for_end(int signals, RunningPipeline& pipeline) {
  for (;;) {
    const bool finished = pipeline.finished().requested();
    if (finished && pipeline.delivered()) {
      return {};
    }
    std::array<pollfd, 3> pollers{{{signals, POLLIN, 0},
                                   {pipeline.failures().event().fd(), POLLIN, 0},
                                   {finished ? -1 : pipeline.finished().fd(), POLLIN, 0}}};
    ::poll(pollers.data(), pollers.size(), finished ? kDeliveryPollMillis : -1);
    if (pollers[0].revents != 0) {
      return {};
    }
    const auto errors = pipeline.failures().take_all();
    if (!errors.empty()) {
      return fail(errors.front());
    }
  }
}

}  // namespace

Status run(const config::Config& config) {
  const UniqueFd signals = take_signals();
  log::set_level(config.log_level);
  log::info("starting",
            {{"source", postgres::redact_dsn(config.source)},
             {"source_id", config.source_id},
             {"data_dir", config.data_dir.string()}});
  CDC_ASSIGN(auto pipeline, RunningPipeline::open(config));
  pipeline->start();
  Status ended = wait_for_end(signals.get(), *pipeline);
  pipeline->stop();
  if (!ended && ended.error().code == Errc::kClosed) {
    // `kaptanto | head` has all it wanted.
    log::info("output closed by its reader");
    return {};
  }
  if (ended) {
    log::info("stopped");
  }
  return ended;
}

}  // namespace cdc::app
