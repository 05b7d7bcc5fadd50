#include <memory>
#include <optional>
#include <span>
#include <string>

#include <poll.h>

#include <libpq-fe.h>

#include "base/format.h"
#include "bench/receive_path.h"

namespace cdc::bench {
namespace {

struct Finish {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};

struct FreeMessage {
  void operator()(char* message) const noexcept { PQfreemem(message); }
};

class LibpqPath final : public ReceivePath {
 public:
  explicit LibpqPath(PGconn* connection) : connection_(connection) {}

  Status start(const std::string& command) override {
    PGresult* result = PQexec(connection_.get(), command.c_str());
    const bool copying = PQresultStatus(result) == PGRES_COPY_BOTH;
    PQclear(result);
    if (!copying) {
      return failure("START_REPLICATION");
    }
    return {};
  }

  bool may_have_more() const noexcept override {
    pollfd item{.fd = fd(), .events = POLLIN, .revents = 0};
    return poll(&item, 1, 0) > 0;
  }

  Result<bool> fill() override {
    if (PQconsumeInput(connection_.get()) == 0) {
      return failure("reading");
    }
    return true;
  }

  Result<std::optional<std::span<const std::uint8_t>>> next_message() override {
    char* body = nullptr;
    const int length = PQgetCopyData(connection_.get(), &body, 1);
    message_.reset(body);
    if (length > 0) {
      return std::span(reinterpret_cast<const std::uint8_t*>(body),
                       static_cast<std::size_t>(length));
    }
    if (length == 0) {
      return std::nullopt;
    }
    return failure("the stream ended");
  }

  Status send(std::span<const std::uint8_t> body) override {
    const char* data = reinterpret_cast<const char*>(body.data());
    if (PQputCopyData(connection_.get(), data, static_cast<int>(body.size())) <= 0 ||
        PQflush(connection_.get()) < 0) {
      return failure("sending the status");
    }
    return {};
  }

  int fd() const noexcept override { return PQsocket(connection_.get()); }

  int backend_pid() const noexcept override { return PQbackendPID(connection_.get()); }

 private:
  std::unexpected<Error> failure(const char* doing) const {
    return fail(Errc::kUnavailable,
                cdc::format("{}: {}", doing, PQerrorMessage(connection_.get())));
  }

  std::unique_ptr<PGconn, Finish> connection_;
  std::unique_ptr<char, FreeMessage> message_;
};

}  // namespace

Result<std::unique_ptr<ReceivePath>> open_libpq_path(const ServerAddress& server) {
  const std::string parameters = cdc::format(
      "host={} port={} user={} dbname={} replication=database sslmode=disable "
      "gssencmode=disable application_name=counting_client",
      server.host,
      server.port,
      server.user,
      server.database);
  auto* connection = PQconnectdb(parameters.c_str());
  auto path = std::make_unique<LibpqPath>(connection);
  if (PQstatus(connection) != CONNECTION_OK) {
    return fail(Errc::kUnavailable, cdc::format("connecting: {}", PQerrorMessage(connection)));
  }
  return path;
}

}  // namespace cdc::bench
