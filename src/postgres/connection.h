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

// Owns a PGresult with tuples. Views stay valid as long as it lives.
class QueryResult {
 public:
  explicit QueryResult(pg_result* result) noexcept;

  [[nodiscard]] int rows() const noexcept;
  [[nodiscard]] int columns() const noexcept;
  [[nodiscard]] bool is_null(int row, int column) const noexcept;
  [[nodiscard]] std::string_view text(int row, int column) const noexcept;
  [[nodiscard]] std::optional<std::int64_t> integer(int row, int column) const noexcept;
  [[nodiscard]] bool boolean(int row, int column) const noexcept;

 private:
  struct Clear {
    void operator()(pg_result* result) const noexcept;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

struct ConnectOptions {
  std::string dsn;  // URI or keyword/value form, passed to libpq as it is
  bool replication = false;  // replication=database
  std::string application_name = "kaptanto";
  std::chrono::milliseconds timeout{10'000};
};

// One libpq connection with the session settings pinned that the value renderer relies on:
// client_encoding UTF8, datestyle ISO, intervalstyle postgres, timezone UTC, extra_float_digits 1,
// bytea_output hex; search_path empty on ordinary connections.
//
// Errors   kUnavailable (network, server starting up or shutting down), kAuthentication,
//          kPermission, kSourceSetup, kSlotBusy, ...: decided by SQLSTATE, each with a hint.
//          Messages hold no password.
// Thread   One owner. Waits poll the socket and the stop signal together; a stop gives kClosed.
class Connection {
 public:
  [[nodiscard]] static Result<Connection> open(const ConnectOptions& options,
                                               const StopSignal& stop);

  // Runs one statement, or several without parameters; gives the last result.
  [[nodiscard]] Result<QueryResult> query(std::string_view sql,
                                          std::span<const std::string> parameters = {},
                                          std::chrono::milliseconds timeout = std::chrono::seconds{30});

  // The same without waiting, for a loop that has other things to watch: send(), then
  // try_result() whenever fd() is readable until it gives a result.
  [[nodiscard]] Status send(std::string_view sql, std::span<const std::string> parameters = {});
  [[nodiscard]] Result<std::optional<QueryResult>> try_result();

  [[nodiscard]] int fd() const noexcept;
  [[nodiscard]] int server_version() const noexcept;  // 150004
  [[nodiscard]] int backend_pid() const noexcept;
  // For the replication protocol alone.
  [[nodiscard]] pg_conn* raw() const noexcept { return connection_.get(); }
  // The error libpq holds now, classified.
  [[nodiscard]] Error last_error(std::string_view doing) const;

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  explicit Connection(pg_conn* connection, const StopSignal& stop);
  std::unique_ptr<pg_conn, Finish> connection_;
  const StopSignal* stop_ = nullptr;
};

// The DSN without its secrets, for logs: password and every parameter ending in "password" become
// "xxxxx". Text that does not parse is replaced as a whole.
[[nodiscard]] std::string redact_dsn(std::string_view dsn);

}  // namespace cdc::postgres
