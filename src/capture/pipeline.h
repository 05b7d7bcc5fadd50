#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/sync/handoff.h"
#include "base/sync/watermark.h"
#include "model/event_batch.h"

namespace cdc::capture {

// The source's end of the way to the journal: the batch that fills, and what has become of those
// before it. Thread: the source thread. Lifetime: hand-off and watermark outlive it.
class Pipeline {
 public:
  // A batch is handed on once it holds this much, even in the middle of a transaction.
  static constexpr std::size_t kBatchBytes = 1U << 20U;
  // Memory that an emptied batch keeps.
  static constexpr std::size_t kKeepBytes = 2 * kBatchBytes;

  // What the journal tells: the position, and the number of batches, that are durable. The number
  // is published after the position.
  struct Durable {
    Watermark& lsn;
    Watermark& batches;
  };

  Pipeline(Handoff<model::EventBatch>& handoff, const Durable& durable)
      : handoff_(&handoff),
        durable_lsn_(&durable.lsn),
        durable_batches_(durable.batches),
        batches_handed_(durable.batches.load()),
        handed_lsn_(Lsn{durable.lsn.load()}) {}

  [[nodiscard]] model::EventBatch& batch() noexcept { return batch_; }

  [[nodiscard]] const model::EventBatch& batch() const noexcept { return batch_; }

  // Whether the batch can take more events. A batch that finishes a transaction begun in an earlier
  // one is handed on before anything else enters it (EventBatch, B3).
  [[nodiscard]] bool has_room() const noexcept {
    return batch_.bytes() < kBatchBytes && !(batch_.continues() && batch_.acknowledge());
  }

  // Hands the batch on if the journal can take it. `continues_after(tail_events)` is then told how
  // many events of an unfinished transaction went along and says whether the next batch continues
  // it.
  template <class ContinuesAfter>
  bool try_hand_on(ContinuesAfter continues_after) {
    handoff_->free_event().drain();
    const Lsn acknowledge = batch_.acknowledge();
    const std::size_t tail_events = batch_.events().size() - batch_.boundary();
    if (!handoff_->try_put(batch_)) {
      return false;
    }
    ++batches_handed_;
    if (acknowledge) {
      handed_lsn_ = acknowledge;
    }
    batch_.reset(continues_after(tail_events), kKeepBytes);
    return true;
  }

  [[nodiscard]] EventFd& free_event() noexcept { return handoff_->free_event(); }

  [[nodiscard]] EventFd& durable_event() noexcept { return durable_batches_.event(); }

  [[nodiscard]] Lsn durable_lsn() const noexcept { return Lsn{durable_lsn_->load()}; }

  // Batches are numbered from one, in the order of handing on.
  [[nodiscard]] std::uint64_t batches_handed() const noexcept { return batches_handed_; }

  [[nodiscard]] std::uint64_t batches_durable() const noexcept { return durable_batches_.load(); }

  // The highest position given to the journal so far.
  [[nodiscard]] Lsn handed_lsn() const noexcept { return handed_lsn_; }

 private:
  Handoff<model::EventBatch>* handoff_;
  Watermark* durable_lsn_;
  Watermark::Reader durable_batches_;
  std::uint64_t batches_handed_;
  model::EventBatch batch_;
  Lsn handed_lsn_;
};

}  // namespace cdc::capture
