#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "model/operation.h"

// Purpose     Parses the messages of PostgreSQL's pgoutput plugin, protocol versions 1 and 2, text
//             format. It only takes messages apart; what they mean is transaction_decoder.h's task.
// Layout      One byte of type, then big-endian integers, zero-terminated strings and tuples.
//             Inside a streamed block the messages R Y I U D T M carry the xid of their
//             (sub)transaction as four bytes behind the type. A tuple is a 16-bit column count,
//             then per column 'n' (null), 'u' (unchanged TOAST value, not sent) or 't' with a
//             32-bit length and text.
// Checksum    None; TCP and TLS have theirs.
// Limits      A message is at most 1 GB (PostgreSQL's own bound). A tuple has at most 65,535
//             columns, each of which takes a byte of the message, so memory is bounded by the
//             message.
// Endings     Truncated, overlong or otherwise malformed: the parse function returns false and its
//             output is unspecified. Unknown types are the caller's to refuse.
// Invariants  P1 no read outside the message. P2 every byte of a message is accounted for.
// Thread      Pure functions. Lifetime: every view points into the message.
// Example     42 00000000 01779318 0002A1B2C3D4E5F6 000002DB
//             Begin: commit LSN 0/1779318, commit time, xid 731 (golden:
//             pgoutput_protocol_test.cc).
// Spec        PostgreSQL documentation, chapter "Logical Replication Message Formats".
namespace cdc::postgres {

enum class MessageType : char {
  kBegin = 'B',
  kCommit = 'C',
  kOrigin = 'O',
  kRelation = 'R',
  kType = 'Y',
  kInsert = 'I',
  kUpdate = 'U',
  kDelete = 'D',
  kTruncate = 'T',
  kMessage = 'M',
  kStreamStart = 'S',
  kStreamStop = 'E',
  kStreamCommit = 'c',
  kStreamAbort = 'A',
};

struct BeginMessage {
  Lsn commit_lsn;
  UnixMicros commit_time;
  std::uint32_t xid = 0;
};

struct CommitMessage {
  Lsn commit_lsn;
  Lsn end_lsn;  // first position behind the commit record: what may be acknowledged
  UnixMicros commit_time;
};

struct RelationColumn {
  bool identity = false;  // part of the replica identity (every column under FULL)
  std::string_view name;
  std::uint32_t type_oid = 0;
  std::int32_t type_modifier = -1;
};

struct RelationMessage {
  std::uint32_t xid = 0;  // in a stream
  std::uint32_t oid = 0;
  std::string_view schema;
  std::string_view table;
  char replica_identity = 'd';
  std::vector<RelationColumn> columns;
};

struct ColumnData {
  enum class State : char {
    kNull = 'n',
    kUnchanged = 'u',
    kText = 't'
  };
  State state = State::kNull;
  std::string_view text;
};

// Insert, update or delete. Reused from message to message for its vectors.
struct RowMessage {
  model::Operation operation = model::Operation::kInsert;
  std::uint32_t xid = 0;  // in a stream
  std::uint32_t relation_oid = 0;
  bool has_old = false;
  bool old_is_key = false;  // the old tuple holds the identity columns alone
  std::vector<ColumnData> old_row;
  std::vector<ColumnData> new_row;  // empty for a delete
};

struct TruncateMessage {
  std::uint32_t xid = 0;
  bool cascade = false;
  bool restart_identity = false;
  std::vector<std::uint32_t> relation_oids;
};

struct LogicalMessage {
  std::uint32_t xid = 0;
  bool transactional = false;
  Lsn lsn;
  std::string_view prefix;
  std::string_view content;
};

struct StreamStartMessage {
  std::uint32_t xid = 0;
  bool first_segment = false;
};

struct StreamCommitMessage {
  std::uint32_t xid = 0;
  CommitMessage commit;
};

struct StreamAbortMessage {
  std::uint32_t xid = 0;
  std::uint32_t subxid = 0;  // equal to xid: the whole transaction
};

// `message` begins with the type byte. False: malformed.
[[nodiscard]] bool parse_begin(std::string_view message, BeginMessage& out);
[[nodiscard]] bool parse_commit(std::string_view message, CommitMessage& out);
[[nodiscard]] bool parse_relation(std::string_view message, bool in_stream, RelationMessage& out);
[[nodiscard]] bool parse_row(std::string_view message, bool in_stream, RowMessage& out);
[[nodiscard]] bool parse_truncate(std::string_view message, bool in_stream, TruncateMessage& out);
[[nodiscard]] bool parse_message(std::string_view message, bool in_stream, LogicalMessage& out);
[[nodiscard]] bool parse_stream_start(std::string_view message, StreamStartMessage& out);
[[nodiscard]] bool parse_stream_commit(std::string_view message, StreamCommitMessage& out);
[[nodiscard]] bool parse_stream_abort(std::string_view message, StreamAbortMessage& out);
// The xid that a message inside a streamed block carries; 0 when it is too short.
[[nodiscard]] std::uint32_t stream_xid(std::string_view message) noexcept;

}  // namespace cdc::postgres
