#include "http/router.h"

#include <optional>
#include <utility>

#include "base/assert.h"
#include "http/target.h"

namespace cdc::http {
namespace {

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{');
}

// The parameter, empty for a pattern without one; nothing when the path is another.
std::optional<std::string> matched(const std::vector<std::string>& pattern,
                                   const std::vector<std::string>& path) {
  if (pattern.size() != path.size()) {
    return std::nullopt;
  }
  std::string parameter;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (is_parameter(pattern[i]) && !path[i].empty()) {
      parameter = path[i];
    } else if (pattern[i] != path[i]) {
      return std::nullopt;
    }
  }
  return parameter;
}

void add_method(std::string& list, std::string_view name) {
  list += list.empty() ? "" : ", ";
  list += name;
}

}  // namespace

void Router::add(Method method, std::string_view pattern, Handler handler) {
  auto segments = path_segments(pattern);
  CDC_ASSERT(segments.has_value());
  routes_.push_back(
      {.method = method, .segments = std::move(*segments), .handler = std::move(handler)});
}

Router::Match Router::find(std::string_view method, std::string_view target) const {
  Match match;
  const auto path = path_segments(target);
  if (!path) {
    match.is_malformed = true;
    return match;
  }
  for (const Route& route : routes_) {
    auto parameter = matched(route.segments, *path);
    if (!parameter) {
      continue;
    }
    const bool is_head = method == "HEAD" && route.method == Method::kGet;
    if (method == name_of(route.method) || is_head) {
      match.handler = &route.handler;
      match.parameter = std::move(*parameter);
      match.allow.clear();
      return match;
    }
    add_method(match.allow, name_of(route.method));
    if (route.method == Method::kGet) {
      add_method(match.allow, "HEAD");
    }
  }
  return match;
}

}  // namespace cdc::http
