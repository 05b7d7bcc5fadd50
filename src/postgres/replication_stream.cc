#include "postgres/replication_stream.h"

#include <bit>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <libpq-fe.h>
#include <openssl/ssl.h>

#include "base/clock.h"
#include "base/format.h"
#include "expr/table_pattern.h"
#include "postgres/internal/snapshot_sql.h"
#include "postgres/server_error.h"
#include "postgres/wire_reader.h"

namespace cdc::postgres {

namespace {

constexpr std::int64_t kEpochOffsetMicros = 946'684'800'000'000;  // 2000-01-01
constexpr std::chrono::seconds kStartTimeout{30};

std::string start_command(const StreamOptions& options) {
  // Protocol 2 is what every supported server speaks; it is needed for streaming alone.
  std::string command =
      format("START_REPLICATION SLOT {} LOGICAL {} (proto_version '{}', publication_names {}",
             expr::quote_identifier(options.slot),
             to_string(options.start),
             options.streaming ? 2 : 1,
             internal::quote_literal(expr::quote_identifier(options.publication)));
  if (options.streaming) {
    command += ", streaming 'on'";
  }
  if (options.messages) {
    command += ", messages 'true'";
  }
  return command + ")";
}

// Reading after pauses pays (capture/read_pace.h) while a round trip is short against a pause.
constexpr std::uint32_t kNearMicros = 1'000;
// Smaller ones stall: a segment of the loopback device has 64 KiB, a wide row takes a part of it,
// and a window that is almost closed waits for a timer.
constexpr int kLoopbackReceiveBytes = 128 << 10;

// One reading takes so much and a read more.
constexpr std::uint64_t kReadBytes = 4U << 20U;
constexpr std::size_t kKeepBytes = 2 * kReadBytes;
// Less than this is not worth a read: we have caught up with the server, and what it writes now is
// better left to collect (capture/read_pace.h). The first read is excepted: it only makes room for
// what waits at the other end.
constexpr std::uint64_t kLeanBytes = 8U << 10U;

bool is_loopback(int fd) noexcept {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) {
    return false;
  }
  if (peer.ss_family == AF_INET) {
    const auto* address = reinterpret_cast<const sockaddr_in*>(&peer);
    return (ntohl(address->sin_addr.s_addr) >> 24U) == 127;
  }
  return peer.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&peer)->sin6_addr);
}

// With a server on this host and cubic, the usual congestion control, the window must close for its
// messages to collect. BBR, which both ends have if we have it, does better without.
void prepare_loopback(int fd) noexcept {
  char control[16] = {};
  socklen_t size = sizeof control - 1;
  if (is_loopback(fd) && ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, &size) == 0 &&
      std::string_view(control) != "bbr") {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kLoopbackReceiveBytes, sizeof kLoopbackReceiveBytes);
  }
}

bool is_near_server(int fd) noexcept {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX) {
    return true;
  }
  tcp_info info{};
  size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_rtt <= kNearMicros;
}

// Waits until the socket is readable. False: the deadline passed.
Result<bool> wait_readable(int fd, const StopSignal& stop, MonotonicTime deadline) {
  pollfd pollers[] = {{fd, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - monotonic_now());
  const int ready = ::poll(pollers, 2, left.count() > 0 ? static_cast<int>(left.count()) : 0);
  if (stop.requested()) {
    return fail(Errc::kClosed, "stopping");
  }
  return ready > 0 || left.count() > 0;
}

}  // namespace

Result<ReplicationStream> ReplicationStream::start(Connection connection,
                                                   const StreamOptions& options,
                                                   const StopSignal& stop) {
  ReplicationStream stream{std::move(connection)};
  pg_conn* raw = stream.connection_.raw();
  stream.near_ = is_near_server(PQsocket(raw));
  prepare_loopback(PQsocket(raw));
  const std::string command = start_command(options);
  if (PQsetnonblocking(raw, 1) != 0 || PQsendQuery(raw, command.c_str()) != 1) {
    return fail(stream.connection_.last_error("start streaming"));
  }
  const MonotonicTime deadline = monotonic_now() + kStartTimeout;
  while (PQflush(raw) == 1 || PQisBusy(raw) == 1) {
    CDC_ASSIGN(const bool in_time, wait_readable(PQsocket(raw), stop, deadline));
    if (!in_time) {
      return fail(Errc::kUnavailable, "the server does not answer START_REPLICATION");
    }
    if (PQconsumeInput(raw) == 0) {
      return fail(stream.connection_.last_error("start streaming"));
    }
  }
  PGresult* result = PQgetResult(raw);
  const bool started = PQresultStatus(result) == PGRES_COPY_BOTH;
  if (started) {
    PQclear(result);
    return stream;
  }
  Error error = classify(read_report(result), format("stream from slot \"{}\"", options.slot));
  PQclear(result);
  return fail(std::move(error));
}

