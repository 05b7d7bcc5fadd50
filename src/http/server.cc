#include "http/server.h"

#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "base/assert.h"
#include "base/format.h"
#include "http/target.h"

namespace cdc::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Tcp = asio::ip::tcp;
using Header = beast::http::request_header<>;
using Parser = beast::http::request_parser<beast::http::string_body>;

constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kBufferBytesMax = 256U << 10U;
// How long, and for how much, a client may still send after an answer that ends the connection.
constexpr std::chrono::seconds kDrainTime{2};
constexpr std::size_t kDrainBytesMax = 16U << 20U;
// Memory for what a stream sends that an idle one may keep.
constexpr std::size_t kIdleBytesMax = 4096;
// What a client may still send while it is sent a stream, to be thrown away.
constexpr std::size_t kIgnoredBytesMax = 64U << 10U;
// After accept() failed, as it does when the process is out of descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string_view view_of(beast::string_view text) {
  return {text.data(), text.size()};
}

bool is_json(std::string_view content_type) {
  const std::string_view type = content_type.substr(0, content_type.find_first_of("; \t"));
  return beast::iequals(beast::string_view(type.data(), type.size()), "application/json");
}

// What a browser that was led here by another site could send, and what has no place at all.
std::optional<Response> refusal_of(const Header& header,
                                   const Router::Match& match,
                                   bool any_host) {
  const auto hosts = header.count(beast::http::field::host);
  if (hosts > 1 || (hosts == 0 && header.version() >= 11)) {
    return error_response(400, "bad_request", "the request needs one Host header");
  }
  if (hosts == 1 && !any_host && !is_literal_host(view_of(header[beast::http::field::host]))) {
    return error_response(421,
                          "misdirected_request",
                          "the Host header names neither an IP address nor localhost",
                          "use the address, such as 127.0.0.1, instead of a name");
  }
  if (match.is_malformed) {
    return error_response(400, "bad_request", "the request target is malformed");
  }
  if (match.handler == nullptr && match.allow.empty()) {
    return error_response(404, "not_found", "there is nothing at this path");
  }
  if (match.handler == nullptr) {
    Response response = error_response(
        405, "method_not_allowed", "this path does not have that method", "use " + match.allow);
    response.allow = match.allow;
    return response;
  }
  if (header.method() == beast::http::verb::post &&
      !is_json(view_of(header[beast::http::field::content_type]))) {
    return error_response(415,
                          "unsupported_media_type",
                          "the body must be JSON",
                          "send Content-Type: application/json");
  }
  return std::nullopt;
}

Request request_of(Parser& parser, Router::Match& match) {
  Request request{.parameter = std::move(match.parameter),
                  .body = std::move(parser.get().body()),
                  .target = std::string(view_of(parser.get().target())),
                  .headers = {},
                  .is_head = parser.get().method() == beast::http::verb::head};
  for (const auto& field : parser.get()) {
    request.headers.push_back({.name = std::string(view_of(field.name_string())),
                               .value = std::string(view_of(field.value()))});
  }
  return request;
}

template <class Message>
void set_headers(Message& message, const Response& response, bool keep_alive) {
  message.result(response.status);
  message.version(11);
  message.set(beast::http::field::content_type, response.content_type);
  message.set(beast::http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  if (!response.allow.empty()) {
    message.set(beast::http::field::allow, response.allow);
  }
  for (const Field& field : response.headers) {
    message.set(field.name, field.value);
  }
  message.keep_alive(keep_alive);
}

// The answer to a request that could not be read; nothing when there is nobody to answer.
std::optional<Response> answer_to(error_code code) {
  if (code == beast::http::error::header_limit || code == beast::http::error::buffer_overflow) {
    return error_response(431, "header_too_large", "the header of the request is too large");
  }
  if (code == beast::http::error::body_limit) {
    return error_response(413, "body_too_large", "the body of the request is too large");
  }
  const bool is_syntax =
      code.category() == beast::http::make_error_code(beast::http::error::bad_method).category();
  if (!is_syntax || code == beast::http::error::end_of_stream ||
      code == beast::http::error::partial_message) {
    return std::nullopt;
  }
  return error_response(400, "bad_request", "the request is not HTTP: " + code.message());
}

}  // namespace

// ---- Loop ---------------------------------------------------------------------------------------

// The thread's side of the server. Thread: the server's, but for the constructor and open().
class Server::Loop {
 public:
  class Connection;

  Loop(ServerOptions options, Router router)
      : options_(std::move(options)), router_(std::move(router)) {}

  Status open();
  void run();
  void request_stop(std::chrono::milliseconds grace);  // thread: any

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  [[nodiscard]] const ServerOptions& options() const noexcept { return options_; }

  [[nodiscard]] const Router& router() const noexcept { return router_; }

