#include "capture/snapshot_emitter.h"

#include <utility>

#include "base/assert.h"

namespace cdc::capture {

using Verdict = postgres::RecentChanges::Verdict;
using snapshot::Offer;

namespace {

void must_post(Inbox<snapshot::FromStream>& inbox, snapshot::FromStream message) {
  // The coordinator has a bounded number of things out, and each is answered once.
  const bool posted = inbox.post(std::move(message));
  CDC_ASSERT(posted);
}

}  // namespace

void SnapshotEmitter::session_begins(snapshot::SessionBegins session) {
  must_post(exchange_->from_stream, std::move(session));
}

void SnapshotEmitter::take_messages() {
  for (snapshot::ToStream& message : exchange_->to_stream.take_all()) {
    handle(message);
  }
}

void SnapshotEmitter::handle(snapshot::ToStream& message) {
  if (auto* offer = std::get_if<std::unique_ptr<Offer>>(&message)) {
    offers_.push_back(std::move(*offer));
  } else if (const auto* watch = std::get_if<snapshot::Watch>(&message)) {
    changes_->watch(watch->table);
    must_post(exchange_->from_stream, snapshot::Watching{.table = watch->table});
  } else if (const auto* forget = std::get_if<snapshot::Forget>(&message)) {
    changes_->forget(forget->table);
  } else if (const auto* prune = std::get_if<snapshot::Prune>(&message)) {
    changes_->prune(prune->table, prune->oldest);
  } else if (const auto* ask = std::get_if<snapshot::AskMoved>(&message)) {
    auto moved = changes_->take_moved(ask->table);
    snapshot::Moved answer{.table = ask->table, .keys = nullptr, .all = moved.too_many};
    if (!moved.keys.empty()) {
      answer.keys =
          std::make_shared<const std::unordered_set<std::uint64_t>>(std::move(moved.keys));
    }
    must_post(exchange_->from_stream, std::move(answer));
  } else if (const auto* mute = std::get_if<snapshot::Mute>(&message)) {
    changes_->mute(mute->table);
  }
}

void SnapshotEmitter::emit(Pipeline& pipeline, Lsn done) {
  take_messages();
  while (is_due(done) && pipeline.has_room()) {
    if (!judged_ && !judge(*offers_.front())) {
      must_post(exchange_->from_stream, snapshot::Refused{.ticket = offers_.front()->ticket});
      pop();
      continue;
    }
    emit_rows(pipeline, done);
    if (next_row_ == offers_.front()->rows.events().size()) {
      finish(pipeline);
    }
  }
}

// Tells stale rows from current ones. False when that cannot be done.
bool SnapshotEmitter::judge(const Offer& offer) {
  const std::size_t size = offer.rows.events().size();
  emits_.assign(size, true);
  outcome_ = {};
  outcome_.ticket = offer.ticket;
  outcome_.emitted = size;
  if (offer.table == 0) {
    judged_ = true;
    return true;
  }
  if (!changes_->can_judge(offer.table, offer.view)) {
    return false;
  }
  for (std::size_t row = 0; row < size; ++row) {
    const std::uint64_t key = offer.rows.events()[row].key_hash;
    if (offer.only && !offer.only->contains(key)) {
      emits_[row] = false;
      --outcome_.emitted;
      continue;
    }
    const Verdict verdict = offer.whole_rows ? changes_->judge_whole_row(
                                                   offer.table, key, offer.writers[row], offer.view)
                                             : changes_->judge(offer.table, key, offer.view);
    if (verdict == Verdict::kUncertain) {
      return false;
    }
    if (verdict == Verdict::kCurrent) {
      continue;
    }
    emits_[row] = false;
    --outcome_.emitted;
    ++outcome_.dropped;
    if (verdict == Verdict::kMissing) {
      outcome_.missing.push_back(key);
    }
  }
  judged_ = true;
  return true;
}

// As many rows of the front offer as there is room for.
void SnapshotEmitter::emit_rows(Pipeline& pipeline, Lsn done) {
  const Offer& offer = *offers_.front();
  bool any = false;
  for (; next_row_ < emits_.size() && pipeline.has_room(); ++next_row_) {
    if (emits_[next_row_]) {
      copy_row(offer, next_row_, pipeline, done);
      any = true;
    }
  }
  if (any) {
    pipeline.batch().mark_boundary(done);
  }
}

void SnapshotEmitter::copy_row(const Offer& offer, std::size_t row, Pipeline& pipeline, Lsn done) {
  model::EventBatch& batch = pipeline.batch();
  model::EventHeader header = offer.rows.events()[row];
  // Offers of different tables may share a batch: each names its table once per batch.
  if (!batch_table_ || batch_ != pipeline.batches_handed()) {
    batch_ = pipeline.batches_handed();
    batch_table_ = batch.add_table(offer.rows.tables()[header.table]);
  }
  const Lsn position{done.value - 1};
  if (position != position_) {
    position_ = position;
    position_rows_ = 0;
  }
  batch.text().append(offer.rows.text().view().substr(header.text_offset, header.text_size));
  header.table = *batch_table_;
  header.commit_lsn = position.value;
  header.index = position_rows_++;
  batch.add_event(header);
}

void SnapshotEmitter::finish(const Pipeline& pipeline) {
  const std::uint64_t batch = pipeline.batches_handed() + (pipeline.batch().empty() ? 0 : 1);
  outcome_.memory = std::move(offers_.front()->rows);
  in_journal_.push_back({.batch = batch, .delivered = std::move(outcome_)});
  pop();
}

void SnapshotEmitter::pop() {
  offers_.pop_front();
  judged_ = false;
  next_row_ = 0;
  batch_table_.reset();
}

void SnapshotEmitter::report(const Pipeline& pipeline) {
  while (!in_journal_.empty() && in_journal_.front().batch <= pipeline.batches_durable()) {
    must_post(exchange_->from_stream, std::move(in_journal_.front().delivered));
    in_journal_.pop_front();
  }
}

}  // namespace cdc::capture
