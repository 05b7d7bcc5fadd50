#include "postgres/transaction_decoder.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/format.h"
#include "base/log.h"
#include "expr/table_pattern.h"

namespace cdc::postgres {

namespace {

std::unexpected<Error> malformed(std::string_view message) {
  return fail(
      Errc::kProtocol,
      format(
          "the server sent a malformed '{}' message of {} bytes", message.front(), message.size()),
      "check that nothing between the server and here alters the stream, then report it");
}

// Whether the columns that the server flags as identity are exactly the key that the catalog names:
// then the catalog's answer is not older than the description.
bool agrees(const RelationShape& shape, const TableInfo& info) {
  if (shape.replica_identity != info.replica_identity || shape.replica_identity == 'f' ||
      shape.replica_identity == 'n') {
    return false;
  }
  const auto& key = shape.replica_identity == 'i' ? info.identity_index : info.primary_key;
  const auto flagged = std::ranges::count(shape.columns, true, &RelationShape::Column::identity);
  return static_cast<std::size_t>(flagged) == key.size() &&
         std::ranges::all_of(key, [&shape](const std::string& name) {
           return std::ranges::any_of(shape.columns, [&name](const RelationShape::Column& column) {
             return column.identity && column.name == name;
           });
         });
}

}  // namespace

TransactionDecoder::TransactionDecoder(const Parts& parts, Lsn done)
    : config_(&parts.config),
      rules_(&parts.rules),
      types_(&parts.types),
      shapes_(&parts.shapes),
      changes_(&parts.changes),
      encoder_(parts.config.source_id),
      done_(done),
      budget_{.directory = parts.config.data_dir / "spill",
              .memory_bytes_max = parts.config.postgres.spill_memory_bytes,
              .memory_bytes = 0} {}

void TransactionDecoder::begin_session(std::vector<TableInfo> tables) {
  relations_.clear();
  last_relation_ = nullptr;
  tables_.clear();
  for (TableInfo& table : tables) {
    const std::uint32_t oid = table.oid;
    tables_.emplace(oid, std::move(table));
  }
  shapes_->begin_session(done_);
}

void TransactionDecoder::end_session(model::EventBatch& batch) {
  batch.drop_tail();
  in_transaction_ = false;
  in_stream_ = false;
  skipping_ = false;
  pending_.reset();
  replay_.reset();
  streams_.clear();
}

Result<TransactionDecoder::Progress> TransactionDecoder::decode(std::string_view message,
                                                                model::EventBatch& batch) {
  CDC_ASSERT(!replaying() && !pending_);
  if (message.empty()) {
    return fail(Errc::kProtocol, "the server sent an empty message");
  }
  switch (static_cast<MessageType>(message.front())) {
    case MessageType::kStreamStart:
      CDC_TRY(stream_start(message));
      return Progress::kContinue;
    case MessageType::kStreamStop:
      in_stream_ = false;
      return Progress::kContinue;
    case MessageType::kStreamCommit:
      CDC_TRY(stream_commit(message, batch));
      return Progress::kContinue;
    case MessageType::kStreamAbort:
      CDC_TRY(stream_abort(message));
      return Progress::kContinue;
    default:
      break;
  }
  if (in_stream_) {
    CDC_TRY(spill(message));
    return Progress::kContinue;
  }
  return apply(message, false, batch);
}

Result<TransactionDecoder::Progress> TransactionDecoder::apply(std::string_view message,
                                                               bool in_stream,
                                                               model::EventBatch& batch) {
  switch (static_cast<MessageType>(message.front())) {
    case MessageType::kInsert:
    case MessageType::kUpdate:
    case MessageType::kDelete:
      CDC_TRY(row(message, in_stream, batch));
      return Progress::kContinue;
    case MessageType::kBegin:
      CDC_TRY(begin(message));
      return Progress::kContinue;
    case MessageType::kCommit:
      CDC_TRY(commit(message, batch));
      return Progress::kContinue;
    case MessageType::kRelation:
      return relation(message, in_stream);
    case MessageType::kTruncate:
      CDC_TRY(truncate(message, in_stream, batch));
      return Progress::kContinue;
    case MessageType::kMessage:
      CDC_TRY(logical_message(message, in_stream, batch));
      return Progress::kContinue;
    case MessageType::kType:    // the catalog says more
    case MessageType::kOrigin:  // changes are captured wherever they come from
      return Progress::kContinue;
    default:
      return fail(Errc::kProtocol,
                  format("the server sent a message of unknown type {:#04x}",
                         static_cast<unsigned char>(message.front())));
  }
}

Status TransactionDecoder::begin(std::string_view message) {
  BeginMessage parsed;
  if (!parse_begin(message, parsed)) {
    return malformed(message);
  }
  if (in_transaction_) {
    return fail(Errc::kProtocol, "the server began a transaction inside another");
  }
  return open_transaction(TransactionInfo{
      .commit_lsn = parsed.commit_lsn, .commit_time = parsed.commit_time, .xid = parsed.xid});
}

Status TransactionDecoder::open_transaction(const TransactionInfo& transaction) {
  in_transaction_ = true;
  commit_lsn_ = transaction.commit_lsn;
  commit_time_ = transaction.commit_time;
  xid_ = transaction.xid;
  row_index_ = 0;
  emitted_ = 0;
  skipping_ = transaction.commit_lsn < done_;
  if (skipping_) {
    ++counters_.skipped_transactions;
    changes_->add_skipped_transaction(xid_, commit_lsn_);
    return {};
  }
  if (handed_ > 0 && transaction.commit_lsn != handed_commit_lsn_) {
    return fail(Errc::kSlotGap,
                format("the transaction that commits at {} was cut off by a disconnect and the "
                       "server does not send it again (it sent {})",
                       to_string(handed_commit_lsn_),
                       to_string(transaction.commit_lsn)),
                "the server may have been replaced by one that lacks it; restart to continue");
  }
  changes_->add_transaction(xid_);
  encoder_.begin_transaction(transaction);
  return {};
}

Status TransactionDecoder::commit(std::string_view message, model::EventBatch& batch) {
  CommitMessage parsed;
  if (!parse_commit(message, parsed)) {
    return malformed(message);
  }
  if (!in_transaction_ || parsed.commit_lsn != commit_lsn_) {
    return fail(Errc::kProtocol, "the server committed a transaction that it did not begin");
  }
  close_transaction(parsed.end_lsn, batch);
  return {};
}

void TransactionDecoder::close_transaction(Lsn end, model::EventBatch& batch) {
  in_transaction_ = false;
  if (skipping_) {
    skipping_ = false;
    return;
  }
  ++counters_.transactions;
  done_ = std::max(done_, end);
  // A transaction without events moves the position of events before it, but writes nothing itself;
  // one that was handed on in parts needs its end written in any case.
  if (!batch.events().empty() || handed_ > 0) {
    batch.mark_boundary(done_);
  }
  if (emitted_ > 0) {
    batch.note_commit(commit_time_);
  }
  handed_ = 0;
}

Result<TransactionDecoder::Progress> TransactionDecoder::relation(std::string_view message,
                                                                  bool in_stream) {
  if (!parse_relation(message, in_stream, relation_message_)) {
    return malformed(message);
  }
  pending_ = RelationShape::copy_of(relation_message_);
  const auto known = tables_.find(pending_->oid);
  if (known != tables_.end() && agrees(*pending_, known->second) && !needs_types()) {
    const TableInfo info = known->second;
    // The next description means that something changed: then the catalog is asked again.
    tables_.erase(known);
    provide_table(info);
    return Progress::kContinue;
  }
  return Progress::kNeedsTable;
}

bool TransactionDecoder::needs_types() const {
  return pending_ && std::ranges::any_of(pending_->columns, [this](const auto& column) {
           return !types_->knows(column.type_oid);
         });
}

void TransactionDecoder::provide_table(const std::optional<TableInfo>& info) {
  CDC_ASSERT(pending_.has_value());
  const std::uint32_t oid = pending_->oid;
  last_relation_ = nullptr;
  relations_[oid] = KnownRelation{
      .relation = make_relation(
          *std::move(pending_),
          info ? &*info : nullptr,
          RelationContext{.source_id = config_->source_id, .types = types_, .rules = rules_}),
      .shape_checked = false};
  pending_.reset();
}

Result<Relation*> TransactionDecoder::find_relation(std::uint32_t oid) {
  if (last_relation_ == nullptr || last_relation_->relation.shape.oid != oid) {
    const auto found = relations_.find(oid);
    if (found == relations_.end()) {
      return fail(Errc::kProtocol,
                  format("the server sent a change of table {} without describing it", oid));
    }
    last_relation_ = &found->second;
  }
  return &last_relation_->relation;
}

Status TransactionDecoder::check_shape(Relation& relation, model::EventBatch& batch) {
  // find_relation() has just set last_relation_ to the relation's entry.
  if (last_relation_->shape_checked || !relation.rule->captured) {
    return {};
  }
  CDC_ASSIGN(const bool changed,
             shapes_->changed(relation.full_name(), relation.shape_hash, commit_lsn_));
  last_relation_->shape_checked = true;
  if (changed) {
    ++counters_.schema_changes;
    log::info("table shape changed", {{"table", relation.full_name()}});
    encoder_.encode_schema_change(relation, row_index_, batch);
    finish_event(batch);
  }
  return {};
}

// Counts an event that was just rendered, and takes it out again if the journal has it already
// (T3).
void TransactionDecoder::finish_event(model::EventBatch& batch) {
  ++counters_.events;
  if (++emitted_ <= handed_) {
    batch.drop_tail();
  }
}

Status TransactionDecoder::row(std::string_view message, bool in_stream, model::EventBatch& batch) {
  if (!parse_row(message, in_stream, row_)) {
    return malformed(message);
  }
  if (!in_transaction_) {
    return fail(Errc::kProtocol, "the server sent a row outside a transaction");
  }
  if (skipping_) {
    return {};
  }
  CDC_ASSIGN(Relation * relation, find_relation(row_.relation_oid));
  const std::size_t columns = relation->columns.size();
  if ((row_.has_old && row_.old_row.size() != columns) ||
      (!row_.new_row.empty() && row_.new_row.size() != columns) ||
      (row_.operation == model::Operation::kDelete && !row_.has_old)) {
    return fail(Errc::kProtocol,
                format("a row of table {} does not fit its description", relation->full_name()));
  }
  if (!last_relation_->shape_checked) {
    CDC_TRY(check_shape(*relation, batch));
  }
  ++counters_.rows;
  remember_change(*relation);
  if (!changes_->mutes(relation->shape.oid) &&
      encoder_.encode_row(*relation, row_, row_index_, batch)) {
    finish_event(batch);
  }
  ++row_index_;
  return {};
}

// Whether or not a filter leaves its event out: an older state of the row must not come after it.
void TransactionDecoder::remember_change(const Relation& relation) {
  if (!changes_->watches(relation.shape.oid)) {
    return;
  }
  const KeyHashes hashes = encoder_.key_hashes(relation, row_);
  const bool partial = std::ranges::any_of(row_.new_row, [](const ColumnData& column) {
    return column.state == ColumnData::State::kUnchanged;
  });
  changes_->add_row({.table = relation.shape.oid,
                     .xid = xid_,
                     .commit_lsn = commit_lsn_,
                     .key_hash = hashes.key,
                     .old_key_hash = hashes.old_key,
                     .inserts = row_.operation == model::Operation::kInsert,
                     .deletes = row_.operation == model::Operation::kDelete,
                     .whole_row = relation.row_hash_key,
                     .partial = partial});
}

Status TransactionDecoder::truncate(std::string_view message,
                                    bool in_stream,
                                    model::EventBatch& batch) {
  if (!parse_truncate(message, in_stream, truncate_)) {
    return malformed(message);
  }
  if (!in_transaction_) {
    return fail(Errc::kProtocol, "the server sent a truncate outside a transaction");
  }
  for (const std::uint32_t oid : truncate_.relation_oids) {
    if (!skipping_) {
      CDC_ASSIGN(Relation * relation, find_relation(oid));
      CDC_TRY(check_shape(*relation, batch));
      changes_->add_truncate(oid, xid_, commit_lsn_);
      if (!changes_->mutes(oid) &&
          encoder_.encode_truncate(*relation, truncate_, row_index_, batch)) {
        finish_event(batch);
      }
    }
    ++row_index_;
  }
  return {};
}

bool TransactionDecoder::captures_message(std::string_view prefix) const {
  return std::ranges::any_of(
      config_->postgres.message_prefixes,
      [prefix](const std::string& pattern) { return expr::glob_matches(pattern, prefix); });
}

Status TransactionDecoder::logical_message(std::string_view message,
                                           bool in_stream,
                                           model::EventBatch& batch) {
  LogicalMessage parsed;
  if (!parse_message(message, in_stream, parsed)) {
    return malformed(message);
  }
  const bool captured = captures_message(parsed.prefix);
  if (in_transaction_) {
    if (captured && !skipping_) {
      encoder_.encode_message(parsed, row_index_, batch);
      finish_event(batch);
    }
    return {};
  }
  if (!captured || parsed.lsn < done_ || handed_ > 0) {
    return {};
  }
  // Outside transactions a message stands for itself. Its record has no time, so the id has none.
  encoder_.begin_transaction(TransactionInfo{
      .commit_lsn = parsed.lsn, .commit_time = unix_now(), .xid = 0, .id_time = UnixMicros{0}});
  encoder_.encode_message(parsed, 0, batch);
  ++counters_.events;
  done_ = Lsn{parsed.lsn.value + 1};
  batch.mark_boundary(done_);
  return {};
}

void TransactionDecoder::keepalive(Lsn wal_end) noexcept {
  // Inside a transaction the server's position may already be behind its commit.
  if (!in_transaction_ && !in_stream_ && !replaying() && handed_ == 0) {
    done_ = std::max(done_, wal_end);
  }
}

bool TransactionDecoder::handed_on(std::size_t tail_events) noexcept {
  if (in_transaction_ && tail_events > 0) {
    handed_ += tail_events;
    handed_commit_lsn_ = commit_lsn_;
  }
  encoder_.begin_batch();
  return handed_ > 0;
}

Status TransactionDecoder::record_gap(Lsn from, Lsn to, model::EventBatch& batch) {
  if (handed_ > 0) {
    return fail(Errc::kSlotGap,
                "the slot was lost in the middle of a transaction",
                "restart: the part that arrived is cut off and the gap recorded");
  }
  encoder_.encode_gap(from, to, batch);
  ++counters_.events;
  done_ = std::max(done_, to);
  batch.mark_boundary(done_);
  return {};
}

// ---- transactions that arrive before they commit ------------------------------------------------

Status TransactionDecoder::stream_start(std::string_view message) {
  StreamStartMessage parsed;
  if (!parse_stream_start(message, parsed)) {
    return malformed(message);
  }
  if (in_transaction_ || in_stream_) {
    return fail(Errc::kProtocol, "the server opened a streamed block inside a transaction");
  }
  in_stream_ = true;
  stream_xid_ = parsed.xid;
  auto& buffer = streams_[parsed.xid];
  if (!buffer) {
    buffer = std::make_unique<SpillBuffer>(budget_);
    ++counters_.streamed_transactions;
  }
  return {};
}

Status TransactionDecoder::spill(std::string_view message) {
  if (static_cast<MessageType>(message.front()) == MessageType::kOrigin) {
    return {};
  }
  const std::uint32_t xid = stream_xid(message);
  if (xid == 0) {
    return malformed(message);
  }
  counters_.spilled_bytes += message.size();
  return streams_[stream_xid_]->append(xid, message);
}

Status TransactionDecoder::stream_abort(std::string_view message) {
  StreamAbortMessage parsed;
  if (!parse_stream_abort(message, parsed)) {
    return malformed(message);
  }
  const auto found = streams_.find(parsed.xid);
  if (found == streams_.end()) {
    return {};
  }
  ++counters_.aborted_streams;
  if (parsed.subxid == parsed.xid) {
    streams_.erase(found);
  } else {
    found->second->abort_subtransaction(parsed.subxid);
  }
  return {};
}

Status TransactionDecoder::stream_commit(std::string_view message, model::EventBatch& batch) {
  StreamCommitMessage parsed;
  if (!parse_stream_commit(message, parsed)) {
    return malformed(message);
  }
  if (in_transaction_ || in_stream_) {
    return fail(Errc::kProtocol, "the server committed a streamed transaction inside a block");
  }
  CDC_TRY(open_transaction(TransactionInfo{.commit_lsn = parsed.commit.commit_lsn,
                                           .commit_time = parsed.commit.commit_time,
                                           .xid = parsed.xid}));
  const auto found = streams_.find(parsed.xid);
  if (found == streams_.end()) {
    close_transaction(parsed.commit.end_lsn, batch);
    return {};
  }
  replay_ = std::move(found->second);
  replay_end_ = parsed.commit.end_lsn;
  streams_.erase(found);
  return {};
}

Result<TransactionDecoder::Progress> TransactionDecoder::replay(model::EventBatch& batch) {
  CDC_ASSERT(replaying() && !pending_);
  CDC_ASSIGN(const auto message, replay_->read());
  if (!message) {
    replay_.reset();
    close_transaction(replay_end_, batch);
    return Progress::kContinue;
  }
  return apply(*message, true, batch);
}

}  // namespace cdc::postgres
