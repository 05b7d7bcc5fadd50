#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/sync/thread.h"

struct pg_conn;
struct pg_result;

namespace cdc::postgres {

// Owns a PGresult. Views stay valid as long as it lives. Rows and columns count from 0.
class QueryResult {
 public:
  explicit QueryResult(pg_result* result) noexcept;

  [[nodiscard]] int rows() const noexcept;
  [[nodiscard]] int columns() const noexcept;
  [[nodiscard]] bool is_null(int row, int column) const noexcept;
  [[nodiscard]] std::string_view text(int row, int column) const noexcept;
  [[nodiscard]] std::optional<std::int64_t> integer(int row, int column) const noexcept;
  [[nodiscard]] bool boolean(int row, int column) const noexcept;

  [[nodiscard]] const pg_result* raw() const noexcept { return result_.get(); }

 private:
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };

  std::unique_ptr<pg_result, Clear> result_;
};

struct ConnectOptions {
  std::string dsn;                            // URI or keyword/value form, passed to libpq as it is
  bool replication = false;                   // replication=database
  std::string application_name = "kaptanto";  // unless the DSN gives one
  // For each host of the DSN, unless the DSN has a connect_timeout.
  std::chrono::milliseconds timeout{10'000};
};

// One libpq connection with the session settings pinned that the value renderer relies on:
// client_encoding UTF8 (SQL_ASCII in a database of that encoding), datestyle ISO, intervalstyle
// postgres, timezone UTC, extra_float_digits 1, bytea_output hex, and an empty search_path, so that
// regclass and its like print the same qualified name in the stream as in a query.
//
// Errors   kUnavailable (network, server starting up or shutting down), kAuthentication,
//          kPermission, kSourceSetup, kSlotBusy, ...: decided by SQLSTATE, each with a hint.
//          kConfigInvalid for a DSN that does not parse. Messages hold no password.
// Bounds   open() gives up after its timeout times the number of hosts. A host that drops packets
//          is left for the next after the timeout; one that accepts and then says nothing uses up
//          the whole time. Looking up a host name waits for the resolver's own timeouts.
// Thread   One owner. Waits poll the socket and the stop signal together; a stop gives kClosed.
// Lifetime `stop` outlives the connection. After an error other than the server's answer to a
//          statement the connection is of no further use: open another one.
class Connection {
 public:
  [[nodiscard]] static Result<Connection> open(const ConnectOptions& options,
                                               const StopSignal& stop);

  // Runs one statement, or several without parameters; gives the last result. Parameters, as text,
  // are not possible on a replication connection. On a timeout the connection is cut, since the
  // server may still be busy with the statement.
  [[nodiscard]] Result<QueryResult> query(std::string_view sql,
                                          std::span<const std::string> parameters = {},
                                          std::chrono::milliseconds timeout = std::chrono::seconds{
                                              30});

  // The same without waiting, for a loop that has other things to watch: send(), then
  // try_result() whenever fd() is readable until it gives a result. A statement larger than the
  // socket's buffer (some 100 kB) may wait until the next try_result(), so keep those to query().
  [[nodiscard]] Status send(std::string_view sql, std::span<const std::string> parameters = {});
  [[nodiscard]] Result<std::optional<QueryResult>> try_result();

  [[nodiscard]] int fd() const noexcept;
  [[nodiscard]] int server_version() const noexcept;  // 150004
  [[nodiscard]] int backend_pid() const noexcept;
  [[nodiscard]] std::string user() const;

  // For the replication protocol alone.
  [[nodiscard]] pg_conn* raw() const noexcept { return connection_.get(); }

  // The error libpq holds now, classified.
  [[nodiscard]] Error last_error(std::string_view doing) const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };

  explicit Connection(pg_conn* connection, const StopSignal& stop);
  [[nodiscard]] Status finish_connecting(std::chrono::milliseconds timeout);
  [[nodiscard]] std::string_view client_encoding() const;
  [[nodiscard]] Status pin_settings(std::chrono::milliseconds timeout);

  std::unique_ptr<pg_conn, Finish> connection_;
  const StopSignal* stop_ = nullptr;
  std::optional<QueryResult> pending_;  // of the statement under way
};

// The DSN without its secrets, for logs: password and every parameter ending in "password" become
// "xxxxx". Text that does not parse is replaced as a whole.
[[nodiscard]] std::string redact_dsn(std::string_view dsn);

}  // namespace cdc::postgres
