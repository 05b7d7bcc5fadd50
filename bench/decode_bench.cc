// Drains a slot with the product's source (stream, decoder, renderer) and drops the batches where
// the journal would take them. What is left to the journal and the sink is the difference to the
// product. Prints one JSON line.
//
//   decode_bench DSN SLOT PUBLICATION TABLE ROWS DIRECTORY

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "base/result.h"
#include "base/sync/handoff.h"
#include "base/sync/thread.h"
#include "base/sync/watermark.h"
#include "capture/postgres_source.h"
#include "config/config.h"
#include "model/event_batch.h"
#include "state/checkpoint_store.h"

namespace cdc::bench {
namespace {

constexpr std::size_t kKeepBytes = 8U << 20U;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Totals {
  std::uint64_t events = 0;
  std::uint64_t text_bytes = 0;
};

// Stands where the journal would: takes each batch, calls it durable and forgets it.
Totals drop_batches(Handoff<model::EventBatch>& handoff,
                    const capture::Pipeline::Durable& durable,
                    std::uint64_t rows) {
  Totals totals;
  std::uint64_t batches = 0;
  model::EventBatch batch;
  while (totals.events < rows) {
    pollfd poller{.fd = handoff.ready_event().fd(), .events = POLLIN, .revents = 0};
    poll(&poller, 1, -1);
    handoff.ready_event().drain();
    auto take = handoff.try_take(batch);
    if (take == Handoff<model::EventBatch>::Take::kClosed) {
      break;  // the source failed
    }
    for (; take == Handoff<model::EventBatch>::Take::kTaken; take = handoff.try_take(batch)) {
      totals.events += batch.events().size();
      totals.text_bytes += batch.text().size();
      if (const Lsn done = batch.acknowledge()) {
        durable.lsn.publish(done.value);
      }
      durable.batches.publish(++batches);
      batch.reset(false, kKeepBytes);
    }
  }
  return totals;
}

config::Config configuration(std::span<char*> arguments) {
  config::Config config;
  config.source = arguments[0];
  config.postgres.slot = arguments[1];
  config.postgres.publication = arguments[2];
  config.postgres.publication_existing = true;
  config.tables.push_back({.name = arguments[3], .columns = {}, .where = {}, .operations = {}});
  return config;
}

Status run(std::span<char*> arguments) {
  if (arguments.size() != 6) {
    return fail(Errc::kInvalidArgument,
                "usage: decode_bench DSN SLOT PUBLICATION TABLE ROWS DIRECTORY");
  }
  const std::string_view rows_text = arguments[4];
  std::uint64_t rows = 0;
  std::from_chars(rows_text.data(), rows_text.data() + rows_text.size(), rows);
  const config::Config config = configuration(arguments);
  CDC_ASSIGN(auto checkpoints,
             state::CheckpointStore::open(std::filesystem::path(arguments[5]) / "checkpoint.db"));
  Handoff<model::EventBatch> handoff;
  Watermark durable_lsn;
  Watermark durable_batches;
  const capture::Pipeline::Durable durable{.lsn = durable_lsn, .batches = durable_batches};
  snapshot::Exchange exchange;
  StopSignal stop;
  CDC_ASSIGN(auto source,
             capture::PostgresSource::create({.config = config,
                                              .checkpoints = *checkpoints,
                                              .handoff = handoff,
                                              .durable = durable,
                                              .exchange = exchange,
                                              .stop = stop}));
  Status ended;
  Thread thread;
  thread.start("source", [&source, &ended, &handoff] {
    ended = source->run();
    handoff.close();
  });
  const Totals totals = drop_batches(handoff, durable, rows);
  const std::string line = cdc::format(R"({{"rows":{},"text_bytes":{},"cpu":{:.6f}}})",
                                       totals.events,
                                       totals.text_bytes,
                                       cpu_seconds());
  std::puts(line.c_str());
  std::fflush(stdout);
  stop.request();
  thread.join();
  return ended;
}

}  // namespace
}  // namespace cdc::bench

int main(int argc, char** argv) {
  const cdc::Status status =
      cdc::bench::run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!status) {
    std::fprintf(stderr, "decode_bench: %s\n", status.error().to_string().c_str());
    return cdc::exit_status(status.error().code);
  }
  return 0;
}