// With TLS, of ciphertext.
std::uint64_t ReplicationStream::unread_bytes() const noexcept {
  int bytes = 0;
  return ::ioctl(connection_.fd(), FIONREAD, &bytes) == 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

// The rest of a TLS record of which libpq took a part. No poll() tells of it.
bool ReplicationStream::holds_decrypted() const noexcept {
  const auto* tls = static_cast<const SSL*>(PQsslStruct(connection_.raw(), "OpenSSL"));
  return tls != nullptr && SSL_pending(tls) > 0;
}

bool ReplicationStream::readable() const noexcept {
  pollfd poller{connection_.fd(), POLLIN, 0};
  return holds_decrypted() || ::poll(&poller, 1, 0) > 0;
}

// Takes the messages out of libpq as it goes, so that its buffer and each of its reads stay small.
// A server that is sending must not be chased for its last bytes.
Result<ReplicationStream::Reading> ReplicationStream::read() {
  messages_.resize(0);
  taken_ = 0;
  if (messages_.capacity() > kKeepBytes) {
    messages_ = {};
  }
  Reading reading;
  bool more = !ended_ && readable();
  for (int turn = 1; more; ++turn) {
    if (PQconsumeInput(connection_.raw()) == 0) {
      return fail(connection_.last_error("read the stream"));
    }
    CDC_ASSIGN(const std::uint64_t bytes, take_messages());
    reading.bytes += bytes;
    reading.emptied = reading.bytes < kReadBytes;
    const std::uint64_t least = turn == 1 ? 1 : kLeanBytes;
    more = reading.emptied && !ended_ && (holds_decrypted() || unread_bytes() >= least);
  }
  return reading;
}

// Everything whole in libpq's buffer.
Result<std::uint64_t> ReplicationStream::take_messages() {
  const std::size_t before = messages_.size();
  for (;;) {
    char* memory = nullptr;
    const int size = PQgetCopyData(connection_.raw(), &memory, 1);
    if (size == 0) {
      return messages_.size() - before;
    }
    if (size == -1) {
      CDC_TRY(end_of_copy());
      return messages_.size() - before;
    }
    if (size < 0) {
      return fail(connection_.last_error("read the stream"));
    }
    const auto length = static_cast<std::uint32_t>(size);
    messages_.append(reinterpret_cast<const char*>(&length), sizeof length);
    messages_.append(memory, length);
    PQfreemem(memory);
  }
}

// The server shuts down, or it reports an error as the command's result.
Status ReplicationStream::end_of_copy() {
  ended_ = true;
  PGresult* result = PQgetResult(connection_.raw());
  if (PQresultStatus(result) != PGRES_FATAL_ERROR) {
    PQclear(result);
    return {};
  }
  Error error = classify(read_report(result), "read the stream");
  PQclear(result);
  return fail(std::move(error));
}

Result<ReplicationStream::Frame> ReplicationStream::next() {
  if (taken_ == messages_.size()) {
    return Frame{.kind = ended_ ? Kind::kEnd : Kind::kNothing};
  }
  std::uint32_t size = 0;
  std::memcpy(&size, messages_.data() + taken_, sizeof size);
  const char* memory = messages_.data() + taken_ + sizeof size;
  taken_ += sizeof size + size;
  bytes_taken_ += size;
  WireReader reader{std::string_view(memory, size)};
  const auto tag = static_cast<char>(reader.u8());
  if (tag == 'w') {
    // Start, end and send time: the positions of data are those of its transaction.
    static_cast<void>(reader.bytes(24));
    const std::string_view message = reader.bytes(reader.left());
    if (reader.ok()) {
      Frame frame;
      frame.kind = Kind::kData;
      frame.message = message;
      return frame;
    }
  } else if (tag == 'k') {
    Frame frame;
    frame.kind = Kind::kKeepalive;
    frame.wal_end = Lsn{reader.u64()};
    static_cast<void>(reader.u64());
    frame.reply_requested = reader.u8() != 0;
    if (reader.ok()) {
      return frame;
    }
  }
  return fail(Errc::kProtocol, format("the server sent a malformed replication frame '{}'", tag));
}

Status ReplicationStream::send_status(const Report& report) {
  // 'r', written, flushed, applied, clock, reply wanted. Applied equals flushed: what is durable
  // here is as good as applied for a synchronous standby's purposes.
  char message[34];
  message[0] = 'r';
  char* cursor = message + 1;
  const auto now = static_cast<std::uint64_t>(unix_now().value - kEpochOffsetMicros);
  for (const std::uint64_t value :
       {report.received.value, report.durable.value, report.durable.value, now}) {
    const std::uint64_t wire = std::byteswap(value);
    std::memcpy(cursor, &wire, sizeof wire);
    cursor += sizeof wire;
  }
  *cursor = report.reply_wanted ? 1 : 0;
  if (PQputCopyData(connection_.raw(), message, sizeof message) < 0) {
    return fail(connection_.last_error("send a status"));
  }
  return flush();
}

Status ReplicationStream::flush() {
  const int left = PQflush(connection_.raw());
  if (left < 0) {
    return fail(connection_.last_error("send a status"));
  }
  wants_write_ = left == 1;
  return {};
}

}  // namespace cdc::postgres
