#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

struct pg_conn;
struct pg_result;

namespace cdc::postgres {

// What the server, or libpq itself, said about a failure.
struct ServerReport {
  std::string sqlstate;  // empty: no answer of a server (network, TLS, libpq)
  std::string message;
  std::string detail;
  std::string hint;
  std::string routine;  // the server's C function: unlike the message it is never translated
};

[[nodiscard]] ServerReport read_report(const pg_result* result);

// The connection must have been set to verbose errors, since that is the only way to learn the
// SQLSTATE of a failed connection attempt. Of several hosts, the last one tried counts: libpq goes
// on to the next host only from failures that say nothing about us.
[[nodiscard]] ServerReport read_report(const pg_conn* connection);

// For read_report(connection): takes libpq's verbose text apart.
[[nodiscard]] ServerReport parse_verbose_report(std::string_view text);

// `doing` says what was attempted; it becomes the start of the message.
[[nodiscard]] Error classify(const ServerReport& report, std::string_view doing);

}  // namespace cdc::postgres
