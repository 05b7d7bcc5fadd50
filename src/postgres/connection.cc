#include "postgres/connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "postgres/dsn.h"
#include "postgres/server_error.h"

namespace cdc::postgres {

namespace {

using std::chrono::milliseconds;

enum class Wait : std::uint8_t {
  kReady,
  kTimeout,
  kStopped
};

Wait wait_for(int fd, short events, const StopSignal& stop, MonotonicTime deadline) {
  while (true) {
    if (stop.requested()) {
      return Wait::kStopped;
    }
    const auto left = std::chrono::ceil<milliseconds>(deadline - monotonic_now());
    if (left <= milliseconds{0}) {
      return Wait::kTimeout;
    }
    std::array<pollfd, 2> watched{pollfd{.fd = fd, .events = events, .revents = 0},
                                  pollfd{.fd = stop.fd(), .events = POLLIN, .revents = 0}};
    const auto capped = std::min<milliseconds>(left, std::chrono::hours{1});
    // EINTR and the cap on the wait end in another round.
    if (::poll(watched.data(), watched.size(), static_cast<int>(capped.count())) > 0 &&
        watched[0].revents != 0) {
      return Wait::kReady;
    }
  }
}

std::string in_seconds(milliseconds time) {
  return cdc::format("{:g} s", static_cast<double>(time.count()) / 1000.0);
}

// libpq of this version knows nothing of sslrootcert=system, which newer ones take; and the static
// program's built-in folder is Debian's, so other systems' bundles are looked for by name.
Result<std::string> find_system_certificates() {
  const char* named = std::getenv("SSL_CERT_FILE");  // NOLINT(concurrency-mt-unsafe) never set here
  std::error_code ignored;
  for (const char* path : {named == nullptr ? "" : named,
                           "/etc/ssl/certs/ca-certificates.crt",
                           "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem",
                           "/etc/ssl/cert.pem"}) {
    if (std::filesystem::is_regular_file(path, ignored)) {
      return std::string{path};
    }
  }
  return fail(Errc::kConfigInvalid,
              "sslrootcert=system: no bundle of certificate authorities was found",
              "install the package ca-certificates, or set SSL_CERT_FILE");
}

// The keyword and value arrays of PQconnectStartParams. What stands before `dbname` is a default
// that the DSN may change; what stands after it wins over the DSN.
struct Parameters {
  std::vector<std::pair<std::string, std::string>> pairs;

  void add(std::string keyword, std::string value) {
    pairs.emplace_back(std::move(keyword), std::move(value));
  }
};

Result<Parameters> make_parameters(const ConnectOptions& options,
                                   const Dsn& dsn,
                                   milliseconds timeout_per_host) {
  Parameters parameters;
  parameters.add("fallback_application_name", options.application_name);
  parameters.add("keepalives", "1");
  parameters.add("keepalives_idle", "30");
  parameters.add("keepalives_interval", "10");
  parameters.add("keepalives_count", "3");
  if (dsn.host_count() > 1) {
    // libpq leaves connect_timeout to its blocking calls; this makes the kernel give up on a host
    // that does not answer, so that the next one is tried.
    parameters.add("tcp_user_timeout", std::to_string(timeout_per_host.count()));
  }
  parameters.add("dbname", options.dsn);
  parameters.add("client_encoding", "UTF8");
  if (options.replication) {
    parameters.add("replication", "database");
  }
  if (dsn.get("sslrootcert") == "system") {
    // As in newer versions of libpq: anyone can get a certificate that the system trusts, so it
    // proves nothing unless the host name is checked too.
    if (!dsn.get("sslmode").empty() && dsn.get("sslmode") != "verify-full") {
      return fail(Errc::kConfigInvalid,
                  "sslrootcert=system needs sslmode=verify-full",
                  "set sslmode=verify-full, or name a certificate file");
    }
    CDC_ASSIGN(auto bundle, find_system_certificates());
    parameters.add("sslrootcert", std::move(bundle));
    parameters.add("sslmode", "verify-full");
  }
  return parameters;
}

pg_conn* start_connecting(const Parameters& parameters) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : parameters.pairs) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectStartParams(keywords.data(), values.data(), 1);
}

milliseconds timeout_per_host(const ConnectOptions& options, const Dsn& dsn) {
  const std::string_view text = dsn.get("connect_timeout");
  int seconds = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr int kSecondsMax = 3'600;
  if (fault != std::errc{} || end != text.data() + text.size() || seconds <= 0) {
    return options.timeout;
  }
  return std::chrono::seconds{std::min(seconds, kSecondsMax)};
}

