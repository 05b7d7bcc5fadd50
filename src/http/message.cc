#include "http/message.h"

#include <algorithm>

#include "base/format.h"
#include "json/utf8.h"

namespace cdc::http {
namespace {

std::string quoted(std::string_view text) {
  json::TextBuffer buffer;
  json::append_any_string(buffer, text);
  return std::string(buffer.view());
}

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
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
  constexpr std::string_view kNames[] = {"GET", "POST", "DELETE", "OPTIONS"};
  return kNames[static_cast<std::uint8_t>(method)];
}

std::optional<std::string_view> Request::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [&](const Field& field) {
    return std::ranges::equal(field.name, name, {}, lower, lower);
  });
  return found == headers.end() ? std::nullopt : std::optional<std::string_view>(found->value);
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
