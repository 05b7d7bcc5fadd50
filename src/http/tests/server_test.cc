// Proves over real sockets what the server answers, what it refuses and how, that it keeps and ends
// connections as it should, and that it stops in time.
#include "http/server.h"

#include <cstdio>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/format.h"
#include "http/client.h"
#include "http/tests/raw_connection.h"

namespace cdc::http {
namespace {

using namespace std::chrono_literals;
using testing::RawConnection;

Router echo_router() {
  Router router;
  router.add(Method::kGet, "/hello", [](const Request&) {
    Response response;
    response.content_type = "text/plain";
    response.body = "hello\n";
    return response;
  });
  router.add(Method::kPost, "/echo/{word}", [](const Request& request) {
    Response response;
    response.body = request.parameter + ":" + request.body;
    return response;
  });
  return router;
}

std::unique_ptr<Server> started(ServerOptions options = {}) {
  auto server = Server::listen(options, echo_router());
  EXPECT_TRUE(server.has_value()) << server.error().to_string();
  (*server)->start();
  return std::move(*server);
}

std::string get(std::string_view more = "") {
  return format("GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n", more);
}

std::string post(std::string_view body, std::string_view more = "") {
  return format(
      "POST /echo/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n{}\r\n{}",
      body.size(),
      more,
      body);
}

std::string answer_to(const Server& server, std::string_view request, bool has_body = true) {
  RawConnection connection(server.port());
  connection.send(request);
  return connection.answer(has_body);
}

TEST(Server, AnswersAndKeepsTheConnection) {
  const auto server = started();
  RawConnection connection(server->port());
  for (int i = 0; i < 3; ++i) {
    connection.send(get());
    const std::string answer = connection.answer();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_TRUE(answer.contains("\r\nContent-Type: text/plain\r\n")) << answer;
    EXPECT_TRUE(answer.contains("\r\nX-Content-Type-Options: nosniff\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n\r\nhello\n")) << answer;
  }
  connection.send(post("{}"));
  EXPECT_TRUE(connection.answer().ends_with("\r\n\r\na:{}"));
  connection.send(get("Connection: close\r\n"));
  EXPECT_TRUE(connection.answer().contains("\r\nConnection: close\r\n"));
  EXPECT_TRUE(connection.ends());
}

TEST(Server, AnswersRequestsThatDoNotWaitInOrder) {
  const auto server = started();
  RawConnection connection(server->port());
  connection.send(post("1") + post("2") + get() + post("3"));
  EXPECT_TRUE(connection.answer().ends_with("a:1"));
  EXPECT_TRUE(connection.answer().ends_with("a:2"));
  EXPECT_TRUE(connection.answer().ends_with("hello\n"));
  EXPECT_TRUE(connection.answer().ends_with("a:3"));
}

TEST(Server, TakesARequestByteByByte) {
  const auto server = started();
  RawConnection connection(server->port());
  for (const char c : post("{\"a\":1}")) {
    connection.send(std::string_view(&c, 1));
  }
  EXPECT_TRUE(connection.answer().ends_with("a:{\"a\":1}"));
}

TEST(Server, AnswersHeadWithoutABody) {
  const auto server = started();
  RawConnection connection(server->port());
  connection.send("HEAD /hello HTTP/1.1\r\nHost: [::1]:1\r\n\r\n" + get());
  const std::string head = connection.answer(false);
  EXPECT_TRUE(head.contains("\r\nContent-Length: 6\r\n")) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
  EXPECT_TRUE(connection.answer().ends_with("hello\n"));
}

TEST(Server, OldClientsNeedNoHost) {
  const auto server = started();
  RawConnection connection(server->port());
  connection.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(connection.answer().ends_with("hello\n"));
  EXPECT_TRUE(connection.ends());
}

TEST(Server, RefusesWithAStatusAndJson) {
  const auto server = started();

  const struct {
    std::string request;
    std::string_view status;
    std::string_view code;
  } kCases[] = {
      {"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", "404", "not_found"},
      {"DELETE /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "405", "method_not_allowed"},
      {"BREW /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "405", "method_not_allowed"},
      {"GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421", "misdirected_request"},
      {"GET /hello HTTP/1.1\r\nHost: localhost.evil.example:1\r\n\r\n",
       "421",
       "misdirected_request"},
      {"GET /hello HTTP/1.1\r\n\r\n", "400", "bad_request"},
      {"GET /hello HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "400", "bad_request"},
      {"GET hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "400", "bad_request"},
      {"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "400", "bad_request"},
      {"GET /hello HTTP/3.7\r\nHost: localhost\r\n\r\n", "400", "bad_request"},
      {"\x16\x03\x01\x02 hello\r\n\r\n", "400", "bad_request"},
      {"GET /hello HTTP/1.1\r\nHost localhost\r\n\r\n", "400", "bad_request"},
      {"POST /echo/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
       "400",
       "bad_request"},
      {"POST /echo/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
       "415",
       "unsupported_media_type"},
      {"POST /echo/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
       "Content-Length: 2\r\n\r\n{}",
       "415",
       "unsupported_media_type"},
  };

  for (const auto& refused : kCases) {
    const std::string answer = answer_to(*server, refused.request);
    EXPECT_TRUE(answer.starts_with(format("HTTP/1.1 {} ", refused.status)))
        << refused.request << answer;
    EXPECT_TRUE(answer.contains(
        format("\r\n\r\n{{\"error\":{{\"code\":\"{}\",\"message\":\"", refused.code)))
        << refused.request << answer;
  }
  EXPECT_TRUE(answer_to(*server, kCases[1].request).contains("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_TRUE(answer_to(*server, get()).ends_with("hello\n"));
}

TEST(Server, TakesJsonWithACharset) {
  const auto server = started();
  EXPECT_TRUE(answer_to(*server,
                        "POST /echo/a HTTP/1.1\r\nHost: localhost\r\n"
                        "content-type: Application/JSON; charset=utf-8\r\n"
                        "Content-Length: 2\r\n\r\n{}")
                  .ends_with("a:{}"));
}

TEST(Server, BoundsHeadersAndBodies) {
  const auto server = started();
  const std::string fitting(64U << 10U, 'x');
  EXPECT_TRUE(answer_to(*server, post(fitting)).ends_with("a:" + fitting));
  EXPECT_TRUE(answer_to(*server, post(fitting + "x")).starts_with("HTTP/1.1 413 "));
  // Nothing of the body is awaited when its length alone is too much.
  EXPECT_TRUE(answer_to(*server,
                        "POST /echo/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                        "application/json\r\nContent-Length: 99999999999\r\n\r\n")
                  .starts_with("HTTP/1.1 413 "));
  std::string chunked =
      "POST /echo/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 65; ++i) {
    chunked += "400\r\n" + std::string(1024, 'y') + "\r\n";
  }
  EXPECT_TRUE(answer_to(*server, chunked).starts_with("HTTP/1.1 413 "));

  EXPECT_TRUE(
      answer_to(*server, get("X: " + std::string(15'000, 'x') + "\r\n")).ends_with("hello\n"));
  EXPECT_TRUE(answer_to(*server, get("X: " + std::string(17'000, 'x') + "\r\n"))
                  .starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(answer_to(*server, "GET /" + std::string(300'000, 'a')).starts_with("HTTP/1.1 431 "));
}

TEST(Server, CutsASlowClient) {
  const auto server = started({.request_time_max = 100ms});
  RawConnection silent(server->port());
  RawConnection slow(server->port());
  slow.send("GET /hello HT");
  RawConnection half(server->port());
  half.send(
      "POST /echo/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 10\r\n\r\n12345");
  EXPECT_TRUE(silent.ends());
  EXPECT_TRUE(slow.ends());
  EXPECT_TRUE(half.ends());
  EXPECT_TRUE(answer_to(*server, get()).ends_with("hello\n"));
}

TEST(Server, ClosesAnIdleConnection) {
  const auto server = started({.idle_time_max = 100ms});
  RawConnection connection(server->port());
  connection.send(get());
  EXPECT_TRUE(connection.answer().ends_with("hello\n"));
  EXPECT_TRUE(connection.ends());
}

TEST(Server, RefusesAConnectionTooMany) {
  const auto server = started({.connections_max = 2});
  auto first = std::make_unique<RawConnection>(server->port());
  RawConnection second(server->port());
  first->send(get());
  EXPECT_TRUE(first->answer().ends_with("hello\n"));
  second.send(get());
  EXPECT_TRUE(second.answer().ends_with("hello\n"));
  RawConnection third(server->port());
  EXPECT_TRUE(third.answer().starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(third.ends());
  // The server learns of the end of the first a moment after the client.
  first.reset();
  std::string answer;
  for (const auto deadline = monotonic_now() + 10s;
       !answer.ends_with("hello\n") && monotonic_now() < deadline;) {
    answer = answer_to(*server, get());
  }
  EXPECT_TRUE(answer.ends_with("hello\n")) << answer;
}

TEST(Server, StopsAtOnceWhenNothingIsUnderWay) {
  const auto server = started();
  RawConnection idle(server->port());
  idle.send(get());
  EXPECT_TRUE(idle.answer().ends_with("hello\n"));
  const RawConnection fresh(server->port());
  const auto begin = monotonic_now();
  server->stop(60s);
  EXPECT_LT(monotonic_now() - begin, 30s);
  EXPECT_TRUE(idle.ends());
  EXPECT_FALSE(RawConnection(server->port()).connected());
}

TEST(Server, FinishesARequestWhileStopping) {
  const auto server = started();
  RawConnection connection(server->port());
  connection.send(get());
  EXPECT_TRUE(connection.answer().ends_with("hello\n"));
  const std::string request = post("{}");
  connection.send(request.substr(0, 20));
  // An answer to another connection shows that the server has read what was sent before.
  EXPECT_TRUE(answer_to(*server, get()).ends_with("hello\n"));
  Thread stopping("stopping", [&] { server->stop(60s); });
  while (RawConnection(server->port()).connected()) {
  }
  connection.send(request.substr(20));
  const std::string answer = connection.answer();
  EXPECT_TRUE(answer.ends_with("a:{}")) << answer;
  EXPECT_TRUE(answer.contains("\r\nConnection: close\r\n")) << answer;
  stopping.join();
  EXPECT_TRUE(connection.ends());
}

TEST(Server, ClosesWhatIsLeftAfterTheGrace) {
  const auto server = started();
  RawConnection connection(server->port());
  connection.send("GET /hello HT");
  EXPECT_TRUE(answer_to(*server, get()).ends_with("hello\n"));
  server->stop(50ms);
  EXPECT_TRUE(connection.ends());
}

TEST(Server, MayEndWithoutEverStarting) {
  const auto server = Server::listen({}, echo_router());
  ASSERT_TRUE(server.has_value());
  EXPECT_NE((*server)->port(), 0);
}

TEST(Server, NamesWhatItCannotListenOn) {
  const auto server = started();
  const auto taken = Server::listen({.port = server->port()}, echo_router());
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, Errc::kConfigInvalid);
  EXPECT_TRUE(
      taken.error().message.contains(format("cannot listen on 127.0.0.1 port {}", server->port())))
      << taken.error().message;
  EXPECT_FALSE(taken.error().hint.empty());
  for (const char* address : {"192.0.2.1", "localhost", "x"}) {
    const auto other = Server::listen({.address = address}, echo_router());
    ASSERT_FALSE(other.has_value());
    EXPECT_EQ(other.error().code, Errc::kConfigInvalid) << other.error().message;
    EXPECT_TRUE(other.error().message.contains(address));
  }
}

std::string output_of(const std::string& command) {
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return {};
  }
  char buffer[256];
  const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe);
  ::pclose(pipe);
  return {buffer, size};
}

// A client that is not ours.
TEST(Server, UnderstandsCurl) {
  if (output_of("command -v curl").empty()) {
    GTEST_SKIP() << "curl is not installed";
  }
  const auto server = started();
  EXPECT_EQ(output_of(format("curl -s --noproxy '*' http://localhost:{0}/hello; "
                             "curl -s --noproxy '*' -H 'Content-Type: application/json' "
                             "-d '{{\"a\":1}}' http://127.0.0.1:{0}/echo/x; "
                             "curl -s --noproxy '*' -o /dev/null -w ' %{{http_code}}' -d a=1 "
                             "http://127.0.0.1:{0}/echo/x",
                             server->port())),
            "hello\nx:{\"a\":1} 415");
}

}  // namespace
}  // namespace cdc::http