  [[nodiscard]] bool is_stopping() const noexcept { return is_stopping_; }

  void remove(Connection* connection);

  void watch(int fd, std::function<void()> ready);
  void every(std::chrono::milliseconds interval, std::function<void()> tick);

 private:
  struct Watched {
    asio::posix::stream_descriptor descriptor;
    std::function<void()> ready;
  };

  struct Ticking {
    asio::steady_timer timer;
    std::chrono::milliseconds interval;
    std::function<void()> tick;
  };

  void await(Watched& watched);
  void await(Ticking& ticking);
  void accept();
  void take(Tcp::socket socket);
  void begin_stop(std::chrono::milliseconds grace);

  ServerOptions options_;
  Router router_;
  bool is_stopping_ = false;
  // Before the context: what is still open when that goes takes itself off this list.
  std::unordered_set<Connection*> connections_;
  asio::io_context context_{1};
  Tcp::acceptor acceptor_{context_};
  asio::steady_timer accept_pause_{context_};
  asio::steady_timer grace_{context_};
  std::vector<std::unique_ptr<Watched>> watched_;
  std::vector<std::unique_ptr<Ticking>> ticking_;
};

// ---- Connection ---------------------------------------------------------------------------------

// One client. It lives in the handlers of what it waits for, and ends when it waits for nothing.
class Server::Loop::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Loop& loop, Tcp::socket socket)
      : loop_(loop), stream_(std::move(socket)), buffer_(kBufferBytesMax) {}

  ~Connection() { loop_.remove(this); }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start() { wait_for_request(loop_.options().request_time_max); }

  // Closes now if no request is under way, after its answer otherwise.
  void finish() {
    if (!is_busy_ || source_) {
      close();
    }
  }

  void close() {
    source_.reset();
    stream_.close();
  }

 private:
  void wait_for_request(std::chrono::milliseconds time) {
    is_busy_ = false;
    parser_ = std::make_unique<Parser>();
    parser_->header_limit(static_cast<std::uint32_t>(loop_.options().header_bytes_max));
    parser_->body_limit(loop_.options().body_bytes_max);
    if (buffer_.size() > 0) {  // the client did not wait for the last answer
      read_header();
      return;
    }
    stream_.expires_after(time);
    stream_.async_read_some(buffer_.prepare(kReadBytes),
                            [self = shared_from_this()](error_code code, std::size_t bytes) {
                              if (!code) {
                                self->buffer_.commit(bytes);
                                self->read_header();
                              }
                            });
  }

  void read_header() {
    is_busy_ = true;
    stream_.expires_after(loop_.options().request_time_max);
    beast::http::async_read_header(
        stream_, buffer_, *parser_, [self = shared_from_this()](error_code code, std::size_t) {
          self->on_header(code);
        });
  }

  void on_header(error_code code) {
    if (code) {
      on_unreadable(code);
      return;
    }
    const Header& header = parser_->get();
    match_ = loop_.router().find(view_of(header.method_string()), view_of(header.target()));
    if (const auto refusal = refusal_of(header, match_, loop_.options().any_host)) {
      answer(*refusal, parser_->is_done() && parser_->keep_alive());
      return;
    }
    beast::http::async_read(
        stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, std::size_t) {
          self->on_request(error);
        });
  }

  void on_request(error_code code) {
    if (code) {
      on_unreadable(code);
      return;
    }
    const Response response = (*match_.handler)(request_of(*parser_, match_));
    if (response.stream) {
      answer_with_stream(response);
    } else {
      answer(response, parser_->keep_alive());
    }
  }

  void on_unreadable(error_code code) {
    if (const auto response = answer_to(code)) {
      answer(*response, false);
    }
  }

  void answer(const Response& response, bool keep_alive) {
    keep_alive = keep_alive && !loop_.is_stopping();
    response_ = {};
    set_headers(response_, response, keep_alive);
    response_.content_length(response.body.size());
    if (parser_->get().method() != beast::http::verb::head) {
      response_.body() = response.body;
    }
    stream_.expires_after(loop_.options().idle_time_max);
    beast::http::async_write(
        stream_, response_, [self = shared_from_this(), keep_alive](error_code code, std::size_t) {
          if (!code) {
            self->after_answer(keep_alive);
          }
        });
  }

  void after_answer(bool keep_alive) {
    if (loop_.is_stopping()) {
      close();
    } else if (keep_alive) {
      wait_for_request(loop_.options().idle_time_max);
    } else {
      is_busy_ = false;
      error_code ignored;
      static_cast<void>(stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored));
      stream_.expires_after(kDrainTime);
      drain();
    }
  }

  // Closing with bytes unread would reset the connection, and the client might never see the
  // answer.
  void drain() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(kReadBytes),
                            [self = shared_from_this()](error_code code, std::size_t bytes) {
                              self->drained_bytes_ += bytes;
                              if (!code && self->drained_bytes_ < kDrainBytesMax) {
                                self->drain();
                              }
                            });
  }

  // ---- Streams ----

  // The header goes out alone and at once.
  void answer_with_stream(const Response& response) {
    source_ = response.stream;
    source_->set_waker([weak = weak_from_this()] {
      if (const auto self = weak.lock()) {
        self->wake();
      }
    });
    set_headers(head_, response, false);
    serializer_.emplace(head_);
    is_writing_ = true;
    stream_.expires_after(loop_.options().idle_time_max);
    beast::http::async_write_header(
        stream_, *serializer_, [self = shared_from_this()](error_code code, std::size_t) {
          self->is_writing_ = false;
          self->serializer_.reset();
          if (code) {
            self->close();
          } else {
            self->begin_stream();
          }
        });
  }

  void begin_stream() {
    parser_.reset();
    buffer_ = beast::flat_buffer(kBufferBytesMax);
    auto& socket = stream_.socket();
    error_code ignored;
    static_cast<void>(socket.non_blocking(true, ignored));
    static_cast<void>(socket.set_option(Tcp::no_delay(true), ignored));
    // A peer that vanished without a word: the kernel gives up on what it does not acknowledge.
    const auto time = static_cast<unsigned>(loop_.options().stall_time_max.count());
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &time, sizeof time);
    await_end();
    pull();
  }

  // Many wakes make one pull.
  void wake() {
    if (std::exchange(is_woken_, true)) {
      return;
    }
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      self->is_woken_ = false;
      self->pull();
    });
  }

  void pull() {
    if (!source_ || is_writing_) {
      return;
    }
    sent_ = 0;
    out_.clear();
    const bool goes_on = source_->more(out_);
    if (!out_.empty()) {
      is_last_ = !goes_on;
      send();
    } else if (!goes_on) {
      close();
    } else if (out_.capacity() > kIdleBytesMax) {
      out_ = {};
    }
  }

  // Piece by piece, so that the time counts from the last piece that was taken.
  void send() {
    is_writing_ = true;
    stream_.expires_after(loop_.options().stall_time_max);
    stream_.async_write_some(asio::buffer(out_.data() + sent_, out_.size() - sent_),
                             [self = shared_from_this()](error_code code, std::size_t bytes) {
                               self->is_writing_ = false;
                               self->on_sent(code, bytes);
                             });
  }

  void on_sent(error_code code, std::size_t bytes) {
    if (code) {
      close();
      return;
    }
    sent_ += bytes;
    if (!source_) {
      return;
    }
    if (sent_ < out_.size()) {
      send();
    } else if (is_last_) {
      close();
    } else {
      pull();
    }
  }

  // Only waiting takes no memory. What the client still says is of no interest but for its end.
  void await_end() {
    stream_.socket().async_wait(Tcp::socket::wait_read,
                                [self = shared_from_this()](error_code code) {
                                  if (!code && self->source_) {
                                    self->look_for_end();
                                  }
                                });
  }

  void look_for_end() {
    std::array<char, kReadBytes> ignored{};
    error_code code;
    const std::size_t bytes = stream_.socket().read_some(asio::buffer(ignored), code);
    drained_bytes_ += bytes;
    const bool is_open = !code || code == asio::error::would_block;
    if (!is_open || drained_bytes_ > kIgnoredBytesMax) {
      close();
    } else {
      await_end();
    }
  }

  Loop& loop_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::unique_ptr<Parser> parser_;
  Router::Match match_;
  beast::http::response<beast::http::string_body> response_;
  std::size_t drained_bytes_ = 0;
  bool is_busy_ = false;  // between the first byte of a request and the last of its answer
  beast::http::response<beast::http::empty_body> head_;
  std::optional<beast::http::serializer<false, beast::http::empty_body>> serializer_;
  std::shared_ptr<Stream> source_;  // while the answer is a stream
  std::string out_;                 // its last helping
  std::size_t sent_ = 0;            // bytes of it that the socket has taken
  bool is_writing_ = false;
  bool is_woken_ = false;
  bool is_last_ = false;
};

