#include "postgres/event_encoder.h"

#include <charconv>
#include <cstring>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "json/escape.h"
#include "json/utf8.h"

namespace cdc::postgres {

// The part of an event up to and including its key.
struct EventEncoder::Line {
  model::Operation operation;
  std::string_view name_prefix;  // escaped
  std::string_view envelope;
  std::string_view key;
  std::uint64_t index = 0;
  std::uint32_t id_low = 0;  // the low 32 bits of the id
};

namespace {

using State = ColumnData::State;

constexpr std::string_view kNoKey = "{}";
constexpr std::string_view kBase32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";  // Crockford

char* put(char* out, std::string_view text) noexcept {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* put_number(char* out, std::uint64_t value) noexcept {
  return std::to_chars(out, out + 20, value).ptr;
}

// The low `5 * digits` bits of `value`.
char* put_base32(char* out, std::uint64_t value, int digits) noexcept {
  for (int i = digits - 1; i >= 0; --i) {
    *out++ = kBase32[(value >> (5 * i)) & 31U];
  }
  return out;
}

// The idempotency key up to and including the row's key.
char* put_name(char* out, std::string_view prefix, std::string_view key) noexcept {
  out = put(out, R"(","idempotency_key":")");
  out = put(out, prefix);
  return json::escape(key, out);
}

// Rows get odd numbers, so that a control event beside one cannot take its id.
std::uint32_t row_id_low(std::uint64_t index) noexcept {
  return static_cast<std::uint32_t>(index << 1U) | 1U;
}

std::uint32_t control_id_low(std::uint64_t index, std::string_view name) noexcept {
  return static_cast<std::uint32_t>((hash64(name) ^ index) << 1U);
}

void append_member(const Relation::Column& column,
                   const ColumnData& data,
                   bool& first,
                   json::TextBuffer& out) {
  char* cursor = out.reserve(column.member.size() + 5);
  if (!first) {
    *cursor++ = ',';
  }
  first = false;
  cursor = put(cursor, column.member);
  if (data.state == State::kNull) {
    cursor = put(cursor, "null");
  }
  out.commit(cursor);
  if (data.state == State::kText) {
    render_value(column.type, data.text, out);
  }
}

// The hash of a whole row, for tables that have nothing better to tell rows apart.
void render_row_hash(const std::vector<ColumnData>& row,
                     json::TextBuffer& scratch,
                     json::TextBuffer& out) {
  scratch.clear();
  for (const ColumnData& column : row) {
    char* cursor = scratch.reserve(24);
    *cursor++ = static_cast<char>(column.state);
    cursor = put_number(cursor, column.text.size());
    *cursor++ = ':';
    scratch.commit(cursor);
    scratch.append(column.text);
  }
  out.append(R"({"$row":")");
  out.append(hash128_hex(scratch.view()));
  out.append("\"}");
}

bool same_value(const ColumnData& old_value, const ColumnData& new_value) noexcept {
  return new_value.state == State::kUnchanged ||
         (old_value.state == new_value.state && old_value.text == new_value.text);
}

// Under FULL the old tuple holds what an unchanged TOAST column still is.
void fill_unchanged(RowMessage& row) noexcept {
  if (!row.has_old || row.old_is_key || row.old_row.size() != row.new_row.size()) {
    return;
  }
  for (std::size_t i = 0; i < row.new_row.size(); ++i) {
    if (row.new_row[i].state == State::kUnchanged) {
      row.new_row[i] = row.old_row[i];
    }
  }
}

// A JSON string of bytes that need not be UTF-8.
std::string quote_any(std::string_view bytes) {
  json::TextBuffer buffer;
  json::append_any_string(buffer, bytes);
  return std::string(buffer.view());
}

// Text as a string; anything else in bytea's hexadecimal form, under another name.
std::string content_member(std::string_view content) {
  if (json::valid_utf8_prefix(content) == content.size()) {
    return R"("content":)" + json::quote(content);
  }
  std::string hex;
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    hex += "0123456789abcdef"[byte >> 4U];
    hex += "0123456789abcdef"[byte & 15U];
  }
  return format(R"("content_hex":"\\x{}")", hex);
}

expr::Operand operand_in(const Relation& relation,
                         const std::vector<ColumnData>& row,
                         bool key_only,
                         std::size_t column) noexcept {
  if (column >= row.size() || (key_only && !relation.columns[column].identity) ||
      row[column].state == State::kUnchanged) {
    return {};
  }
  if (row[column].state == State::kNull) {
    return {.kind = expr::Operand::Kind::kNull, .text = {}};
  }
  return operand_of(relation.columns[column].type, row[column].text);
}

}  // namespace

EventEncoder::EventEncoder(std::string source_id) : source_id_(std::move(source_id)) {}

void EventEncoder::begin_transaction(const TransactionInfo& transaction) {
  transaction_ = transaction;
  char buffer[40];
  char* end = put_base32(buffer, static_cast<std::uint64_t>(transaction.id_time.value / 1000), 10);
  // The 80 random bits of a ULID are the low 48 bits of the LSN and 32 bits of the index; the first
  // nine of their sixteen characters depend on the LSN alone.
  end = put_base32(end, (transaction.commit_lsn.value & 0xFFFF'FFFF'FFFFU) >> 3U, 9);
  id_head_ = R"({"id":")";
  id_head_.append(buffer, end);
  lsn_text_ = to_string(transaction.commit_lsn);
  time_text_ = format_rfc3339(transaction.commit_time);
  metadata_head_ = format(R"(,"metadata":{{"lsn":"{}","tx_id":{},"commit_ts":"{}","seq":)",
                          lsn_text_,
                          transaction.xid,
                          time_text_);
}

