// Proves over real sockets that clients of the event stream get what they ask for from where they
// ask, that positions are saved as promised, and that bad requests are told so.
#include "serve/sse_hub.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/format.h"
#include "delivery/tests/journal_fixture.h"
#include "delivery/tests/memory_cursors.h"
#include "http/tests/raw_connection.h"

namespace cdc::serve {
namespace {

using namespace std::chrono_literals;
using http::testing::RawConnection;

std::string request(std::string_view target, std::string_view more = "") {
  return format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n", target, more);
}

class SseHubTest : public ::testing::Test {
 protected:
  void serve(SseOptions options = {}, std::string token = {}) {
    hub_ = std::make_unique<SseHub>(
        *journal_, consumers_, Access(std::move(token), {"https://app.example"}), options);
    http::Router router;
    hub_->add_routes(router);
    auto server = http::Server::listen({}, std::move(router));
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
    hub_->attach(*server_);
    server_->start();
  }

  // The text of a stream up to and with `end`.
  std::string read_until(RawConnection& connection, std::string_view end) {
    std::string text;
    do {
      const std::string more = connection.part();
      if (more.empty()) {
        return text + "<end>";
      }
      text += more;
    } while (!text.ends_with(end));
    return text;
  }

  std::string status_of(std::string_view text) {
    RawConnection connection(server_->port());
    connection.send(text);
    return connection.answer();
  }

  static std::string frame(std::uint64_t sequence) {
    return format(
        "id: {}\nevent: insert\ndata: {}\n", sequence, delivery::TestJournal::line_of(sequence));
  }

  delivery::TestJournal journal_;
  delivery::MemoryCursors cursors_;
  Consumers consumers_{cursors_};
  std::unique_ptr<SseHub> hub_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(SseHubTest, SendsWhatThereIsAndWhatComes) {
  journal_.commit(2);
  serve();
  RawConnection connection(server_->port());
  connection.send(request("/events?from=earliest"));
  const std::string begun = read_until(connection, frame(2));
  EXPECT_TRUE(begun.contains("\r\nContent-Type: text/event-stream\r\n")) << begun;
  EXPECT_TRUE(begun.ends_with("\r\n\r\nretry: 2000\n\n" + frame(1) + frame(2))) << begun;
  journal_.commit(1);
  EXPECT_EQ(read_until(connection, frame(3)), frame(3));
}

TEST_F(SseHubTest, ANameKeepsItsPosition) {
  serve();
  {
    RawConnection connection(server_->port());
    connection.send(request("/events?consumer=a"));
    read_until(connection, "retry: 2000\n\n");
    journal_.commit(3);
    read_until(connection, frame(3));
  }
  journal_.commit(1);
  cursors_.await_lowest("sse:a", Sequence{3});
  RawConnection connection(server_->port());
  connection.send(request("/events?consumer=a&from=earliest"));
  EXPECT_TRUE(read_until(connection, frame(4)).ends_with("retry: 2000\n\n" + frame(4)));
}

TEST_F(SseHubTest, StopSavesPositionsAndAnonymousClientsLeaveNothing) {
  serve();
  RawConnection named(server_->port());
  RawConnection anonymous(server_->port());
  named.send(request("/events?consumer=a"));
  anonymous.send(request("/events"));
  read_until(named, "retry: 2000\n\n");
  read_until(anonymous, "retry: 2000\n\n");
  journal_.commit(5);
  read_until(named, frame(5));
  read_until(anonymous, frame(5));
  server_->stop(1s);
  EXPECT_LE(cursors_.get("sse:a").lowest(), Sequence{5});
  EXPECT_EQ(cursors_.get("sse:").lowest(), Sequence{0});
  EXPECT_TRUE(named.ends());
}

TEST_F(SseHubTest, ALargeHelpingIsCut) {
  journal_.commit(100, 1000);
  serve({.helping_bytes = 4096});
  RawConnection connection(server_->port());
  connection.send(request("/events?from=1"));
  const std::string all =
      read_until(connection, "data: " + delivery::TestJournal::line_of(100, 1000) + "\n");
  std::size_t frames = 0;
  for (std::size_t at = all.find("\nid: "); at != std::string::npos;
       at = all.find("\nid: ", at + 1)) {
    ++frames;
  }
  EXPECT_EQ(frames, 100U);
}

TEST_F(SseHubTest, UnknownPositionsAreTold) {
  journal_.commit(2);
  serve();
  RawConnection connection(server_->port());
  connection.send(request("/events", "Last-Event-ID: 10\r\n"));
  EXPECT_TRUE(read_until(connection, frame(2))
                  .ends_with("event: gap\ndata: {\"from\":3,\"to\":10,\"reason\":"
                             "\"unknown_position\"}\n\n" +
                             frame(1) + frame(2)));
}

TEST_F(SseHubTest, HeartbeatsTellThatItLives) {
  serve({.heartbeat = 300ms});
  RawConnection connection(server_->port());
  connection.send(request("/events?tables=other"));
  read_until(connection, ": heartbeat\n\n");
  journal_.commit(2);
  EXPECT_TRUE(read_until(connection, "id: 2\n\n").ends_with(": heartbeat\nid: 2\n\n"));
}

TEST_F(SseHubTest, RefusesWithAStatus) {
  serve({.tables = {"public.t"}}, "secret");
  constexpr std::string_view kToken = "Authorization: Bearer secret\r\n";
  EXPECT_TRUE(status_of(request("/events")).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(status_of(request("/events?access_token=secre")).starts_with("HTTP/1.1 401 "));
  EXPECT_TRUE(status_of(request("/events?tables=u", kToken)).starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(status_of(request("/events?where=a", kToken)).starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(status_of(request("/events?from=5", kToken)).starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(status_of(request("/events?access_token=secret", "Origin: https://no.example\r\n"))
                  .starts_with("HTTP/1.1 403 "));
}

TEST_F(SseHubTest, AcknowledgementsMoveForwardOnly) {
  journal_.commit(5);
  serve();
  RawConnection connection(server_->port());
  connection.send(request("/events?consumer=a&ack=manual&from=1"));
  read_until(connection, frame(5));
  const auto acknowledge = [&](int id) {
    const std::string body = format(R"({{"consumer":"a","id":{}}})", id);
    return status_of(
        format("POST /ack HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
               "application/json\r\nContent-Length: {}\r\n\r\n{}",
               body.size(),
               body));
  };
  EXPECT_TRUE(acknowledge(3).contains("\"acknowledged\":3"));
  EXPECT_TRUE(acknowledge(2).contains("\"acknowledged\":3"));
  EXPECT_TRUE(acknowledge(6).starts_with("HTTP/1.1 409 "));
  EXPECT_EQ(cursors_.get("sse:a").lowest(), Sequence{3});
}

}  // namespace
}  // namespace cdc::serve
