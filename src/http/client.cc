#include "http/client.h"

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "base/format.h"

namespace cdc::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr std::uint64_t kBodyBytesMax = 64U << 20U;

std::string place_of(const Call& call) {
  return call.address.contains(':') ? cdc::format("[{}]:{}", call.address, call.port)
                                    : cdc::format("{}:{}", call.address, call.port);
}

beast::http::request<beast::http::string_body> request_of(const Call& call) {
  const bool is_post = call.method == Method::kPost;
  beast::http::request<beast::http::string_body> request{
      beast::http::string_to_verb(name_of(call.method)), call.target, 11};
  request.set(beast::http::field::host, place_of(call));
  request.set(beast::http::field::connection, "close");
  if (is_post) {
    request.set(beast::http::field::content_type, "application/json");
    request.body() = call.body;
    request.prepare_payload();
  }
  return request;
}

Error error_of(const Call& call, error_code code) {
  if (code == beast::http::error::body_limit || code == beast::http::error::header_limit) {
    return make_error(Errc::kLimit, place_of(call) + ": the answer is too large");
  }
  if (code == beast::error::timeout) {
    return make_error(
        Errc::kUnavailable,
        cdc::format("{}: no answer within {} ms", place_of(call), call.timeout.count()));
  }
  const bool is_syntax =
      code.category() == beast::http::make_error_code(beast::http::error::bad_method).category();
  const bool is_cut =
      code == beast::http::error::end_of_stream || code == beast::http::error::partial_message;
  if (is_syntax && !is_cut) {
    return make_error(Errc::kProtocol, place_of(call) + ": the answer is not HTTP");
  }
  return make_error(Errc::kUnavailable, place_of(call) + ": " + code.message());
}

// One exchange. Each step waits for the one before, so the first failure is the outcome.
class Exchange {
 public:
  explicit Exchange(const Call& call) : call_(call), request_(request_of(call)) {
    parser_.body_limit(kBodyBytesMax);
  }

  Result<Reply> run() {
    error_code code;
    const auto address = asio::ip::make_address(call_.address, code);
    if (code) {
      return fail(Errc::kInvalidArgument, place_of(call_) + ": not an IP address");
    }
    stream_.expires_after(call_.timeout);
    stream_.async_connect(Tcp::endpoint{address, call_.port}, [this](error_code error) {
      if (succeeded(error)) {
        write();
      }
    });
    context_.run();
    if (outcome_) {
      return fail(error_of(call_, outcome_));
    }
    return Reply{.status = parser_.get().result_int(), .body = std::move(parser_.get().body())};
  }

 private:
  bool succeeded(error_code code) {
    outcome_ = code;
    return !code;
  }

  void write() {
    beast::http::async_write(stream_, request_, [this](error_code code, std::size_t) {
      if (succeeded(code)) {
        read();
      }
    });
  }

  void read() {
    beast::http::async_read(stream_, buffer_, parser_, [this](error_code code, std::size_t) {
      static_cast<void>(succeeded(code));
    });
  }

  const Call& call_;
  asio::io_context context_{1};
  beast::tcp_stream stream_{context_};
  beast::http::request<beast::http::string_body> request_;
  beast::flat_buffer buffer_;
  beast::http::response_parser<beast::http::string_body> parser_;
  error_code outcome_;
};

}  // namespace

Result<Reply> call(const Call& call) {
  return Exchange(call).run();
}

}  // namespace cdc::http
