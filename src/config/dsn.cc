#include "config/dsn.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/format.h"

namespace cdc::config {
namespace {

constexpr const char* kFormHint =
    "write postgres://user@host:5432/database, or host=... user=... dbname=...";

bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_lower_or_underscore(char c) noexcept {
  return (c >= 'a' && c <= 'z') || c == '_';
}

bool is_hex(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Schemes that people do pass here. Others are not named in messages: the text before the :// may
// be anything.
constexpr std::array<std::string_view, 8> kForeignSchemes{
    "mysql", "mariadb", "sqlserver", "oracle", "jdbc:postgresql", "redis", "http", "https"};

Status check_uri_body(std::string_view body) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') {
      return fail(Errc::kConfigInvalid,
                  "the connection URI holds a blank or control character",
                  "write it as %20 or the like inside a URI");
    }
    if (c == '%' && (i + 2 >= body.size() || !is_hex(body[i + 1]) || !is_hex(body[i + 2]))) {
      return fail(Errc::kConfigInvalid,
                  "the connection URI holds a % that is not followed by two hexadecimal digits",
                  "write a per cent sign in a user name or password as %25");
    }
  }
  return {};
}

bool is_port(std::string_view text) noexcept {
  unsigned value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > 65'535) {
      return false;
    }
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value <= 65'535;
}

// The hosts between `://` and the path. A password with an unescaped / or @ is mostly noticed here,
// because what follows its colon then looks like a port.
Status check_uri_hosts(std::string_view body) {
  std::string_view hosts = body.substr(0, body.find_first_of("/?"));
  hosts.remove_prefix(hosts.find('@') + 1);  // none: npos + 1 is 0
  while (true) {
    const std::string_view host = hosts.substr(0, hosts.find(','));
    const std::size_t bracket = host.starts_with('[') ? host.find(']') : 0;
    const std::size_t colon = host.find(':', std::min(bracket, host.size()));
    const bool bad_port = colon != std::string_view::npos && !is_port(host.substr(colon + 1));
    if (bad_port || host.contains('@')) {
      return fail(Errc::kConfigInvalid,
                  "the connection URI names a host with an @, or a port that is not a number",
                  "a / or @ in a user name or password is written %2F or %40");
    }
    if (host.size() == hosts.size()) {
      return {};
    }
    hosts.remove_prefix(host.size() + 1);
  }
}

// Takes one value of the keyword form off `rest`; false when a quote is not closed.
bool skip_value(std::string_view& rest) noexcept {
  const bool is_quoted = rest.starts_with('\'');
  std::size_t i = is_quoted ? 1 : 0;
  while (i < rest.size()) {
    const char c = rest[i];
    if (is_quoted ? c == '\'' : is_blank(c)) {
      break;
    }
    i += c == '\\' ? 2 : 1;
  }
  if (is_quoted && i >= rest.size()) {
    return false;
  }
  rest.remove_prefix(std::min(i + (is_quoted ? 1 : 0), rest.size()));
  return true;
}

void skip_blanks(std::string_view& rest) noexcept {
  while (!rest.empty() && is_blank(rest.front())) {
    rest.remove_prefix(1);
  }
}

Status check_keywords(std::string_view rest) {
  skip_blanks(rest);
  while (!rest.empty()) {
    const auto* const end = std::ranges::find_if_not(rest, is_lower_or_underscore);
    const auto length = static_cast<std::size_t>(end - rest.begin());
    rest.remove_prefix(length);
    skip_blanks(rest);
    if (length == 0 || !rest.starts_with('=')) {
      return fail(Errc::kConfigInvalid, "this is not a PostgreSQL connection string", kFormHint);
    }
    rest.remove_prefix(1);
    skip_blanks(rest);
    if (!skip_value(rest)) {
      return fail(Errc::kConfigInvalid,
                  "a quoted value in the connection string is not closed",
                  "write \\' for a quote inside a quoted value");
    }
    skip_blanks(rest);
  }
  return {};
}

}  // namespace

Status check_dsn(std::string_view dsn) {
  if (dsn.contains('\0')) {
    return fail(Errc::kConfigInvalid, "the connection string holds a NUL byte");
  }
  for (const std::string_view scheme : {"postgres://", "postgresql://"}) {
    if (dsn.starts_with(scheme)) {
      CDC_TRY(check_uri_body(dsn.substr(scheme.size())));
      return check_uri_hosts(dsn.substr(scheme.size()));
    }
  }
  if (dsn.starts_with("mongodb://") || dsn.starts_with("mongodb+srv://")) {
    return fail(
        Errc::kUnsupported, "MongoDB sources are not in this version", "use a PostgreSQL source");
  }
  for (const std::string_view scheme : kForeignSchemes) {
    if (dsn.starts_with(scheme) && dsn.substr(scheme.size()).starts_with("://")) {
      return fail(Errc::kConfigInvalid,
                  cdc::format("{}:// is not a source this program can read", scheme),
                  kFormHint);
    }
  }
  return check_keywords(dsn);
}

}  // namespace cdc::config
