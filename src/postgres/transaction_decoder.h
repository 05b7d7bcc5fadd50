#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "config/config.h"
#include "model/event_batch.h"
#include "postgres/catalog.h"
#include "postgres/event_encoder.h"
#include "postgres/pgoutput_protocol.h"
#include "postgres/recent_changes.h"
#include "postgres/relation.h"
#include "postgres/shape_history.h"
#include "postgres/spill.h"
#include "postgres/table_rules.h"

namespace cdc::postgres {

// Counters of rare paths and totals since the start, for metrics.
struct DecoderCounters {
  std::uint64_t rows = 0;    // row changes of live transactions, filtered ones included
  std::uint64_t events = 0;  // of those and others, what went into batches
  std::uint64_t transactions = 0;
  std::uint64_t skipped_transactions = 0;   // sent again after a reconnect, already done
  std::uint64_t streamed_transactions = 0;  // arrived before they committed
  std::uint64_t aborted_streams = 0;
  std::uint64_t spilled_bytes = 0;
  std::uint64_t schema_changes = 0;
};

// Turns pgoutput messages into events: keeps track of transactions, relations, streamed blocks and
// of what has been done already.
//
// Invariants  T1 an event enters the batch only inside the transaction it belongs to, and every
//                transaction ends with a boundary: consumers see whole commits.
//             T2 a transaction whose commit lies below done() is skipped; the server may send it
//                again after any reconnect.
//             T3 when a transaction is cut off after part of it was handed on, the same transaction
//                must come first after the reconnect; its first handed() events are not repeated.
//             T4 the index of a row depends on the transaction alone, never on filters, streaming
//                or reconnects.
// Errors      kProtocol: malformed or impossible message. kSlotGap: T3 is broken by the server.
//             kNoSpace, kIo: the spill file.
// Thread      One owner, the source thread; it never waits for anything.
class TransactionDecoder {
 public:
  enum class Progress : std::uint8_t {
    kContinue,
    kNeedsTable,  // ask the catalog for needed_table(), then provide_table()
  };

  // References outlive the decoder.
  struct Parts {
    const config::Config& config;
    const TableRules& rules;
    TypeCatalog& types;
    ShapeHistory& shapes;
    RecentChanges& changes;
  };

  // `done`: everything that committed below is in the journal.
  TransactionDecoder(const Parts& parts, Lsn done);

  // A new connection: the server will describe tables and stream transactions afresh. `tables` is
  // the whole catalog, read before.
  void begin_session(std::vector<TableInfo> tables);
  // The connection is gone: forgets the open transaction and removes its tail from the batch.
  void end_session(model::EventBatch& batch);

  // One message of the stream. Not while replaying() or after kNeedsTable.
  [[nodiscard]] Result<Progress> decode(std::string_view message, model::EventBatch& batch);

  // True from the commit of a streamed transaction until replay() has brought all of it.
  [[nodiscard]] bool replaying() const noexcept { return replay_ != nullptr; }

  // Brings the next message of that transaction.
  [[nodiscard]] Result<Progress> replay(model::EventBatch& batch);

  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): set whenever kNeedsTable was said.
  [[nodiscard]] std::uint32_t needed_table() const noexcept { return pending_->oid; }

  // True when a column's type is not in the type catalog, which should be loaded again first.
  [[nodiscard]] bool needs_types() const;
  // nullopt: the catalog has no such table any more.
  void provide_table(const std::optional<TableInfo>& info);

  // The server has nothing for us up to `wal_end`.
  void keepalive(Lsn wal_end) noexcept;

  // The batch was handed on with `tail_events` of the open transaction at its end. Returns whether
  // the next one continues a transaction.
  [[nodiscard]] bool handed_on(std::size_t tail_events) noexcept;

  // Puts a control event into the batch: changes between the positions may be missing. Only before
  // the first session or between transactions; kSlotGap when part of one was handed on (T3).
  [[nodiscard]] Status record_gap(Lsn from, Lsn to, model::EventBatch& batch);

  // Everything that committed below this is in batches (or was filtered out).
  [[nodiscard]] Lsn done() const noexcept { return done_; }

  [[nodiscard]] bool in_transaction() const noexcept { return in_transaction_; }

  [[nodiscard]] const DecoderCounters& counters() const noexcept { return counters_; }

 private:
  [[nodiscard]] Result<Progress> apply(std::string_view message,
                                       bool in_stream,
                                       model::EventBatch& batch);
  [[nodiscard]] Status begin(std::string_view message);
  [[nodiscard]] Status open_transaction(const TransactionInfo& transaction);
  [[nodiscard]] Status commit(std::string_view message, model::EventBatch& batch);
  void close_transaction(Lsn end, model::EventBatch& batch);
  [[nodiscard]] Result<Progress> relation(std::string_view message, bool in_stream);
  [[nodiscard]] Status row(std::string_view message, bool in_stream, model::EventBatch& batch);
  void remember_change(const Relation& relation);
  [[nodiscard]] Status truncate(std::string_view message, bool in_stream, model::EventBatch& batch);
  [[nodiscard]] Status logical_message(std::string_view message,
                                       bool in_stream,
                                       model::EventBatch& batch);
  [[nodiscard]] Status check_shape(Relation& relation, model::EventBatch& batch);
  void finish_event(model::EventBatch& batch);
  [[nodiscard]] Result<Relation*> find_relation(std::uint32_t oid);

  [[nodiscard]] Status stream_start(std::string_view message);
  [[nodiscard]] Status stream_commit(std::string_view message, model::EventBatch& batch);
  [[nodiscard]] Status stream_abort(std::string_view message);
  [[nodiscard]] Status spill(std::string_view message);
  [[nodiscard]] bool captures_message(std::string_view prefix) const;

  const config::Config* config_;
  const TableRules* rules_;
  TypeCatalog* types_;
  ShapeHistory* shapes_;
  RecentChanges* changes_;
  EventEncoder encoder_;
  DecoderCounters counters_;

  // Relations of this session; those whose shape has been compared with the history are checked.
  struct KnownRelation {
    Relation relation;
    bool shape_checked = false;
  };

  std::unordered_map<std::uint32_t, KnownRelation> relations_;
  std::unordered_map<std::uint32_t, TableInfo> tables_;  // read at the start of the session
  std::optional<RelationShape> pending_;
  KnownRelation* last_relation_ = nullptr;  // most rows follow one of the same table

  Lsn done_;
  bool in_transaction_ = false;
  bool skipping_ = false;
  Lsn commit_lsn_;  // of the open transaction
  UnixMicros commit_time_;
  std::uint32_t xid_ = 0;  // likewise
  std::uint64_t row_index_ = 0;
  std::uint64_t emitted_ = 0;  // events of the open transaction, those of earlier tries included
  std::uint64_t handed_ = 0;   // of those, already in the journal's hands
  Lsn handed_commit_lsn_;      // transaction that handed_ belongs to

  bool in_stream_ = false;
  std::uint32_t stream_xid_ = 0;
  SpillBudget budget_;
  std::unordered_map<std::uint32_t, std::unique_ptr<SpillBuffer>> streams_;  // by top-level xid
  std::unique_ptr<SpillBuffer> replay_;
  Lsn replay_end_;

  // Reused from message to message.
  RowMessage row_;
  RelationMessage relation_message_;
  TruncateMessage truncate_;
};

}  // namespace cdc::postgres
