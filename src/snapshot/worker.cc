#include "snapshot/worker.h"

#include <array>
#include <utility>

#include <poll.h>

#include "base/assert.h"
#include "base/format.h"

namespace cdc::snapshot {

namespace {

// A worker without work for this long gives its connection back to the server.
constexpr int kIdleMillis = 10'000;
// Ranges of a table: enough for the workers to share, and to lose little when one is cut off.
constexpr std::uint64_t kRangeRows = 500'000;
constexpr std::size_t kRangesMax = 64;

}  // namespace

Worker::Worker(std::size_t number, const config::Config& config, Inbox<JobDone>& done)
    : number_(number), config_(config), done_(done), types_(config.values) {}

void Worker::start() {
  thread_.start(format("snapshot {}", number_), [this] { run(); });
}

void Worker::give(Job job) {
  const bool posted = jobs_.post(std::move(job));
  CDC_ASSERT(posted);
}

void Worker::run() {
  while (!stop_.requested()) {
    std::array<pollfd, 2> pollers{{{stop_.fd(), POLLIN, 0}, {jobs_.event().fd(), POLLIN, 0}}};
    const int ready = ::poll(pollers.data(), pollers.size(), reader_ ? kIdleMillis : -1);
    if (ready == 0) {
      reader_.reset();
    }
    for (Job& job : jobs_.take_all()) {
      const std::uint64_t ticket = std::visit([](const auto& any) { return any.ticket; }, job);
      auto outcome = perform(job);
      if (!outcome && reader_ && reader_->is_broken()) {
        reader_.reset();
      }
      // The coordinator has one job out per worker, so there is room for its answer.
      static_cast<void>(
          done_.post(JobDone{.worker = number_, .ticket = ticket, .outcome = std::move(outcome)}));
    }
  }
}

Result<std::variant<Described, postgres::SnapshotChunk>> Worker::perform(Job& job) {
  CDC_TRY(connect());
  if (const auto* describing = std::get_if<DescribeJob>(&job)) {
    CDC_ASSIGN(auto described, describe(*describing));
    return described;
  }
  auto& reading = std::get<ReadJob>(job);
  CDC_ASSIGN(auto chunk, reader_->read(reading.request, std::move(reading.memory)));
  return chunk;
}

Status Worker::connect() {
  if (!reader_) {
    CDC_ASSIGN(reader_,
               postgres::SnapshotReader::open({.dsn = config_.source,
                                               .source_id = config_.source_id,
                                               .lock_timeout = config_.snapshot.lock_timeout},
                                              stop_));
  }
  return {};
}

Result<Described> Worker::describe(const DescribeJob& job) {
  auto description = std::make_shared<Description>();
  description->rules = job.rules;
  CDC_ASSIGN(description->table,
             postgres::describe_snapshot_table(reader_->connection(),
                                               job.table,
                                               {.publication = job.publication,
                                                .source_id = config_.source_id,
                                                .rules = job.rules.get(),
                                                .types = &types_}));
  Described described;
  if (job.split) {
    CDC_ASSIGN(described.ranges,
               postgres::split_snapshot_table(
                   reader_->connection(), description->table, kRangeRows, kRangesMax));
  }
  described.description = std::move(description);
  return described;
}

}  // namespace cdc::snapshot