void EventEncoder::open_line(const Line& line, json::TextBuffer& out) const {
  const std::string_view operation = name_of(line.operation);
  char* cursor = out.reserve(256 + line.name_prefix.size() + line.envelope.size() +
                             (json::kEscapeGrowth + 1) * line.key.size());
  cursor = put(cursor, id_head_);
  cursor = put_base32(cursor, ((transaction_.commit_lsn.value & 7U) << 32U) | line.id_low, 7);
  cursor = put_name(cursor, line.name_prefix, line.key);
  *cursor++ = ':';
  cursor = put(cursor, operation);
  *cursor++ = ':';
  cursor = put(cursor, lsn_text_);
  *cursor++ = ':';
  cursor = put_number(cursor, line.index);
  cursor = put(cursor, R"(","timestamp":")");
  cursor = put(cursor, time_text_);
  cursor = put(cursor, line.envelope);
  cursor = put(cursor, line.key);
  out.commit(cursor);
}

void EventEncoder::open_metadata(std::uint64_t index, json::TextBuffer& out) const {
  char* cursor = out.reserve(metadata_head_.size() + 48);
  cursor = put(cursor, metadata_head_);
  cursor = put_number(cursor, index);
  cursor = put(cursor, R"(,"snapshot":false)");
  out.commit(cursor);
}

model::EventHeader EventEncoder::header_of(Relation& relation,
                                           model::Operation operation,
                                           std::uint64_t index,
                                           model::EventBatch& batch) const {
  if (relation.batch_number != batch_number_) {
    relation.batch_number = batch_number_;
    relation.batch_table = batch.add_table(relation.full_name());
  }
  return model::EventHeader{.table = relation.batch_table,
                            .operation = operation,
                            .commit_lsn = transaction_.commit_lsn.value,
                            .index = index};
}

bool EventEncoder::passes(const Relation& relation, const RowMessage& row) {
  const TableRule& rule = *relation.rule;
  if (!rule.captured || !rule.takes(row.operation)) {
    return false;
  }
  if (rule.condition.always_true()) {
    return true;
  }
  operands_.clear();
  for (const Relation::Operand& operand : relation.operands) {
    const bool before = operand.side == expr::Side::kBefore ||
                        (operand.side == expr::Side::kEither && row.new_row.empty());
    const auto& values = before ? row.old_row : row.new_row;
    operands_.push_back(operand.column < 0 ? expr::Operand{}
                                           : operand_in(relation,
                                                        values,
                                                        before && row.old_is_key,
                                                        static_cast<std::size_t>(operand.column)));
  }
  return rule.condition.evaluate(operands_);
}

void EventEncoder::render_key(const Relation& relation,
                              const std::vector<ColumnData>& row,
                              const std::vector<ColumnData>& fallback,
                              json::TextBuffer& out) {
  out.clear();
  if (relation.row_hash_key) {
    render_row_hash(row, scratch_, out);
    return;
  }
  out.append('{');
  bool first = true;
  for (const std::uint16_t index : relation.key) {
    const bool missing = row[index].state == State::kUnchanged && index < fallback.size();
    append_member(relation.columns[index], missing ? fallback[index] : row[index], first, out);
  }
  out.append('}');
}

