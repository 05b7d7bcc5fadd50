// Proves what our client makes of each end a call can have.
#include "http/client.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/sync/thread.h"
#include "base/unique_handle.h"
#include "http/server.h"

namespace cdc::http {
namespace {

using namespace std::chrono_literals;

// Accepts one connection, reads a little, and says `answer`, whatever it was asked.
class Impostor {
 public:
  explicit Impostor(std::string answer)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_.get(), generic, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener_.get(), generic, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_.start("impostor", [this] { serve(); });
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void serve() const {
    const UniqueFd client{::accept(listener_.get(), nullptr, nullptr)};
    char buffer[4096];
    static_cast<void>(::recv(client.get(), buffer, sizeof buffer, 0));
    static_cast<void>(::send(client.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL));
    if (answer_.empty()) {  // silent until the other side has had enough
      static_cast<void>(::recv(client.get(), buffer, sizeof buffer, 0));
    }
  }

  UniqueFd listener_;
  std::string answer_;
  std::uint16_t port_ = 0;
  Thread thread_;
};

Errc error_of(const Impostor& impostor, std::chrono::milliseconds timeout = 10s) {
  const auto reply = call({.port = impostor.port(), .timeout = timeout});
  EXPECT_FALSE(reply.has_value());
  EXPECT_TRUE(reply.error().message.contains(format("127.0.0.1:{}", impostor.port())))
      << reply.error().message;
  return reply.error().code;
}

TEST(Call, BringsStatusAndBody) {
  Router router;
  router.add(Method::kGet, "/large", [](const Request&) {
    Response response;
    response.body = std::string(5'000'000, 'x');
    return response;
  });
  router.add(Method::kPost, "/{word}", [](const Request& request) {
    Response response = error_response(503, request.parameter, request.body);
    return response;
  });
  const auto server = Server::listen({}, std::move(router)).value();
  server->start();
  const auto large = call({.port = server->port(), .target = "/large"});
  ASSERT_TRUE(large.has_value()) << large.error().message;
  EXPECT_EQ(large->status, 200U);
  EXPECT_EQ(large->body.size(), 5'000'000U);
  const auto posted = call(
      {.port = server->port(), .method = Method::kPost, .target = "/a%2Fb", .body = "{\"c\":1}"});
  ASSERT_TRUE(posted.has_value()) << posted.error().message;
  EXPECT_EQ(posted->status, 503U);
  EXPECT_EQ(posted->body,
            "{\"error\":{\"code\":\"a/b\",\"message\":\"{\\\"c\\\":1}\",\"hint\":\"\"}}\n");
}

TEST(Call, NamesWhereNobodyAnswers) {
  const std::uint16_t port = Server::listen({}, {}).value()->port();  // free again
  const auto reply = call({.port = port});
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Errc::kUnavailable);
  EXPECT_TRUE(reply.error().message.starts_with(format("127.0.0.1:{}: ", port)));
  EXPECT_EQ(call({.address = "nowhere", .port = 1}).error().code, Errc::kInvalidArgument);
}

TEST(Call, ToleratesNoNonsense) {
  EXPECT_EQ(error_of(Impostor("SSH-2.0-OpenSSH_9.2\r\n\r\n")), Errc::kProtocol);
  EXPECT_EQ(error_of(Impostor("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")),
            Errc::kUnavailable);
  EXPECT_EQ(error_of(Impostor("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")),
            Errc::kLimit);
  EXPECT_EQ(error_of(Impostor(""), 100ms), Errc::kUnavailable);
}

TEST(ErrorResponse, HasTheStatusOfItsCode) {
  EXPECT_EQ(error_response(make_error(Errc::kNotFound, "m")).status, 404U);
  EXPECT_EQ(error_response(make_error(Errc::kInvalidArgument, "m")).status, 409U);
  EXPECT_EQ(error_response(make_error(Errc::kUnavailable, "m")).status, 503U);
  EXPECT_EQ(error_response(make_error(Errc::kIo, "m")).status, 500U);
  EXPECT_EQ(error_response(make_error(Errc::kIo, "a\"b", "h")).body,
            "{\"error\":{\"code\":\"io\",\"message\":\"a\\\"b\",\"hint\":\"h\"}}\n");
}

}  // namespace
}  // namespace cdc::http
