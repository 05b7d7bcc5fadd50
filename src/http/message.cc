#include "http/message.h"

#include "base/format.h"
#include "json/utf8.h"

namespace cdc::http {
namespace {

std::string quoted(std::string_view text) {
  json::TextBuffer buffer;
  json::append_any_string(buffer, text);
  return std::string(buffer.view());
}

unsigned status_of(Errc code) noexcept {
  switch (code) {
    case Errc::kNotFound:
      return 404;
    case Errc::kInvalidArgument:
      return 409;
    case Errc::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

}  // namespace

std::string_view name_of(Method method) noexcept {
  return method == Method::kGet ? "GET" : "POST";
}

Response error_response(unsigned status,
                        std::string_view code,
                        std::string_view message,
                        std::string_view hint) {
  Response response;
  response.status = status;
  response.body = cdc::format("{{\"error\":{{\"code\":{},\"message\":{},\"hint\":{}}}}}\n",
                              quoted(code),
                              quoted(message),
                              quoted(hint));
  return response;
}

Response error_response(const Error& error) {
  return error_response(status_of(error.code), cdc::name_of(error.code), error.message, error.hint);
}

}  // namespace cdc::http