std::uint64_t EventEncoder::old_key_hash(const Relation& relation,
                                         const RowMessage& row,
                                         std::uint64_t key_hash) {
  if (row.operation != model::Operation::kUpdate || !row.has_old) {
    return key_hash;
  }
  bool changed = relation.row_hash_key && !row.old_is_key;
  for (const std::uint16_t index : relation.key) {
    changed = changed || !same_value(row.old_row[index], row.new_row[index]);
  }
  if (!changed) {
    return key_hash;
  }
  render_key(relation, row.old_row, {}, old_key_);
  return hash64(old_key_.view(), relation.hash_seed);
}

void EventEncoder::render_before(const Relation& relation,
                                 const RowMessage& row,
                                 json::TextBuffer& out) const {
  if (!row.has_old) {
    out.append("null");
    return;
  }
  out.append('{');
  bool first = true;
  for (std::size_t i = 0; i < row.old_row.size(); ++i) {
    const Relation::Column& column = relation.columns[i];
    // A key-only tuple holds nulls for the columns that were not sent: those are not values.
    const bool sent = !row.old_is_key || column.identity;
    if (column.selected && sent && row.old_row[i].state != State::kUnchanged) {
      append_member(column, row.old_row[i], first, out);
    }
  }
  out.append('}');
}

void EventEncoder::render_after(const Relation& relation,
                                const RowMessage& row,
                                json::TextBuffer& out) const {
  if (row.operation == model::Operation::kDelete) {
    out.append("null");
    return;
  }
  out.append('{');
  bool first = true;
  for (std::size_t i = 0; i < row.new_row.size(); ++i) {
    if (relation.columns[i].selected && row.new_row[i].state != State::kUnchanged) {
      append_member(relation.columns[i], row.new_row[i], first, out);
    }
  }
  out.append('}');
}

void EventEncoder::append_unchanged(const Relation& relation,
                                    const RowMessage& row,
                                    json::TextBuffer& out) const {
  bool first = true;
  for (std::size_t i = 0; i < row.new_row.size(); ++i) {
    if (row.new_row[i].state != State::kUnchanged || !relation.columns[i].selected) {
      continue;
    }
    out.append(first ? R"(,"unchanged":[)" : ",");
    first = false;
    const std::string& member = relation.columns[i].member;
    out.append(std::string_view(member).substr(0, member.size() - 1));
  }
  if (!first) {
    out.append(']');
  }
}

bool EventEncoder::encode_row(Relation& relation,
                              RowMessage& row,
                              std::uint64_t index,
                              model::EventBatch& batch) {
  fill_unchanged(row);
  if (!passes(relation, row)) {
    return false;
  }
  const KeyHashes hashes = key_hashes(relation, row);
  model::EventHeader header = header_of(relation, row.operation, index, batch);
  header.key_hash = hashes.key;
  header.old_key_hash = hashes.old_key;

  json::TextBuffer& out = batch.text();
  open_line(Line{.operation = row.operation,
                 .name_prefix = relation.name_prefix,
                 .envelope = relation.envelope[static_cast<std::size_t>(row.operation)],
                 .key = key_.view(),
                 .index = index,
                 .id_low = row_id_low(index)},
            out);
  out.append(R"(,"before":)");
  render_before(relation, row, out);
  out.append(R"(,"after":)");
  render_after(relation, row, out);
  open_metadata(index, out);
  append_unchanged(relation, row, out);
  out.append("}}\n");
  batch.add_event(header);
  return true;
}

KeyHashes EventEncoder::key_hashes(const Relation& relation, const RowMessage& row) {
  const bool deleted = row.operation == model::Operation::kDelete;
  render_key(relation, deleted ? row.old_row : row.new_row, row.old_row, key_);
  const std::uint64_t key = hash64(key_.view(), relation.hash_seed);
  return {.key = key, .old_key = old_key_hash(relation, row, key)};
}

