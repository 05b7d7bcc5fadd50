// Proves what the parameters of /events mean, and which are refused.
#include "serve/sse_request.h"

#include <gtest/gtest.h>

#include "serve/secret.h"

namespace cdc::serve {
namespace {

std::int64_t micros_of(std::string_view text) {
  const auto from = parse_from(text);
  const auto* const time = from ? std::get_if<UnixMicros>(&*from) : nullptr;
  return time == nullptr ? -1 : time->value;
}

std::string fault_of(std::string target, std::string last_event = {}) {
  http::Request request{.parameter = {}, .body = {}, .target = std::move(target)};
  if (!last_event.empty()) {
    request.headers.push_back({.name = "last-event-id", .value = std::move(last_event)});
  }
  const auto subscription = parse_subscription(request);
  return subscription ? "" : subscription.error().message;
}

TEST(SseRequest, Times) {
  EXPECT_EQ(micros_of("1970-01-01T00:00:01Z"), 1'000'000);
  EXPECT_EQ(micros_of("1970-01-01T01:00:01.5+01:00"), 1'500'000);
  EXPECT_EQ(micros_of("1970-01-01t01:00:01.123456789 01:00"), 1'123'456);
  EXPECT_EQ(micros_of("1969-12-31T23:00:01-01:00"), 1'000'000);
  EXPECT_EQ(micros_of("2024-02-29T00:00:00Z"), 1'709'164'800'000'000);
  for (const char* text : {"2023-02-29T00:00:00Z",
                           "2023-13-01T00:00:00Z",
                           "2023-01-01T24:00:00Z",
                           "2023-01-01T00:60:00Z",
                           "2023-01-01T00:00:00",
                           "2023-01-01",
                           "2023-01-01T00:00:00Zx",
                           "2023-01-01T00:00:00+25:00",
                           "yesterday",
                           "-1",
                           "1.5"}) {
    EXPECT_FALSE(parse_from(text)) << text;
  }
}

TEST(SseRequest, Positions) {
  EXPECT_TRUE(std::holds_alternative<FromLatest>(parse_from("").value()));
  EXPECT_TRUE(std::holds_alternative<FromEarliest>(parse_from("earliest").value()));
  EXPECT_EQ(std::get<Sequence>(parse_from("18446744073709551615").value()).value, ~0ULL);
  EXPECT_FALSE(parse_from("18446744073709551616"));
}

TEST(SseRequest, TheHeaderWinsOverTheParameter) {
  http::Request request{.parameter = {}, .body = {}, .target = "/events?lastEventId=3"};
  EXPECT_EQ(parse_subscription(request)->last_event, Sequence{3});
  request.headers.push_back({.name = "Last-Event-ID", .value = "7"});
  EXPECT_EQ(parse_subscription(request)->last_event, Sequence{7});
}

TEST(SseRequest, Faults) {
  EXPECT_EQ(fault_of("/events?consumer=a%20b&tables=a,b.*&operations=insert,%20update"), "");
  EXPECT_EQ(fault_of("/events?tables=a,,b"), "tables: \"\": the table name is empty");
  EXPECT_EQ(fault_of("/events?operations=all"), "operations: \"all\" is not an operation");
  EXPECT_EQ(fault_of("/events?x=1"), "\"x\" is not a parameter");
  EXPECT_EQ(fault_of("/events?from=1&from=1"), "a parameter is given twice");
  EXPECT_EQ(fault_of("/events?a=%"), "the query cannot be decoded");
  EXPECT_EQ(fault_of("/events?ack=manual"), "ack: manual needs a consumer");
  EXPECT_EQ(fault_of("/events", "x"), "the last event id is not a number");
}

TEST(Secret, Equal) {
  EXPECT_TRUE(equal_secrets("abc", "abc"));
  EXPECT_FALSE(equal_secrets("abd", "abc"));
  EXPECT_FALSE(equal_secrets("ab", "abc"));
  EXPECT_FALSE(equal_secrets("abcabc", "abc"));
  EXPECT_FALSE(equal_secrets("", "abc"));
  EXPECT_FALSE(equal_secrets("a", ""));
}

}  // namespace
}  // namespace cdc::serve
