#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "json/text_buffer.h"
#include "model/event_batch.h"
#include "postgres/relation.h"

namespace cdc::postgres {

// What all events of one transaction share.
struct TransactionInfo {
  Lsn commit_lsn;
  UnixMicros commit_time;
  std::uint32_t xid = 0;
  // The time inside event ids: the commit time, or zero where the source gives none, so that an id
  // is the same whenever the event is sent again.
  UnixMicros id_time = commit_time;
};

// What all `read` events of one chunk share. Read events stand outside transactions.
struct ReadInfo {
  std::string_view snapshot_id;
  UnixMicros snapshot_time;  // the time inside event ids
  UnixMicros read_time;      // the event's timestamp
  Lsn high;                  // end of the chunk's view
  std::uint64_t chunk = 0;
  std::int64_t rows_total = -1;
};

// What an event of a row needs for its key's lane.
struct KeyHashes {
  std::uint64_t key = 0;
  std::uint64_t old_key = 0;
};

// A control event that is not about the shape of a table.
struct ControlFact {
  std::string_view schema;  // both empty: of the whole source
  std::string_view table;
  std::string name_prefix;  // of the idempotency key, up to the key
  std::string members;      // JSON members of metadata from `"control_type"` on
};

// Renders events as JSON lines straight into a batch: the one place that knows the event's shape
// (docs/operating/events.md).
//
// Thread  One owner. Bounds: no allocation per event beyond the batch's and two scratch buffers.
class EventEncoder {
 public:
  explicit EventEncoder(std::string source_id);

  void begin_transaction(const TransactionInfo& transaction);

  // The batch given to the calls below is a new one: table indexes start again.
  void begin_batch() noexcept { ++batch_number_; }

  // False when the configuration filters the event out. `row` is completed in place: unchanged
  // columns take the old tuple's value where it has one.
  bool encode_row(Relation& relation,
                  RowMessage& row,
                  std::uint64_t index,
                  model::EventBatch& batch);
  bool encode_truncate(Relation& relation,
                       const TruncateMessage& truncate,
                       std::uint64_t index,
                       model::EventBatch& batch);
  void encode_message(const LogicalMessage& message, std::uint64_t index, model::EventBatch& batch);
  // A control event: rows of `relation` have a new shape from here on.
  void encode_schema_change(Relation& relation, std::uint64_t index, model::EventBatch& batch);
  // A control event without a table: changes between the positions may be missing.
  void encode_gap(Lsn from, Lsn to, model::EventBatch& batch);
  // Any other fact, at the place of the transaction that begin_transaction() was given.
  void encode_control(const ControlFact& fact, model::EventBatch& batch);

  // The rows of a chunk, which all go to the batch given here.
  void begin_read(const ReadInfo& info, const Relation& relation, model::EventBatch& batch);
  // False when the configuration filters the row out. `ctid` tells equal rows of a table without a
  // usable key apart and is empty otherwise; `completed` counts the rows read up to this one.
  bool encode_read(const Relation& relation,
                   const RowMessage& row,
                   std::string_view ctid,
                   std::uint64_t completed,
                   model::EventBatch& batch);

  // What encode_row() puts into the header, also of a row that it would filter out. `row` must be
  // completed, as encode_row() does.
  [[nodiscard]] KeyHashes key_hashes(const Relation& relation, const RowMessage& row);

 private:
  struct Line;

  [[nodiscard]] bool passes(const Relation& relation, const RowMessage& row);
  void render_key(const Relation& relation,
                  const std::vector<ColumnData>& row,
                  const std::vector<ColumnData>& fallback,
                  json::TextBuffer& out);
  void render_before(const Relation& relation, const RowMessage& row, json::TextBuffer& out) const;
  void render_after(const Relation& relation, const RowMessage& row, json::TextBuffer& out) const;
  void append_unchanged(const Relation& relation,
                        const RowMessage& row,
                        json::TextBuffer& out) const;
  [[nodiscard]] std::uint64_t old_key_hash(const Relation& relation,
                                           const RowMessage& row,
                                           std::uint64_t key_hash);
  void open_line(const Line& line, json::TextBuffer& out) const;
  // An event that concerns no single row: everything up to metadata's own members, and the end.
  void open_barrier(const Line& line, json::TextBuffer& out) const;
  static void close_barrier(model::EventHeader header, model::EventBatch& batch);
  void open_metadata(std::uint64_t index, json::TextBuffer& out) const;
  [[nodiscard]] model::EventHeader header_of(Relation& relation,
                                             model::Operation operation,
                                             std::uint64_t index,
                                             model::EventBatch& batch) const;

  std::string source_id_;
  TransactionInfo transaction_;
  std::uint64_t batch_number_ = 1;
  json::TextBuffer key_;      // key JSON of the event at hand
  json::TextBuffer old_key_;  // of its old row
  json::TextBuffer scratch_;
  std::vector<expr::Operand> operands_;
  // Rendered once per transaction.
  std::string id_head_;  // `{"id":"` and the first 19 of the ULID's 26 characters
  std::string lsn_text_;
  std::string time_text_;
  std::string metadata_head_;
  // Rendered once per chunk.
  std::string read_tail_;  // `:read:<snapshot id>` of the idempotency key
  std::uint64_t read_seeds_[2] = {};
  std::uint32_t read_table_ = 0;
};

}  // namespace cdc::postgres
