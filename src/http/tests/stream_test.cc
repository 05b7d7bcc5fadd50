// Proves over real sockets that an answer without an end is sent as its stream has more, ends by
// either side at once, and that a client that takes nothing is closed and costs others nothing.
#include "http/stream.h"

#include <memory>
#include <string>

#include <poll.h>

#include <gtest/gtest.h>

#include "base/sync/event_fd.h"
#include "base/sync/inbox.h"
#include "http/server.h"
#include "http/tests/raw_connection.h"

namespace cdc::http {
namespace {

using namespace std::chrono_literals;
using testing::RawConnection;

bool is_signalled(EventFd& event) {
  pollfd poller{.fd = event.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&poller, 1, 10'000) == 1;
}

// Sends what the test posts; "end" ends it, "flood" never does.
class PostedStream final : public Stream {
 public:
  PostedStream(Inbox<std::string>& inbox, EventFd& gone) : inbox_(inbox), gone_(gone) {}

  ~PostedStream() override { gone_.signal(); }

  PostedStream(const PostedStream&) = delete;
  PostedStream& operator=(const PostedStream&) = delete;

  bool more(std::string& out) override {
    if (is_flooding_) {
      out.assign(1U << 20U, 'x');
      return true;
    }
    for (const std::string& text : inbox_.take_all()) {
      if (text == "end") {
        return false;
      }
      is_flooding_ = text == "flood";
      out += text;
    }
    return true;
  }

 private:
  Inbox<std::string>& inbox_;
  EventFd& gone_;
  bool is_flooding_ = false;
};

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Router router;
    router.add(Method::kGet, "/stream", [this](const Request& request) {
      Response response;
      response.content_type = "text/plain";
      response.headers.push_back({.name = "X-Name", .value = "value"});
      if (!request.is_head) {
        const auto stream = std::make_shared<PostedStream>(inbox_, gone_);
        stream_ = stream;
        response.stream = stream;
      }
      return response;
    });
    router.add(Method::kGet, "/echo", [](const Request& request) {
      Response response;
      response.body = request.target + " " + std::string(request.header("x-ASKED").value_or("-"));
      return response;
    });
    ServerOptions options;
    options.stall_time_max = 300ms;
    auto server = Server::listen(options, std::move(router));
    ASSERT_TRUE(server) << server.error().to_string();
    server_ = std::move(*server);
    server_->watch(inbox_.event().fd(), [this] {
      if (const auto stream = stream_.lock()) {
        stream->wake();
      }
    });
    server_->start();
  }

  // A connection that has read the header of its stream.
  std::unique_ptr<RawConnection> opened() {
    auto connection = std::make_unique<RawConnection>(server_->port());
    connection->send("GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    const std::string header = connection->answer(false);
    EXPECT_TRUE(header.starts_with("HTTP/1.1 200 OK\r\n")) << header;
    EXPECT_TRUE(header.contains("\r\nX-Name: value\r\n")) << header;
    EXPECT_FALSE(header.contains("Content-Length")) << header;
    return connection;
  }

  Inbox<std::string> inbox_{16};
  EventFd gone_;
  std::weak_ptr<Stream> stream_;  // of the server's thread
  std::unique_ptr<Server> server_;
};

TEST_F(StreamTest, SendsTheHeaderAtOnceAndTheRestAsItComes) {
  const auto connection = opened();
  for (const char* text : {"one\r\n\r\n", "two\r\n\r\n"}) {
    ASSERT_TRUE(inbox_.post(text));
    EXPECT_EQ(connection->answer(false), text);
  }
  ASSERT_TRUE(inbox_.post("end"));
  EXPECT_TRUE(connection->ends());
  EXPECT_TRUE(is_signalled(gone_));
}

TEST_F(StreamTest, NoticesAClientThatGoesAway) {
  opened().reset();
  EXPECT_TRUE(is_signalled(gone_));
}

TEST_F(StreamTest, ClosesAClientThatTakesNothing) {
  const auto connection = opened();
  ASSERT_TRUE(inbox_.post("flood"));
  EXPECT_TRUE(is_signalled(gone_));
}

TEST_F(StreamTest, OthersAreServedBesideAStalledClient) {
  const auto stalled = opened();
  ASSERT_TRUE(inbox_.post("flood"));
  RawConnection other(server_->port());
  other.send("GET /echo?a=b HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Asked: c\r\n\r\n");
  EXPECT_TRUE(other.answer().ends_with("\r\n\r\n/echo?a=b c"));
}

TEST_F(StreamTest, HeadBeginsNoStream) {
  RawConnection connection(server_->port());
  connection.send("HEAD /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_TRUE(connection.answer(false).contains("\r\nX-Name: value\r\n"));
  connection.send("GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_TRUE(connection.answer().ends_with("\r\n\r\n/echo -"));
}

TEST_F(StreamTest, StopEndsStreams) {
  const auto connection = opened();
  server_->stop(10s);
  EXPECT_TRUE(is_signalled(gone_));
  EXPECT_TRUE(connection->ends());
}

TEST_F(StreamTest, ATalkativeClientIsClosed) {
  const auto connection = opened();
  connection->send(std::string(1U << 20U, 'x'));
  EXPECT_TRUE(is_signalled(gone_));
}

}  // namespace
}  // namespace cdc::http
