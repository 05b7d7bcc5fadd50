// What delivery costs per event: a journal on disk, read, checked and written to /dev/null by a
// SinkWorker with a StdoutSink.
//
//   delivery_bench [events] [bytes per event] [directory]
//
// Prints wall time and CPU time per event, the median of five runs.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/unique_handle.h"
#include "delivery/sink_worker.h"
#include "journal/file_system.h"
#include "journal/journal.h"
#include "model/event_batch.h"
#include "sink_stdout/stdout_sink.h"
#include "state/cursor_store.h"

namespace cdc {
namespace {

constexpr int kRuns = 5;
constexpr std::size_t kEventsPerTransaction = 100;
constexpr std::size_t kBatchBytes = 1U << 20U;

struct Cost {
  double wall_ns = 0;
  double cpu_ns = 0;
};

struct Shape {
  std::uint64_t events = 1'000'000;
  std::size_t event_bytes = 400;
};

[[noreturn]] void give_up(const Error& error) {
  std::fprintf(stderr, "delivery_bench: %s\n", error.to_string().c_str());
  std::exit(1);
}

template <class T>
T value_or_give_up(Result<T> result) {
  if (!result) {
    give_up(result.error());
  }
  return *std::move(result);
}

void check(const Status& status) {
  if (!status) {
    give_up(status.error());
  }
}

void fill(journal::Journal& journal, Shape shape) {
  const std::string line = std::string(shape.event_bytes - 1, 'x') + "\n";
  model::EventBatch batch;
  std::uint32_t table = batch.add_table("public.t");
  for (std::uint64_t i = 0; i < shape.events; ++i) {
    batch.text().append(line);
    batch.add_event({.table = table,
                     .key_hash = i,
                     .old_key_hash = i,
                     .commit_lsn = 1 + i / kEventsPerTransaction,
                     .index = i % kEventsPerTransaction});
    const bool is_last = i + 1 == shape.events;
    if ((i + 1) % kEventsPerTransaction == 0 || is_last) {
      batch.mark_boundary(Lsn{1 + i / kEventsPerTransaction});
      if (batch.bytes() >= kBatchBytes || is_last) {
        check(journal.append(batch));
        batch.reset(false, 2 * kBatchBytes);
        table = batch.add_table("public.t");
      }
    }
  }
  check(journal.sync());
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Cost deliver(journal::Journal& journal, state::CursorStore& cursors, std::uint64_t events) {
  const UniqueFd output(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  check(cursors.remove("bench"));
  sink_stdout::StdoutSink sink(output.get());
  delivery::SinkWorker worker(journal, cursors, sink, {.consumer = "bench"}, give_up);
  const MonotonicTime begin = monotonic_now();
  const double cpu_begin = cpu_seconds();
  worker.start();
  worker.stop(begin + std::chrono::hours{1});
  worker.join();
  const std::chrono::duration<double, std::nano> wall = monotonic_now() - begin;
  const double cpu = (cpu_seconds() - cpu_begin) * 1e9;
  if (worker.passed().value != events) {
    give_up(make_error(Errc::kInternal, "not everything was delivered"));
  }
  const auto count = static_cast<double>(events);
  return {.wall_ns = wall.count() / count, .cpu_ns = cpu / count};
}

int run(Shape shape, const std::filesystem::path& directory) {
  journal::PosixFileSystem files;
  const auto journal =
      value_or_give_up(journal::Journal::open(files, {.directory = directory / "events"}));
  const auto cursors = value_or_give_up(state::CursorStore::open(directory / "cursors.db"));
  fill(*journal, shape);
  std::array<Cost, kRuns> costs;
  for (Cost& cost : costs) {
    cost = deliver(*journal, *cursors, shape.events);
  }
  std::ranges::sort(costs, {}, &Cost::wall_ns);
  const Cost median = costs[kRuns / 2];
  std::fputs(cdc::format("{} events of {} bytes: {:.1f} ns/event wall, {:.1f} ns/event CPU, "
                         "{:.0f} MB/s\n",
                         shape.events,
                         shape.event_bytes,
                         median.wall_ns,
                         median.cpu_ns,
                         static_cast<double>(shape.event_bytes) / median.wall_ns * 1e3)
                 .c_str(),
             stdout);
  return 0;
}

}  // namespace
}  // namespace cdc

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  cdc::Shape shape;
  if (!arguments.empty()) {
    shape.events = std::strtoull(arguments[0].c_str(), nullptr, 10);
  }
  if (arguments.size() > 1) {
    shape.event_bytes = std::max(2UL, std::strtoul(arguments[1].c_str(), nullptr, 10));
  }
  std::string name =
      (arguments.size() > 2 ? arguments[2] : std::filesystem::temp_directory_path().string()) +
      "/delivery_bench_XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    std::perror("delivery_bench");
    return 1;
  }
  const int status = cdc::run(shape, name);
  std::filesystem::remove_all(name);
  return status;
}