void EventEncoder::begin_read(const ReadInfo& info,
                              const Relation& relation,
                              model::EventBatch& batch) {
  const std::string id = json::quote(info.snapshot_id);
  char buffer[16];
  char* end = put_base32(buffer, static_cast<std::uint64_t>(info.snapshot_time.value / 1000), 10);
  id_head_ = R"({"id":")";
  id_head_.append(buffer, end);
  time_text_ = format_rfc3339(info.read_time);
  read_tail_ = format(":read:{}", std::string_view(id).substr(1, id.size() - 2));
  metadata_head_ = format(R"(,"metadata":{{"lsn":"{}","snapshot":true,"snapshot_id":{},"chunk":{},)"
                          R"("snapshot_progress":{{"total":{},"completed":)",
                          to_string(info.high),
                          id,
                          info.chunk,
                          info.rows_total);
  // The hash that ids hold covers the snapshot and the table by its seeds.
  read_seeds_[0] = hash64(info.snapshot_id, relation.hash_seed);
  read_seeds_[1] = hash64(info.snapshot_id, ~relation.hash_seed);
  read_table_ = batch.add_table(relation.full_name());
}

bool EventEncoder::encode_read(const Relation& relation,
                               const RowMessage& row,
                               std::string_view ctid,
                               std::uint64_t completed,
                               model::EventBatch& batch) {
  if (!passes(relation, row)) {
    return false;
  }
  const KeyHashes hashes = key_hashes(relation, row);
  const std::string_view key = key_.view();
  const std::string_view envelope =
      relation.envelope[static_cast<std::size_t>(model::Operation::kRead)];
  json::TextBuffer& out = batch.text();
  char* cursor = out.reserve(256 + relation.name_prefix.size() + read_tail_.size() + ctid.size() +
                             envelope.size() + (json::kEscapeGrowth + 1) * key.size());
  cursor = put(cursor, id_head_);
  for (const std::uint64_t seed : read_seeds_) {
    const std::uint64_t row_seed = ctid.empty() ? seed : hash64(ctid, seed);
    cursor = put_base32(cursor, hash64(key, row_seed) >> 24U, 8);
  }
  cursor = put_name(cursor, relation.name_prefix, key);
  cursor = put(cursor, read_tail_);
  if (!ctid.empty()) {
    *cursor++ = ':';
    cursor = put(cursor, ctid);
  }
  cursor = put(cursor, R"(","timestamp":")");
  cursor = put(cursor, time_text_);
  cursor = put(cursor, envelope);
  cursor = put(cursor, key);
  out.commit(put(cursor, R"(,"before":null,"after":)"));
  render_after(relation, row, out);
  cursor = out.reserve(metadata_head_.size() + 32);
  cursor = put(cursor, metadata_head_);
  cursor = put_number(cursor, completed);
  out.commit(put(cursor, "}}}\n"));
  batch.add_event(model::EventHeader{.table = read_table_,
                                     .operation = model::Operation::kRead,
                                     .flags = model::EventHeader::kSnapshot,
                                     .key_hash = hashes.key,
                                     .old_key_hash = hashes.old_key});
  return true;
}

void EventEncoder::open_barrier(const Line& line, json::TextBuffer& out) const {
  open_line(line, out);
  out.append(R"(,"before":null,"after":null)");
  open_metadata(line.index, out);
}

void EventEncoder::close_barrier(model::EventHeader header, model::EventBatch& batch) {
  batch.text().append("}}\n");
  header.flags = model::EventHeader::kBarrier;
  batch.add_event(header);
}

bool EventEncoder::encode_truncate(Relation& relation,
                                   const TruncateMessage& truncate,
                                   std::uint64_t index,
                                   model::EventBatch& batch) {
  if (!relation.rule->captured || !relation.rule->takes(model::Operation::kTruncate)) {
    return false;
  }
  model::EventHeader header = header_of(relation, model::Operation::kTruncate, index, batch);
  header.key_hash = hash64(kNoKey, relation.hash_seed);
  header.old_key_hash = header.key_hash;
  open_barrier(
      Line{.operation = model::Operation::kTruncate,
           .name_prefix = relation.name_prefix,
           .envelope = relation.envelope[static_cast<std::size_t>(model::Operation::kTruncate)],
           .key = kNoKey,
           .index = index,
           .id_low = row_id_low(index)},
      batch.text());
  batch.text().append(format(
      R"(,"cascade":{},"restart_identity":{})", truncate.cascade, truncate.restart_identity));
  close_barrier(header, batch);
  return true;
}