// ---- Loop, continued ----------------------------------------------------------------------------

Status Server::Loop::open() {
  error_code code;
  const auto address = asio::ip::make_address(options_.address, code);
  const Tcp::endpoint endpoint{address, options_.port};
  if (!code) {
    static_cast<void>(acceptor_.open(endpoint.protocol(), code));
  }
  if (!code) {
    static_cast<void>(acceptor_.set_option(Tcp::acceptor::reuse_address(true), code));
  }
  if (!code) {
    static_cast<void>(acceptor_.bind(endpoint, code));
  }
  if (!code) {
    static_cast<void>(acceptor_.listen(Tcp::acceptor::max_listen_connections, code));
  }
  if (!code) {
    return {};
  }
  const bool is_taken = code == asio::error::address_in_use;
  const bool is_choice = is_taken || code == asio::error::access_denied ||
                         code == boost::system::errc::address_not_available ||
                         code == asio::error::invalid_argument;
  return fail(
      is_choice ? Errc::kConfigInvalid : Errc::kIo,
      cdc::format(
          "cannot listen on {} port {}: {}", options_.address, options_.port, code.message()),
      is_taken ? "another process listens there: stop it, or choose another port"
               : "choose an address of this machine and a port that this user may have");
}

void Server::Loop::watch(int fd, std::function<void()> ready) {
  // A duplicate, so that closing it leaves the caller's alone.
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  CDC_ASSERT(own >= 0);
  watched_.push_back(std::make_unique<Watched>(Watched{
      .descriptor = asio::posix::stream_descriptor(context_, own), .ready = std::move(ready)}));
  await(*watched_.back());
}

