#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/sync/inbox.h"
#include "base/sync/mutex.h"
#include "base/sync/thread.h"
#include "config/config.h"
#include "snapshot/control.h"
#include "snapshot/exchange.h"
#include "snapshot/table_job.h"
#include "snapshot/worker.h"
#include "state/backfill_store.h"

namespace cdc::snapshot {

// Reads existing rows of the captured tables, in chunks and with several workers, while the stream
// goes on; decides what is to be read, keeps the state of each table, and answers people.
//
// Invariants  K1 a table's rows are read only after the stream has begun to remember its changes.
//             K2 the saved bound of a range never passes a row that is not durable in the journal:
//                a crash repeats what was out, under the same idempotency keys.
//             K3 a fault of one table stops that table alone, with its reason in the status.
// Thread      start, stop: the owner. Control: any. One thread of its own, which never waits for
//             the source, plus one per worker.
// Lifetime    config, store and exchange outlive the coordinator.
class Coordinator final : public Control {
 public:
  // How far a table is, for people.
  struct Progress {
    std::string table;
    std::uint64_t rows = 0;
    std::int64_t rows_total = -1;       // estimate; -1: unknown
    std::uint64_t rows_per_second = 0;  // since the last report
    std::int64_t seconds_left = -1;     // estimate; -1: unknown
  };

  struct Options {
    std::chrono::seconds progress_interval{10};
    // For each table being read, on the coordinator's thread.
    std::function<void(const Progress&)> on_progress;
    // Mode `initial_only`: all rows are durable, but those of tables that failed. Called once, on
    // the coordinator's thread.
    std::function<void(std::size_t failed)> on_finished;
    // The state cannot be kept. Called once, likewise; the thread ends then.
    std::function<void(const Error&)> on_failure;
  };

  // Errors: those of the store; kConfigInvalid.
  [[nodiscard]] static Result<std::unique_ptr<Coordinator>> create(const config::Config& config,
                                                                   state::BackfillStore& store,
                                                                   Exchange& exchange,
                                                                   Options options);
  ~Coordinator() override;
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  void start();
  // Nothing more is read; chunks under way are given up. What the stream still has goes on.
  void stop_reading();
  // Takes note of what has become durable until now, and ends. The source has ended before.
  void stop();

  [[nodiscard]] std::vector<state::BackfillTable> status() const override;
  [[nodiscard]] Result<std::string> start(std::string_view table, std::string_view where) override;
  [[nodiscard]] Result<std::string> pause(std::string_view table) override;
  [[nodiscard]] Result<std::string> resume(std::string_view table) override;
  [[nodiscard]] Result<std::string> cancel(std::string_view table) override;

 private:
  using Rules = std::shared_ptr<const postgres::TableRules>;

  struct Request {
    enum class Kind : std::uint8_t {
      kStart,
      kPause,
      kResume,
      kCancel
    };
    Kind kind = Kind::kStart;
    std::string table;
    std::string where;
  };

  Coordinator(const config::Config& config,
              state::BackfillStore& store,
              Exchange& exchange,
              Options options);

  // ---- the thread ----
  void run();
  [[nodiscard]] Status round();
  void wait();
  void send(ToStream message);

  // ---- from the stream ----
  [[nodiscard]] Status handle(FromStream& message);
  [[nodiscard]] Status session_begins(SessionBegins& session);
  [[nodiscard]] std::optional<state::BackfillTable> fresh_record(
      const postgres::PublishedTable& table, bool gap);
  [[nodiscard]] Status delivered(Delivered& delivered);
  void moved(const Moved& answer);
  void refused(std::uint64_t ticket);

  // ---- from the workers ----
  [[nodiscard]] Status handle(JobDone& done);
  [[nodiscard]] Status described(TableJob& job, const Described& described);
  [[nodiscard]] Status chunk_read(TableJob& job,
                                  std::uint64_t ticket,
                                  postgres::SnapshotChunk chunk);
  [[nodiscard]] Status job_failed(TableJob& job, std::uint64_t ticket, const Error& error);

  // ---- from people ----
  [[nodiscard]] Result<std::string> request(Request::Kind kind,
                                            std::string_view table,
                                            std::string_view where);
  [[nodiscard]] static bool allows(state::BackfillState state, Request::Kind kind) noexcept;
  [[nodiscard]] Status handle(const Request& request);

  // ---- work ----
  [[nodiscard]] Status schedule();
  [[nodiscard]] Status activate_pending();
  [[nodiscard]] Status activate(const state::BackfillTable& record);
  void give_work();
  [[nodiscard]] std::optional<Job> next_job();
  [[nodiscard]] Status saved(TableJob& job, const RangeProgress* moved);
  [[nodiscard]] Status finish_if_read(TableJob& job);
  void finish(TableJob& job);
  [[nodiscard]] Status end(const std::string& table, state::BackfillState state);
  void drop_job(const std::string& table);
  [[nodiscard]] Status fail_unpublished();
  [[nodiscard]] Status put_record(const state::BackfillTable& record);
  void publish_record(const state::BackfillTable& record);
  void report_progress();
  void offer_fact(std::uint64_t ticket, model::EventBatch fact);
  void all_done();
  void finish_process();
  [[nodiscard]] std::size_t failed_tables() const;
  [[nodiscard]] Result<Rules> rules_for(const state::BackfillTable& record) const;
  [[nodiscard]] config::SnapshotMode mode_of(const postgres::PublishedTable& table) const;
  [[nodiscard]] postgres::SnapshotFacts facts_of(const TableJob& job) const;
  [[nodiscard]] TableJob* find_job(std::uint64_t ticket);

  const config::Config& config_;
  state::BackfillStore& store_;
  Exchange& exchange_;
  Options options_;
  Rules rules_;
  ChunkLimits limits_;

  Inbox<JobDone> done_;
  Inbox<Request> requests_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::size_t> idle_;
  std::vector<model::EventBatch> memory_;  // of chunks that are through, for the next ones
  std::string publication_;
  std::map<std::string, std::unique_ptr<TableJob>> jobs_;   // by table
  std::unordered_map<std::uint64_t, std::string> tickets_;  // table of each
  std::uint64_t next_ticket_ = 1;
  std::uint64_t all_done_ticket_ = 0;
  MonotonicTime now_;  // of this round
  bool session_known_ = false;
  bool finished_ = false;  // on_finished was called
  bool worked_ = false;    // some table was read since the last "all complete"
  MonotonicTime reported_;
  std::map<std::string, std::uint64_t> reported_rows_;  // by table

  mutable Mutex mutex_;
  std::map<std::string, postgres::PublishedTable> published_ CDC_GUARDED_BY(mutex_);
  std::map<std::string, state::BackfillTable> records_ CDC_GUARDED_BY(mutex_);
  StopSignal reading_stop_;
  StopSignal stop_;
  Thread thread_;
};

}  // namespace cdc::snapshot