// libpq prints notices to standard error unless told otherwise.
void log_notice(void* /*context*/, const PGresult* result) {
  const ServerReport report = read_report(result);
  log::debug("notice of the server", {{"notice", report.message}, {"sqlstate", report.sqlstate}});
}

struct PinnedSetting {
  std::string_view name;
  std::string_view value;
};

constexpr PinnedSetting kPinnedSettings[] = {
    {"datestyle", "ISO, MDY"},
    {"intervalstyle", "postgres"},
    {"timezone", "UTC"},
    {"extra_float_digits", "1"},
    {"bytea_output", "hex"},
    {"standard_conforming_strings", "on"},
    {"search_path", ""},
    // A connection that is kept for later use must be there then.
    {"idle_session_timeout", "0"},
};

}  // namespace

QueryResult::QueryResult(pg_result* result) noexcept : result_(result) {}

void QueryResult::Clear::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

int QueryResult::rows() const noexcept {
  return PQntuples(result_.get());
}

int QueryResult::columns() const noexcept {
  return PQnfields(result_.get());
}

bool QueryResult::is_null(int row, int column) const noexcept {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view QueryResult::text(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::optional<std::int64_t> QueryResult::integer(int row, int column) const noexcept {
  const std::string_view digits = text(row, column);
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (is_null(row, column) || fault != std::errc{} || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

bool QueryResult::boolean(int row, int column) const noexcept {
  return text(row, column) == "t";
}

void Connection::Finish::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

Connection::Connection(pg_conn* connection, const StopSignal& stop)
    : connection_(connection), stop_(&stop) {}

Result<Connection> Connection::open(const ConnectOptions& options, const StopSignal& stop) {
  CDC_ASSIGN(const Dsn dsn, Dsn::parse(options.dsn));
  const milliseconds per_host = timeout_per_host(options, dsn);
  CDC_ASSIGN(const Parameters parameters, make_parameters(options, dsn, per_host));
  pg_conn* started = start_connecting(parameters);
  if (started == nullptr) {
    return fail(Errc::kInternal, "connect to PostgreSQL: out of memory");
  }
  Connection connection{started, stop};
  PQsetErrorVerbosity(started, PQERRORS_VERBOSE);
  PQsetNoticeReceiver(started, log_notice, nullptr);
  const auto total = per_host * static_cast<std::int64_t>(dsn.host_count());
  CDC_TRY(connection.finish_connecting(total));
  CDC_TRY(connection.pin_settings(per_host));
  return connection;
}

Status Connection::finish_connecting(milliseconds timeout) {
  constexpr std::string_view kDoing = "connect to PostgreSQL";
  if (PQstatus(connection_.get()) == CONNECTION_BAD) {
    return fail(last_error(kDoing));
  }
  const MonotonicTime deadline = monotonic_now() + timeout;
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (state != PGRES_POLLING_OK) {
    if (state == PGRES_POLLING_FAILED) {
      return fail(last_error(kDoing));
    }
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    switch (wait_for(fd(), events, *stop_, deadline)) {
      case Wait::kReady:
        state = PQconnectPoll(connection_.get());
        break;
      case Wait::kStopped:
        return fail(Errc::kClosed, "connect to PostgreSQL: asked to stop");
      case Wait::kTimeout:
        return fail(Errc::kUnavailable,
                    cdc::format("{}: no answer from {} port {} within {}",
                                kDoing,
                                PQhost(connection_.get()),
                                PQport(connection_.get()),
                                in_seconds(timeout)),
                    "check host, port and firewalls");
    }
  }
  if (PQsetnonblocking(connection_.get(), 1) != 0) {
    return fail(last_error(kDoing));
  }
  return {};
}

// A database of encoding SQL_ASCII stores any bytes. Asked for UTF8 the server refuses to send what
// is not UTF-8, which would end the stream for good; the renderer replaces such bytes instead.
std::string_view Connection::client_encoding() const {
  const char* encoding = PQparameterStatus(connection_.get(), "server_encoding");
  return encoding != nullptr && std::string_view(encoding) == "SQL_ASCII" ? "SQL_ASCII" : "UTF8";
}

Status Connection::pin_settings(milliseconds timeout) {
  std::vector<PinnedSetting> settings(std::begin(kPinnedSettings), std::end(kPinnedSettings));
  settings.push_back({"client_encoding", client_encoding()});
  std::string sql = "SELECT ";
  for (const PinnedSetting& setting : settings) {
    sql += cdc::format("{}pg_catalog.set_config('{}', '{}', false)",
                       &setting == settings.data() ? "" : ", ",
                       setting.name,
                       setting.value);
  }
  auto result = query(sql, {}, timeout);
  if (!result) {
    return fail(with_context(std::move(result).error(), "set up the PostgreSQL session"));
  }
  int column = 0;
  for (const PinnedSetting& setting : settings) {
    const std::string_view taken = result->text(0, column++);
    if (taken != setting.value) {
      return fail(Errc::kSourceSetup,
                  cdc::format("set up the PostgreSQL session: {} stayed at '{}', wanted '{}'",
                              setting.name,
                              taken,
                              setting.value),
                  "a connection pooler or proxy may be in the way: use the server itself");
    }
  }
  return {};
}

Result<QueryResult> Connection::query(std::string_view sql,
                                      std::span<const std::string> parameters,
                                      milliseconds timeout) {
  const MonotonicTime deadline = monotonic_now() + timeout;
  CDC_TRY(send(sql, parameters));
  while (true) {
    CDC_ASSIGN(auto result, try_result());
    if (result) {
      return *std::move(result);
    }
    const bool unsent = PQflush(connection_.get()) == 1;
    const auto events = static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN);
    switch (wait_for(fd(), events, *stop_, deadline)) {
      case Wait::kReady:
        break;
      case Wait::kStopped:
        return fail(Errc::kClosed, "query PostgreSQL: asked to stop");
      case Wait::kTimeout:
        ::shutdown(fd(), SHUT_RDWR);
        return fail(Errc::kUnavailable,
                    "query PostgreSQL: no answer within " + in_seconds(timeout),
                    "the server may be overloaded, or the statement waits for a lock");
    }
  }
}

Status Connection::send(std::string_view sql, std::span<const std::string> parameters) {
  pending_.reset();
  const std::string text{sql};
  int sent = 0;
  if (parameters.empty()) {
    sent = PQsendQuery(connection_.get(), text.c_str());
  } else {
    std::vector<const char*> values;
    values.reserve(parameters.size());
    for (const std::string& parameter : parameters) {
      values.push_back(parameter.c_str());
    }
    sent = PQsendQueryParams(connection_.get(),
                             text.c_str(),
                             static_cast<int>(values.size()),
                             nullptr,
                             values.data(),
                             nullptr,
                             nullptr,
                             0);
  }
  if (sent == 0) {
    return fail(last_error("query PostgreSQL"));
  }
  return {};
}

Result<std::optional<QueryResult>> Connection::try_result() {
  constexpr std::string_view kDoing = "query PostgreSQL";
  if (PQconsumeInput(connection_.get()) == 0 || PQflush(connection_.get()) < 0) {
    return fail(last_error(kDoing));
  }
  const auto failed = [](const QueryResult& result) {
    return PQresultStatus(result.raw()) != PGRES_TUPLES_OK &&
           PQresultStatus(result.raw()) != PGRES_COMMAND_OK;
  };
  while (PQisBusy(connection_.get()) == 0) {
    QueryResult next{PQgetResult(connection_.get())};
    if (next.raw() == nullptr) {
      if (!pending_) {
        return fail(Errc::kInternal, "query PostgreSQL: no statement under way");
      }
      QueryResult result = std::move(*pending_);
      pending_.reset();
      if (failed(result)) {
        return fail(classify(read_report(result.raw()), kDoing));
      }
      return result;
    }
    const ExecStatusType status = PQresultStatus(next.raw());
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
      return fail(Errc::kInternal, "query PostgreSQL: the statement starts a copy");
    }
    // The first failure ends the statements behind it; a second report only follows from it.
    if (!pending_ || !failed(*pending_)) {
      pending_ = std::move(next);
    }
  }
  return std::optional<QueryResult>{};
}

int Connection::fd() const noexcept {
  return PQsocket(connection_.get());
}

int Connection::server_version() const noexcept {
  return PQserverVersion(connection_.get());
}

int Connection::backend_pid() const noexcept {
  return PQbackendPID(connection_.get());
}

std::string Connection::user() const {
  return PQuser(connection_.get());
}

Error Connection::last_error(std::string_view doing) const {
  return classify(read_report(connection_.get()), doing);
}

}  // namespace cdc::postgres