void Server::Loop::await(Watched& watched) {
  watched.descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                [this, &watched](error_code code) {
                                  if (!code && !is_stopping_) {
                                    watched.ready();
                                    await(watched);
                                  }
                                });
}

void Server::Loop::every(std::chrono::milliseconds interval, std::function<void()> tick) {
  ticking_.push_back(std::make_unique<Ticking>(Ticking{
      .timer = asio::steady_timer(context_), .interval = interval, .tick = std::move(tick)}));
  await(*ticking_.back());
}

void Server::Loop::await(Ticking& ticking) {
  ticking.timer.expires_after(ticking.interval);
  ticking.timer.async_wait([this, &ticking](error_code code) {
    if (!code && !is_stopping_) {
      ticking.tick();
      await(ticking);
    }
  });
}

void Server::Loop::run() {
  accept();
  context_.run();
}

void Server::Loop::request_stop(std::chrono::milliseconds grace) {
  asio::post(context_, [this, grace] { begin_stop(grace); });
}

void Server::Loop::accept() {
  acceptor_.async_accept([this](error_code code, Tcp::socket socket) {
    if (is_stopping_) {
      return;
    }
    if (!code) {
      take(std::move(socket));
      accept();
      return;
    }
    accept_pause_.expires_after(kAcceptPause);
    accept_pause_.async_wait([this](error_code error) {
      if (!error && !is_stopping_) {
        accept();
      }
    });
  });
}

void Server::Loop::take(Tcp::socket socket) {
  if (connections_.size() < options_.connections_max) {
    const auto connection = std::make_shared<Connection>(*this, std::move(socket));
    connections_.insert(connection.get());
    connection->start();
    return;
  }
  // A courtesy that must not wait: what does not fit into the socket's buffer is not said.
  constexpr std::string_view kFull =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  error_code ignored;
  static_cast<void>(socket.non_blocking(true, ignored));
  socket.write_some(asio::buffer(kFull), ignored);
  static_cast<void>(socket.shutdown(Tcp::socket::shutdown_both, ignored));
}

void Server::Loop::begin_stop(std::chrono::milliseconds grace) {
  if (is_stopping_) {
    return;
  }
  is_stopping_ = true;
  error_code ignored;
  static_cast<void>(acceptor_.close(ignored));
  accept_pause_.cancel();
  watched_.clear();
  ticking_.clear();
  for (Connection* connection : connections_) {
    connection->finish();
  }
  if (connections_.empty()) {
    return;
  }
  grace_.expires_after(grace);
  grace_.async_wait([this](error_code code) {
    if (code) {
      return;
    }
    for (Connection* connection : connections_) {
      connection->close();
    }
  });
}

void Server::Loop::remove(Connection* connection) {
  connections_.erase(connection);
  if (is_stopping_ && connections_.empty()) {
    grace_.cancel();
  }
}

// ---- Server -------------------------------------------------------------------------------------

Server::Server(std::unique_ptr<Loop> loop, std::uint16_t port)
    : loop_(std::move(loop)), port_(port) {}

Server::~Server() {
  stop(std::chrono::milliseconds{0});
}

Result<std::unique_ptr<Server>> Server::listen(const ServerOptions& options, Router router) {
  auto loop = std::make_unique<Loop>(options, std::move(router));
  CDC_TRY(loop->open());
  const std::uint16_t port = loop->port();
  return std::unique_ptr<Server>(new Server(std::move(loop), port));
}

void Server::watch(int fd, std::function<void()> ready) {
  loop_->watch(fd, std::move(ready));
}

void Server::every(std::chrono::milliseconds interval, std::function<void()> tick) {
  loop_->every(interval, std::move(tick));
}

void Server::start() {
  thread_.start("http", [this] { loop_->run(); });
}

void Server::stop(std::chrono::milliseconds grace) {
  loop_->request_stop(grace);
  thread_.join();
}

}  // namespace cdc::http
