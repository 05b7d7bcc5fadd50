#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/metrics.h"
#include "base/sync/counter.h"
#include "base/sync/handoff.h"
#include "base/sync/level.h"
#include "base/sync/thread.h"
#include "base/sync/watermark.h"
#include "journal/journal.h"
#include "model/event_batch.h"

namespace cdc::journal {

struct AppenderOptions {
  // The sequence that every consumer has passed: what retention may delete. Called on the
  // appender's thread. None: nothing is ever deleted.
  std::function<Sequence()> passed;
  // Called once, on the appender's thread, when the journal cannot go on. The thread ends then.
  std::function<void(const Error&)> on_failure;
  std::chrono::milliseconds retry_delay{1'000};          // after a full disk or journal
  std::chrono::milliseconds retention_interval{10'000};  // between two looks at retention
  std::size_t group_bytes_max = 4U << 20U;   // synced at least this often while batches keep coming
  std::size_t batch_keep_bytes = 2U << 20U;  // memory an emptied batch keeps for reuse
};

enum class AppenderState : std::uint8_t {
  kRunning,
  kPaused,
  kFailed,
  kStopped
};

[[nodiscard]] std::string_view name_of(AppenderState state) noexcept;

// The thread that writes a journal: takes batches from the source, appends them, syncs once for all
// that were waiting, and so publishes the watermarks.
//
// States    running <-> paused when the disk or the journal is full: the batch is kept and offered
//           again, the source waits on its hand-off meanwhile. Any other error: failed, for good.
// Thread    start, stop: the owner. The getters: any.
// Lifetime  Journal and hand-off outlive the appender; stop() or a closed hand-off ends the thread,
//           and stop() must have returned before destruction.
class Appender {
 public:
  Appender(Journal& journal, Handoff<model::EventBatch>& handoff, AppenderOptions options);
  ~Appender();
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  void start();
  // Appends and syncs what is in the hand-off already, then joins. The producer has stopped before.
  // A batch that does not fit on the disk is given up: it was never acknowledged.
  void stop();

  // How many batches are durable, in the order of the hand-off; published after the journal's own
  // watermarks.
  [[nodiscard]] Watermark& durable_batches() noexcept { return durable_batches_; }

  [[nodiscard]] AppenderState state() const noexcept {
    return static_cast<AppenderState>(state_.load());
  }

  // Totals since start.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_.load(); }

  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_.load(); }

  [[nodiscard]] std::uint64_t events() const noexcept { return events_.load(); }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(); }

  [[nodiscard]] std::uint64_t syncs() const noexcept { return syncs_.load(); }

  // Microseconds that a sync took; bytes of a batch; microseconds from a commit at the source, by
  // the server's clock, until it was durable here, once for each sync.
  [[nodiscard]] const metrics::Histogram& sync_micros() const noexcept { return sync_micros_; }

  [[nodiscard]] const metrics::Histogram& batch_bytes() const noexcept { return batch_bytes_; }

  [[nodiscard]] const metrics::Histogram& commit_micros() const noexcept { return commit_micros_; }

 private:
  enum class Outcome : unsigned char {
    kMore,
    kIdle,
    kClosed,
    kFailed
  };

  void run();
  [[nodiscard]] Outcome append_group();
  [[nodiscard]] bool append_one();
  [[nodiscard]] bool sync_group();
  void observe_sync(MonotonicTime begin);
  void retain_if_due();
  void pause(const Error& error);
  void resume();
  void fail_for_good(const Error& error);
  void wait();

  void set_state(AppenderState state) noexcept { state_.store(static_cast<int>(state)); }

  Journal& journal_;
  Handoff<model::EventBatch>& handoff_;
  AppenderOptions options_;

  model::EventBatch batch_;
  bool holding_ = false;  // batch_ was taken and is not in the journal yet
  std::size_t group_bytes_ = 0;
  bool group_open_ = false;  // something was appended since the last sync
  UnixMicros group_commit_;  // the oldest commit of the group; zero: none
  MonotonicTime retention_due_;

  Watermark durable_batches_;
  AtomicLevel state_{static_cast<int>(AppenderState::kStopped)};
  Counter batches_;
  Counter frames_;
  Counter events_;
  Counter bytes_;
  Counter syncs_;
  metrics::Histogram sync_micros_{metrics::duration_bounds()};
  metrics::Histogram batch_bytes_{metrics::size_bounds()};
  metrics::Histogram commit_micros_{metrics::duration_bounds()};
  StopSignal stop_;
  Thread thread_;
};

}  // namespace cdc::journal
