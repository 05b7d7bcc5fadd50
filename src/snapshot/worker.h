#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/sync/inbox.h"
#include "base/sync/thread.h"
#include "config/config.h"
#include "postgres/snapshot_reader.h"
#include "postgres/snapshot_table.h"
#include "postgres/table_rules.h"

namespace cdc::snapshot {

// What rows of a table to read and how to show them; shared by the workers, immutable.
struct Description {
  std::shared_ptr<const postgres::TableRules> rules;  // what `table` points into
  postgres::SnapshotTable table;
};

struct DescribeJob {
  std::uint64_t ticket = 0;
  postgres::PublishedTable table;
  std::string publication;
  std::shared_ptr<const postgres::TableRules> rules;
  bool split = false;  // into ranges, too
};

struct ReadJob {
  std::uint64_t ticket = 0;
  std::shared_ptr<const Description> description;
  postgres::ChunkRequest request;
  model::EventBatch memory;  // to be used for the rows
};

using Job = std::variant<DescribeJob, ReadJob>;

struct Described {
  std::shared_ptr<const Description> description;
  std::vector<postgres::SnapshotRange> ranges;  // empty unless asked for
};

struct JobDone {
  std::size_t worker = 0;
  std::uint64_t ticket = 0;
  Result<std::variant<Described, postgres::SnapshotChunk>> outcome;
};

// A thread with a connection of its own that does one job at a time. The connection is opened for
// the first job and again after it broke; an idle worker closes it.
// Thread: start, give, request_stop, join: the coordinator and its owner.
// Lifetime: config and inbox outlive the worker.
class Worker {
 public:
  Worker(std::size_t number, const config::Config& config, Inbox<JobDone>& done);

  void start();
  void give(Job job);

  // Interrupts a job under way and takes no other.
  void request_stop() { stop_.request(); }

  // Returns when the thread has ended.
  void join() { thread_.join(); }

 private:
  void run();
  [[nodiscard]] Result<std::variant<Described, postgres::SnapshotChunk>> perform(Job& job);
  [[nodiscard]] Result<Described> describe(const DescribeJob& job);
  [[nodiscard]] Status connect();

  std::size_t number_;
  const config::Config& config_;
  Inbox<JobDone>& done_;
  Inbox<Job> jobs_{2};
  StopSignal stop_;
  std::unique_ptr<postgres::SnapshotReader> reader_;
  postgres::TypeCatalog types_;
  Thread thread_;
};

}  // namespace cdc::snapshot