void EventEncoder::encode_message(const LogicalMessage& message,
                                  std::uint64_t index,
                                  model::EventBatch& batch) {
  const std::string prefix = quote_any(message.prefix);
  const std::string key = format(R"({{"prefix":{}}})", prefix);
  const std::string content = content_member(message.content);
  const std::string envelope =
      format(R"(","source":{},"operation":"message","schema":"","table":"","key":)",
             json::quote(source_id_));
  // A message has a log position of its own, which no commit record shares: that makes its id.
  const std::string name = format("{}:message@{}:", source_id_, to_string(message.lsn));
  model::EventHeader header{.table = batch.add_table(""),
                            .operation = model::Operation::kMessage,
                            .key_hash = hash64(key),
                            .old_key_hash = hash64(key),
                            .commit_lsn = transaction_.commit_lsn.value,
                            .index = index};
  json::TextBuffer& out = batch.text();
  open_line(Line{.operation = model::Operation::kMessage,
                 .name_prefix = name,
                 .envelope = envelope,
                 .key = key,
                 .index = index,
                 .id_low = control_id_low(index, to_string(message.lsn))},
            out);
  out.append(format(R"(,"before":null,"after":{{"prefix":{},{}}})", prefix, content));
  open_metadata(index, out);
  out.append(format(
      R"(,"transactional":{},"message_lsn":"{}")", message.transactional, to_string(message.lsn)));
  out.append("}}\n");
  batch.add_event(header);
}

void EventEncoder::encode_schema_change(Relation& relation,
                                        std::uint64_t index,
                                        model::EventBatch& batch) {
  model::EventHeader header = header_of(relation, model::Operation::kControl, index, batch);
  header.key_hash = hash64(kNoKey, relation.hash_seed);
  header.old_key_hash = header.key_hash;
  json::TextBuffer& out = batch.text();
  open_barrier(
      Line{.operation = model::Operation::kControl,
           .name_prefix = relation.name_prefix,
           .envelope = relation.envelope[static_cast<std::size_t>(model::Operation::kControl)],
           .key = kNoKey,
           .index = index,
           .id_low = control_id_low(index, relation.full_name())},
      out);
  out.append(format(R"(,"control_type":"schema_changed","schema_id":"{}","columns":[)",
                    relation.shape_hash));
  for (std::size_t i = 0; i < relation.shape.columns.size(); ++i) {
    const RelationShape::Column& column = relation.shape.columns[i];
    out.append(format(R"({}{{"name":{},"type_oid":{},"type_modifier":{}}})",
                      i == 0 ? "" : ",",
                      json::quote(column.name),
                      column.type_oid,
                      column.type_modifier));
  }
  out.append(']');
  close_barrier(header, batch);
}

void EventEncoder::encode_control(const ControlFact& fact, model::EventBatch& batch) {
  const std::string envelope =
      format(R"(","source":{},"operation":"control","schema":{},"table":{},"key":)",
             json::quote(source_id_),
             json::quote(fact.schema),
             json::quote(fact.table));
  const std::string table =
      fact.table.empty() ? std::string{} : format("{}.{}", fact.schema, fact.table);
  model::EventHeader header{.table = batch.add_table(table),
                            .operation = model::Operation::kControl,
                            .commit_lsn = transaction_.commit_lsn.value};
  if (!table.empty()) {
    header.key_hash = hash64(kNoKey, hash64(table));
    header.old_key_hash = header.key_hash;
  }
  open_barrier(Line{.operation = model::Operation::kControl,
                    .name_prefix = fact.name_prefix,
                    .envelope = envelope,
                    .key = kNoKey,
                    .index = 0,
                    .id_low = control_id_low(0, fact.name_prefix)},
               batch.text());
  batch.text().append(',');
  batch.text().append(fact.members);
  close_barrier(header, batch);
}

void EventEncoder::encode_gap(Lsn from, Lsn to, model::EventBatch& batch) {
  begin_transaction(TransactionInfo{
      .commit_lsn = to, .commit_time = unix_now(), .xid = 0, .id_time = UnixMicros{0}});
  encode_control(
      ControlFact{.schema = {},
                  .table = {},
                  .name_prefix = format("{}:gap:", source_id_),
                  .members = format(R"("control_type":"gap","from_lsn":"{}","to_lsn":"{}")",
                                    to_string(from),
                                    to_string(to))},
      batch);
}

}  // namespace cdc::postgres
