#include "postgres/pgoutput_protocol.h"

#include "postgres/wire_reader.h"

namespace cdc::postgres {

namespace {

// PostgreSQL counts microseconds from 2000-01-01T00:00:00Z.
constexpr std::int64_t kEpochOffsetMicros = 946'684'800'000'000;

UnixMicros read_time(WireReader& reader) noexcept {
  // Unsigned addition: a hostile value must wrap, not overflow.
  return UnixMicros{
      static_cast<std::int64_t>(reader.u64() + static_cast<std::uint64_t>(kEpochOffsetMicros))};
}

// Skips the type byte and reads the xid that precedes the body inside a streamed block.
WireReader open_body(std::string_view message, bool in_stream, std::uint32_t& xid) noexcept {
  WireReader reader{message};
  static_cast<void>(reader.u8());
  xid = in_stream ? reader.u32() : 0;
  return reader;
}

bool read_tuple(WireReader& reader, std::vector<ColumnData>& row) {
  const std::uint16_t count = reader.u16();
  if (count > reader.left()) {
    return false;
  }
  row.resize(count);
  for (ColumnData& column : row) {
    const char tag = static_cast<char>(reader.u8());
    switch (tag) {
      case 't':
        column.state = ColumnData::State::kText;
        column.text = reader.bytes(reader.u32());
        break;
      case 'n':
      case 'u':
        column.state = tag == 'n' ? ColumnData::State::kNull : ColumnData::State::kUnchanged;
        column.text = {};
        break;
      default:
        // 'b' would be the binary format, which we never ask for.
        return false;
    }
  }
  return reader.ok();
}

void read_commit(WireReader& reader, CommitMessage& out) noexcept {
  static_cast<void>(reader.u8());  // flags, unused by the server
  out.commit_lsn = Lsn{reader.u64()};
  out.end_lsn = Lsn{reader.u64()};
  out.commit_time = read_time(reader);
}

}  // namespace

bool parse_begin(std::string_view message, BeginMessage& out) {
  WireReader reader{message};
  static_cast<void>(reader.u8());
  out.commit_lsn = Lsn{reader.u64()};
  out.commit_time = read_time(reader);
  out.xid = reader.u32();
  return reader.finished();
}

bool parse_commit(std::string_view message, CommitMessage& out) {
  WireReader reader{message};
  static_cast<void>(reader.u8());
  read_commit(reader, out);
  return reader.finished();
}

bool parse_relation(std::string_view message, bool in_stream, RelationMessage& out) {
  WireReader reader = open_body(message, in_stream, out.xid);
  out.oid = reader.u32();
  out.schema = reader.c_string();
  if (out.schema.empty()) {
    out.schema = "pg_catalog";  // the protocol's abbreviation
  }
  out.table = reader.c_string();
  out.replica_identity = static_cast<char>(reader.u8());
  const std::uint16_t count = reader.u16();
  if (count > reader.left()) {
    return false;
  }
  out.columns.resize(count);
  for (RelationColumn& column : out.columns) {
    column.identity = (reader.u8() & 1U) != 0;
    column.name = reader.c_string();
    column.type_oid = reader.u32();
    column.type_modifier = static_cast<std::int32_t>(reader.u32());
  }
  return reader.finished();
}

bool parse_row(std::string_view message, bool in_stream, RowMessage& out) {
  if (message.empty()) {
    return false;
  }
  WireReader reader = open_body(message, in_stream, out.xid);
  out.relation_oid = reader.u32();
  out.has_old = false;
  out.old_is_key = false;
  out.new_row.clear();
  out.old_row.clear();
  char tag = static_cast<char>(reader.u8());
  switch (static_cast<MessageType>(message.front())) {
    case MessageType::kInsert:
      out.operation = model::Operation::kInsert;
      break;
    case MessageType::kUpdate:
      out.operation = model::Operation::kUpdate;
      break;
    case MessageType::kDelete:
      out.operation = model::Operation::kDelete;
      break;
    default:
      return false;
  }
  if (out.operation != model::Operation::kInsert && (tag == 'K' || tag == 'O')) {
    out.has_old = true;
    out.old_is_key = tag == 'K';
    if (!read_tuple(reader, out.old_row)) {
      return false;
    }
    if (out.operation == model::Operation::kDelete) {
      return reader.finished();
    }
    tag = static_cast<char>(reader.u8());
  }
  if (tag != 'N' || out.operation == model::Operation::kDelete) {
    return false;
  }
  return read_tuple(reader, out.new_row) && reader.finished();
}

bool parse_truncate(std::string_view message, bool in_stream, TruncateMessage& out) {
  WireReader reader = open_body(message, in_stream, out.xid);
  const std::uint32_t count = reader.u32();
  const std::uint8_t options = reader.u8();
  out.cascade = (options & 1U) != 0;
  out.restart_identity = (options & 2U) != 0;
  if (count > reader.left() / sizeof(std::uint32_t)) {
    return false;
  }
  out.relation_oids.resize(count);
  for (std::uint32_t& oid : out.relation_oids) {
    oid = reader.u32();
  }
  return reader.finished();
}

bool parse_message(std::string_view message, bool in_stream, LogicalMessage& out) {
  WireReader reader = open_body(message, in_stream, out.xid);
  out.transactional = (reader.u8() & 1U) != 0;
  out.lsn = Lsn{reader.u64()};
  out.prefix = reader.c_string();
  out.content = reader.bytes(reader.u32());
  return reader.finished();
}

bool parse_stream_start(std::string_view message, StreamStartMessage& out) {
  WireReader reader{message};
  static_cast<void>(reader.u8());
  out.xid = reader.u32();
  out.first_segment = reader.u8() == 1;
  return reader.finished() && out.xid != 0;
}

bool parse_stream_commit(std::string_view message, StreamCommitMessage& out) {
  WireReader reader{message};
  static_cast<void>(reader.u8());
  out.xid = reader.u32();
  read_commit(reader, out.commit);
  return reader.finished();
}

bool parse_stream_abort(std::string_view message, StreamAbortMessage& out) {
  WireReader reader{message};
  static_cast<void>(reader.u8());
  out.xid = reader.u32();
  out.subxid = reader.u32();
  return reader.finished();
}

std::uint32_t stream_xid(std::string_view message) noexcept {
  WireReader reader{message};
  static_cast<void>(reader.u8());
  return reader.u32();
}

}  // namespace cdc::postgres
