// Measures the journal by itself: append and sync throughput for several batch sizes, and what a
// reader costs per event. Usage: journal_bench [DIRECTORY] (default: the temporary directory).
//
// Events are those of a narrow four-column row, about 330 bytes of JSON. Reading is measured from
// the page cache, so it is the CPU cost of pread, checksum and checks.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "base/format.h"
#include "base/result.h"
#include "journal/journal.h"
#include "journal/reader.h"
#include "journal/segment_list.h"
#include "model/event_batch.h"

namespace cdc::journal {
namespace {

using Seconds = std::chrono::duration<double>;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void die(const Error& error) {
  std::fprintf(stderr, "journal_bench: %s\n", error.to_string().c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    die(result.error());
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(result).value();
  }
}

model::EventBatch make_batch(std::size_t events, std::uint64_t commit) {
  model::EventBatch batch;
  const std::uint32_t table = batch.add_table("public.orders");
  for (std::size_t i = 0; i < events; ++i) {
    std::string line =
        format(R"({{"id":"01J5ZKGX4M000000000000{0:04}",)"
               R"("idempotency_key":"default:public.orders:{{\"id\":{0}}}:insert:0/155CD28:{0}",)"
               R"("timestamp":"2026-01-02T03:04:05.000006Z","source":"default",)"
               R"("operation":"insert","schema":"public","table":"orders","key":{{"id":{0}}},)"
               R"("before":null,"after":{{"id":{0},"name":"name","amount":12.50}},)"
               R"("metadata":{{"seq":{0}}}}})",
               i);
    line += '\n';
    batch.text().append(line);
    batch.add_event({.table = table,
                     .operation = model::Operation::kInsert,
                     .key_hash = i * 0x9E3779B97F4A7C15U,
                     .old_key_hash = i * 0x9E3779B97F4A7C15U,
                     .commit_lsn = commit,
                     .index = i});
  }
  batch.mark_boundary(Lsn{commit});
  return batch;
}

void bench_append(const std::filesystem::path& directory, std::size_t events, std::size_t batches) {
  PosixFileSystem file_system;
  std::filesystem::remove_all(directory);
  const auto journal = must(Journal::open(file_system, {.directory = directory}));
  const model::EventBatch batch = make_batch(events, 1);
  const double cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  std::vector<double> latencies;
  for (std::size_t i = 0; i < batches; ++i) {
    const auto before = std::chrono::steady_clock::now();
    must(journal->append(batch));
    must(journal->sync());
    latencies.push_back(Seconds(std::chrono::steady_clock::now() - before).count() * 1e6);
  }
  const double wall = Seconds(std::chrono::steady_clock::now() - start).count();
  const auto total = static_cast<double>(events * batches);
  std::sort(latencies.begin(), latencies.end());
  std::printf(
      "append+sync %7zu events (%7zu B): p50 %6.0f us  p99 %6.0f us  %9.0f events/s  "
      "%6.1f MB/s  cpu %5.0f ns/event\n",
      events,
      batch.bytes(),
      latencies[latencies.size() / 2],
      latencies[latencies.size() * 99 / 100],
      total / wall,
      static_cast<double>(batch.bytes() * batches) / wall / 1e6,
      (cpu_seconds() - cpu) / total * 1e9);
}

void bench_read(const std::filesystem::path& directory, std::size_t events, std::size_t batches) {
  PosixFileSystem file_system;
  std::filesystem::remove_all(directory);
  const auto journal = must(Journal::open(file_system, {.directory = directory}));
  const model::EventBatch batch = make_batch(events, 1);
  for (std::size_t i = 0; i < batches; ++i) {
    must(journal->append(batch));
  }
  must(journal->sync());
  const Sequence limit{journal->durable_sequence().load()};
  double best = 1e9;
  std::uint64_t bytes = 0;
  for (int round = 0; round < 5; ++round) {
    const double cpu = cpu_seconds();
    Reader reader(journal->segment_list(), {1});
    bytes = 0;
    while (const auto view = must(reader.next(limit))) {
      bytes += view->text.size();
    }
    best = std::min(best, cpu_seconds() - cpu);
  }
  std::printf("read        %7zu events a frame: %5.1f ns/event  %7.0f MB/s\n",
              events,
              best / static_cast<double>(limit.value) * 1e9,
              static_cast<double>(bytes) / best / 1e6);
}

void bench_open(const std::filesystem::path& directory) {
  PosixFileSystem file_system;
  std::filesystem::remove_all(directory);
  {
    const auto journal = must(Journal::open(file_system, {.directory = directory}));
    const model::EventBatch batch = make_batch(200, 1);
    for (int i = 0; i < 600; ++i) {
      must(journal->append(batch));
    }
    must(journal->sync());
  }
  const auto start = std::chrono::steady_clock::now();
  const auto journal = must(Journal::open(file_system, {.directory = directory}));
  std::printf("open        a segment of 64 MB, two thirds full: %.1f ms\n",
              Seconds(std::chrono::steady_clock::now() - start).count() * 1e3);
}

}  // namespace
}  // namespace cdc::journal

int main(int argc, char** argv) {
  const std::filesystem::path base =
      argc > 1 ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path();
  const std::filesystem::path directory = base / "journal-bench";
  cdc::journal::bench_append(directory, 1, 2000);
  cdc::journal::bench_append(directory, 100, 2000);
  cdc::journal::bench_append(directory, 1000, 1000);
  cdc::journal::bench_append(directory, 4000, 300);
  cdc::journal::bench_read(directory, 1, 200'000);
  cdc::journal::bench_read(directory, 100, 10'000);
  cdc::journal::bench_read(directory, 1000, 1000);
  cdc::journal::bench_read(directory, 3000, 500);
  cdc::journal::bench_open(directory);
  std::filesystem::remove_all(directory);
  return 0;
}
