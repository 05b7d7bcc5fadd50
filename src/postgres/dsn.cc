#include "postgres/dsn.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <libpq-fe.h>

#include "postgres/connection.h"

namespace cdc::postgres {

namespace {

constexpr std::string_view kRedacted = "xxxxx";
constexpr std::string_view kHidden = "(connection string hidden)";
constexpr std::string_view kForms =
    "write postgres://user:password@host:5432/database, with special characters of the password "
    "percent-encoded, or host=... user=... dbname=...";

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};

struct FreeMemory {
  void operator()(char* text) const noexcept { PQfreemem(text); }
};

bool is_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::size_t uri_prefix_size(std::string_view text) noexcept {
  for (const std::string_view prefix : {"postgresql://", "postgres://"}) {
    if (text.starts_with(prefix)) {
      return prefix.size();
    }
  }
  return 0;
}

// libpq quotes the part of the text that it dislikes, which may be the password.
std::string without_quoted_text(std::string_view message) {
  while (!message.empty() && is_space(message.back())) {
    message.remove_suffix(1);
  }
  const std::size_t first = message.find('"');
  const std::size_t last = message.rfind('"');
  if (first == std::string_view::npos || first == last) {
    return std::string{message};
  }
  return std::string{message.substr(0, first)} + "..." + std::string{message.substr(last + 1)};
}

bool is_port_list(std::string_view ports) noexcept {
  std::uint32_t port = 0;
  for (const char c : ports) {
    if (c == ',') {
      port = 0;
      continue;
    }
    if (c < '0' || c > '9') {
      return false;
    }
    port = port * 10 + static_cast<std::uint32_t>(c - '0');
    if (port > 65'535) {
      return false;
    }
  }
  return true;
}

// A password with a bare `@`, `/` or `:` still parses, but its tail becomes host, port or database,
// and libpq's later messages would show it. Host names hold no such characters, so this is caught.
std::optional<std::string> misplaced_password(const Dsn& dsn) {
  constexpr std::string_view kWhy = "; a `@`, `:` or `/` in the password must be percent-encoded";
  if (dsn.get("host").find('@') != std::string_view::npos) {
    return "the host contains `@`" + std::string{kWhy};
  }
  if (!is_port_list(dsn.get("port"))) {
    return "the port is not a number from 1 to 65535" + std::string{kWhy};
  }
  if (dsn.get("user").empty() && dsn.get("dbname").find('@') != std::string_view::npos) {
    return "the database name contains `@` and there is no user" + std::string{kWhy};
  }
  return std::nullopt;
}

std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') {
      return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string redact_uri(std::string_view text) {
  std::string out{text.substr(0, uri_prefix_size(text))};
  text.remove_prefix(out.size());
  const std::size_t end = text.find_first_of("@/");
  if (end != std::string_view::npos && text[end] == '@') {
    const std::size_t colon = text.substr(0, end).find(':');
    if (colon != std::string_view::npos && colon + 1 < end) {
      out.append(text.substr(0, colon + 1)).append(kRedacted);
    } else {
      out.append(text.substr(0, end));
    }
    text.remove_prefix(end);
  }
  const std::size_t query = std::min(text.find('?'), text.size());
  out.append(text.substr(0, query));
  text.remove_prefix(query);
  while (!text.empty()) {
    out.push_back(text.front());  // `?` or `&`
    text.remove_prefix(1);
    const std::string_view parameter = text.substr(0, text.find('&'));
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    if (is_secret_keyword(percent_decoded(parameter.substr(0, equals))) &&
        equals + 1 < parameter.size()) {
      out.append(parameter.substr(0, equals + 1)).append(kRedacted);
    } else {
      out.append(parameter);
    }
    text.remove_prefix(parameter.size());
  }
  return out;
}

// The value at the start of `text`, quotes and escapes included, by libpq's rules.
std::size_t keyword_value_size(std::string_view text) noexcept {
  const bool quoted = text.starts_with('\'');
  std::size_t i = quoted ? 1 : 0;
  while (i < text.size()) {
    if (text[i] == '\\') {
      i += 2;
      continue;
    }
    if (quoted && text[i] == '\'') {
      return i + 1;
    }
    if (!quoted && is_space(text[i])) {
      break;
    }
    ++i;
  }
  return std::min(i, text.size());
}

std::string redact_keywords(std::string_view text) {
  std::string out;
  const auto copy = [&](std::size_t size) {
    out.append(text.substr(0, size));
    text.remove_prefix(size);
  };
  const auto copy_spaces = [&] {
    while (!text.empty() && is_space(text.front())) {
      copy(1);
    }
  };
  copy_spaces();
  while (!text.empty()) {
    std::size_t name_size = 0;
    while (name_size < text.size() && text[name_size] != '=' && !is_space(text[name_size])) {
      ++name_size;
    }
    const bool secret = is_secret_keyword(text.substr(0, name_size));
    copy(name_size);
    copy_spaces();
    copy(text.starts_with('=') ? 1 : 0);
    copy_spaces();
    const std::size_t value_size = keyword_value_size(text);
    if (secret && value_size > 0 && text.substr(0, value_size) != "''") {
      out.append(kRedacted);
      text.remove_prefix(value_size);
    } else {
      copy(value_size);
    }
    copy_spaces();
  }
  return out;
}

// The rewriting above is checked by libpq's own parser, so that a difference between the two can
// hide too much but never too little.
bool is_redaction_of(const Dsn& redacted, const Dsn& original) {
  if (redacted.options().size() != original.options().size()) {
    return false;
  }
  for (std::size_t i = 0; i < original.options().size(); ++i) {
    const Dsn::Option& before = original.options()[i];
    const Dsn::Option& after = redacted.options()[i];
    const bool secret = is_secret_keyword(before.keyword) && !before.value.empty();
    if (after.keyword != before.keyword || after.value != (secret ? kRedacted : before.value)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_secret_keyword(std::string_view keyword) noexcept {
  return keyword.ends_with("password");
}

Result<Dsn> Dsn::parse(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return fail(Errc::kConfigInvalid, "the connection string contains a zero byte");
  }
  const std::string copy{text};
  char* raw_message = nullptr;
  const std::unique_ptr<PQconninfoOption, FreeOptions> parsed{
      PQconninfoParse(copy.c_str(), &raw_message)};
  const std::unique_ptr<char, FreeMemory> message{raw_message};
  if (parsed == nullptr) {
    return fail(Errc::kConfigInvalid,
                "the connection string does not parse: " +
                    without_quoted_text(message == nullptr ? "out of memory" : message.get()),
                std::string{kForms});
  }
  Dsn dsn;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) {
      dsn.options_.push_back(Option{option->keyword, option->val});
    }
  }
  if (auto fault = misplaced_password(dsn)) {
    return fail(Errc::kConfigInvalid,
                "the connection string is not what it seems: " + *std::move(fault),
                std::string{kForms});
  }
  return dsn;
}

std::string_view Dsn::get(std::string_view keyword) const noexcept {
  for (const Option& option : options_) {
    if (option.keyword == keyword) {
      return option.value;
    }
  }
  return {};
}

std::size_t Dsn::host_count() const noexcept {
  const std::string_view hosts = get("host").empty() ? get("hostaddr") : get("host");
  return static_cast<std::size_t>(std::ranges::count(hosts, ',')) + 1;
}

std::string redact_dsn(std::string_view dsn) {
  const auto original = Dsn::parse(dsn);
  if (!original) {
    return std::string{kHidden};
  }
  std::string redacted = uri_prefix_size(dsn) > 0 ? redact_uri(dsn) : redact_keywords(dsn);
  const auto reparsed = Dsn::parse(redacted);
  if (!reparsed || !is_redaction_of(*reparsed, *original)) {
    return std::string{kHidden};
  }
  return redacted;
}

}  // namespace cdc::postgres
