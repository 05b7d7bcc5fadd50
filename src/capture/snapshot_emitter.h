#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "capture/pipeline.h"
#include "postgres/recent_changes.h"
#include "snapshot/exchange.h"

namespace cdc::capture {

// Puts rows read from tables between the transactions of the stream.
//
// Invariants  S1 a row enters the stream when everything its view contains has been streamed, and
//                only if no newer change of it has.
//             S2 a chunk counts as delivered when the journal has it durably.
//             S3 offers are taken in order, and each is judged as a whole at one point of the
//                stream: until all of it is in batches, nothing else may enter them.
// Position    One below the position that the stream has reached: behind every transaction before,
//             ahead of every one after. Rows at one position are numbered.
// Thread      The source thread; lives as long as the source, across reconnects.
class SnapshotEmitter {
 public:
  SnapshotEmitter(snapshot::Exchange& exchange, postgres::RecentChanges& changes)
      : exchange_(&exchange), changes_(&changes) {}

  void session_begins(snapshot::SessionBegins session);

  // Between transactions only: takes what the coordinator sent and fills the batch of `pipeline`
  // with rows that are due at `done`, the position up to which everything has been streamed.
  void emit(Pipeline& pipeline, Lsn done);

  // Rows could enter the stream right now, were there room.
  [[nodiscard]] bool is_due(Lsn done) const noexcept {
    return !offers_.empty() && done && offers_.front()->view.high <= done;
  }

  // Part of an offer is in a batch: the stream has to wait (S3).
  [[nodiscard]] bool is_emitting() const noexcept { return judged_; }

  // The next rows wait for the stream to come to their view.
  [[nodiscard]] bool waits_for_stream(Lsn done) const noexcept {
    return !offers_.empty() && !is_due(done);
  }

  // Reports what has become durable.
  void report(const Pipeline& pipeline);

  [[nodiscard]] EventFd& event() noexcept { return exchange_->to_stream.event(); }

 private:
  struct InJournal {
    std::uint64_t batch = 0;  // number of the batch that took the last row
    snapshot::Delivered delivered;
  };

  void take_messages();
  void handle(snapshot::ToStream& message);
  [[nodiscard]] bool judge(const snapshot::Offer& offer);
  void emit_rows(Pipeline& pipeline, Lsn done);
  void copy_row(const snapshot::Offer& offer, std::size_t row, Pipeline& pipeline, Lsn done);
  void finish(const Pipeline& pipeline);
  void pop();

  snapshot::Exchange* exchange_;
  postgres::RecentChanges* changes_;
  std::deque<std::unique_ptr<snapshot::Offer>> offers_;
  // Of the front offer, once it is judged.
  bool judged_ = false;
  std::vector<bool> emits_;  // by row
  std::size_t next_row_ = 0;
  snapshot::Delivered outcome_;
  std::deque<InJournal> in_journal_;
  Lsn position_;  // of the rows emitted last
  std::uint64_t position_rows_ = 0;
  // The front offer's table in the batch that `batch_` counts.
  std::uint64_t batch_ = 0;
  std::optional<std::uint32_t> batch_table_;
};

}  // namespace cdc::capture
