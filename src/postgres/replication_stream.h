#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "postgres/connection.h"

namespace cdc::postgres {

struct StreamOptions {
  std::string slot;
  std::string publication;
  Lsn start;              // the server starts here or at the slot's own position, if that is later
  bool streaming = true;  // in-progress transactions
  bool messages = false;  // logical messages
};

// The copy-both stream of START_REPLICATION: frames in, status out. What the frames hold is the
// decoder's business.
//
// Thread    One owner, which polls fd() itself; no call here waits, but start().
// Errors    As Connection's; a stream that reported one is finished.
// Spec      PostgreSQL documentation, chapter "Streaming Replication Protocol".
class ReplicationStream {
 public:
  [[nodiscard]] static Result<ReplicationStream> start(Connection connection,
                                                       const StreamOptions& options,
                                                       const StopSignal& stop);

  enum class Kind : std::uint8_t {
    kNothing,
    kData,
    kKeepalive,
    kEnd
  };

  struct Frame {
    Kind kind = Kind::kNothing;
    std::string_view message;      // kData: the plugin's message, valid until the next read()
    Lsn wal_end;                   // kKeepalive
    bool reply_requested = false;  // kKeepalive
  };

  struct Reading {
    std::uint64_t bytes = 0;  // of whole messages
    bool emptied = true;      // false: more than fits into memory at once
  };

  // Moves what the socket holds into memory. Call when everything read before was taken.
  [[nodiscard]] Result<Reading> read();
  // The next frame in memory.
  [[nodiscard]] Result<Frame> next();

  struct Report {
    Lsn received;
    Lsn durable;
    bool reply_wanted = false;  // the server answers with a keepalive at once
  };

  // Tells the server what was received and what is durable. Buffered when the socket is full: then
  // wants_write() is true until flush() got rid of it.
  [[nodiscard]] Status send_status(const Report& report);
  [[nodiscard]] Status flush();

  [[nodiscard]] bool wants_write() const noexcept { return wants_write_; }

  // The server is on this machine or within a millisecond: reading after pauses pays.
  [[nodiscard]] bool is_near() const noexcept { return near_; }

  [[nodiscard]] int fd() const noexcept { return connection_.fd(); }

  [[nodiscard]] int backend_pid() const noexcept { return connection_.backend_pid(); }

  // All bytes of messages that next() gave.
  [[nodiscard]] std::uint64_t bytes_taken() const noexcept { return bytes_taken_; }

 private:
  explicit ReplicationStream(Connection connection) : connection_(std::move(connection)) {}

  [[nodiscard]] bool readable() const noexcept;
  [[nodiscard]] std::uint64_t unread_bytes() const noexcept;
  [[nodiscard]] bool holds_decrypted() const noexcept;
  [[nodiscard]] Result<std::uint64_t> take_messages();
  [[nodiscard]] Status end_of_copy();

  Connection connection_;
  // What was read: messages one behind the other, each behind its size.
  std::string messages_;
  std::size_t taken_ = 0;  // of messages_
  bool ended_ = false;     // the server ended the copy behind them
  std::uint64_t bytes_taken_ = 0;
  bool wants_write_ = false;
  bool near_ = false;
};

}  // namespace cdc::postgres
