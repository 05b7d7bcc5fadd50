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
};

}  // namespace cdc::postgres
