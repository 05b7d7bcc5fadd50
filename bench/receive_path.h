#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace cdc::bench {

// Where to connect. Trust authentication and no TLS: the bench runs against its own server.
struct ServerAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 5432;
  std::string user = "postgres";
  std::string database = "bench";
};

// One replication connection, seen as "take what the socket holds" and "next whole message".
// Keeping the two apart is what lets a caller choose how much it reads before it looks at it.
//
// Thread    One owner.
// Lifetime  A message stays valid until the next call of fill() or next_message().
class ReceivePath {
 public:
  ReceivePath() = default;
  ReceivePath(const ReceivePath&) = delete;
  ReceivePath& operator=(const ReceivePath&) = delete;
  ReceivePath(ReceivePath&&) = delete;
  ReceivePath& operator=(ReceivePath&&) = delete;
  virtual ~ReceivePath() = default;

  // Sends the replication command and waits for the server to switch to the copy protocol.
  [[nodiscard]] virtual Status start(const std::string& command) = 0;
  // Whether fill() is worth a call. libpq does not say how much a read took, so that path asks
  // poll(); a path of our own learns it from the read itself and always says yes.
  [[nodiscard]] virtual bool may_have_more() const noexcept = 0;
  // One read of the socket without waiting; false when it was known to be empty.
  [[nodiscard]] virtual Result<bool> fill() = 0;
  // The next complete CopyData body, or nothing until more is read.
  [[nodiscard]] virtual Result<std::optional<std::span<const std::uint8_t>>> next_message() = 0;
  [[nodiscard]] virtual Status send(std::span<const std::uint8_t> body) = 0;
  [[nodiscard]] virtual int fd() const noexcept = 0;
  [[nodiscard]] virtual int backend_pid() const noexcept = 0;
};

// Through libpq: PQconsumeInput and PQgetCopyData, as any ordinary client does.
[[nodiscard]] Result<std::unique_ptr<ReceivePath>> open_libpq_path(const ServerAddress& server);

// Our own reader: recv() of up to `read_bytes` into one buffer, messages parsed in place.
[[nodiscard]] Result<std::unique_ptr<ReceivePath>> open_socket_path(const ServerAddress& server,
                                                                    std::size_t read_bytes,
                                                                    int segment_bytes);

}  // namespace cdc::bench
