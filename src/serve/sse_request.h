#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "http/message.h"
#include "serve/event_filter.h"

namespace cdc::serve {

struct FromEarliest {};

struct FromLatest {};

// Where a client without a position begins: a Sequence is the first event it gets, a time that of
// the first commit.
using From = std::variant<FromLatest, FromEarliest, Sequence, UnixMicros>;

// What a client of /events asks for: docs/operating/sse.md.
struct Subscription {
  std::string consumer;  // empty: anonymous
  EventFilter filter;
  From from;
  std::optional<Sequence> last_event;  // Last-Event-ID: what the client has seen
  bool is_manual = false;              // its cursor moves with POST /ack alone
};

// Errors: kInvalidArgument naming the parameter.
[[nodiscard]] Result<Subscription> parse_subscription(const http::Request& request);

// "earliest", "latest", a sequence or an RFC 3339 time.
[[nodiscard]] Result<From> parse_from(std::string_view text);
[[nodiscard]] std::optional<Sequence> parse_sequence(std::string_view text);
[[nodiscard]] Status check_consumer_name(std::string_view name);

}  // namespace cdc::serve
