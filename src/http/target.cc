#include "http/target.h"

#include <algorithm>
#include <array>
#include <utility>

#include <arpa/inet.h>

namespace cdc::http {
namespace {

int digit_of(char c) noexcept {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// `plus` is what a plus sign stands for.
std::optional<std::string> decode(std::string_view text, char plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i] == '+' ? plus : text[i];
    if (c == '%') {
      const int high = i + 1 < text.size() ? digit_of(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? digit_of(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return std::nullopt;
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') {
      return std::nullopt;
    }
    decoded += c;
  }
  return decoded;
}

bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool is_address(int family, std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(family, std::string(text).c_str(), address.data()) == 1;
}

bool is_localhost(std::string_view text) {
  constexpr std::string_view kName = "localhost";
  return std::ranges::equal(text, kName, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
  });
}

// "" or ":1234".
bool is_port(std::string_view text) {
  return text.empty() ||
         (text.starts_with(':') && text.size() > 1 && text.size() <= 6 &&
          std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '9'; }));
}

}  // namespace

std::optional<std::vector<std::string>> path_segments(std::string_view target) {
  const std::string_view path = target.substr(0, target.find_first_of("?#"));
  if (!path.starts_with('/')) {
    return std::nullopt;
  }
  std::vector<std::string> segments;
  std::size_t begin = 1;
  for (;;) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    auto segment = decode(path.substr(begin, end - begin), '+');
    if (!segment) {
      return std::nullopt;
    }
    segments.push_back(std::move(*segment));
    if (end == path.size()) {
      return segments;
    }
    begin = end + 1;
  }
}

std::optional<std::vector<Parameter>> query_parameters(std::string_view target) {
  target = target.substr(0, target.find('#'));
  const std::size_t mark = std::min(target.find('?'), target.size());
  std::string_view query = target.substr(std::min(mark + 1, target.size()));
  std::vector<Parameter> parameters;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (part.empty()) {
      continue;
    }
    const std::size_t equals = std::min(part.find('='), part.size());
    auto name = decode(part.substr(0, equals), ' ');
    auto value = decode(part.substr(std::min(equals + 1, part.size())), ' ');
    if (!name || !value || parameters.size() == kParametersMax) {
      return std::nullopt;
    }
    parameters.push_back({.name = std::move(*name), .value = std::move(*value)});
  }
  return parameters;
}

std::string encode_segment(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += '%';
      encoded += kDigits[byte >> 4U];
      encoded += kDigits[byte & 15U];
    }
  }
  return encoded;
}

bool is_literal_host(std::string_view host) {
  if (host.contains('\0')) {
    return false;
  }
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end != std::string_view::npos && is_port(host.substr(end + 1)) &&
           is_address(AF_INET6, host.substr(1, end - 1));
  }
  const std::size_t colon = std::min(host.find(':'), host.size());
  const std::string_view name = host.substr(0, colon);
  return is_port(host.substr(colon)) && (is_address(AF_INET, name) || is_localhost(name));
}

}  // namespace cdc::http
