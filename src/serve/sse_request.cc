#include "serve/sse_request.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.h"
#include "http/target.h"
#include "json/utf8.h"

namespace cdc::serve {
namespace {

constexpr std::size_t kNameBytesMax = 128;
constexpr std::string_view kKnown[] = {
    "consumer", "tables", "operations", "where", "from", "ack", "lastEventId", "access_token"};

using Parameters = std::map<std::string, std::string, std::less<>>;

Result<Parameters> parameters_of(const http::Request& request) {
  auto list = http::query_parameters(request.target);
  if (!list) {
    return fail(Errc::kInvalidArgument,
                "the query cannot be decoded",
                "percent-encode what is not a letter or a digit");
  }
  Parameters parameters;
  for (http::Parameter& each : *list) {
    if (std::ranges::find(kKnown, each.name) == std::end(kKnown)) {
      return fail(Errc::kInvalidArgument,
                  cdc::format("\"{}\" is not a parameter", each.name),
                  "use consumer, tables, operations, from, ack, lastEventId, access_token");
    }
    if (!parameters.emplace(std::move(each.name), std::move(each.value)).second) {
      return fail(Errc::kInvalidArgument,
                  "a parameter is given twice",
                  "separate the items of a list with commas");
    }
  }
  return parameters;
}

// Digits of a fixed width; nothing else.
std::optional<int> take_number(std::string_view& text, std::size_t width) {
  int number = 0;
  if (text.size() < width) {
    return std::nullopt;
  }
  for (const char c : text.substr(0, width)) {
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(width);
  return number;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || !any_of.contains(text.front())) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

std::optional<std::int64_t> take_days(std::string_view& text) {
  const auto year = take_number(text, 4);
  const auto month = year && take(text, "-") ? take_number(text, 2) : std::nullopt;
  const auto day = month && take(text, "-") ? take_number(text, 2) : std::nullopt;
  if (!day) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date).time_since_epoch().count();
}

std::optional<std::int64_t> take_seconds(std::string_view& text) {
  const auto hour = take_number(text, 2);
  const auto minute = hour && take(text, ":") ? take_number(text, 2) : std::nullopt;
  const auto second = minute && take(text, ":") ? take_number(text, 2) : std::nullopt;
  if (!second || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  return (*hour * 60 + *minute) * 60 + *second;
}

// Further digits than six are cut off.
std::int64_t take_micros(std::string_view& text) {
  std::int64_t micros = 0;
  std::int64_t unit = 100'000;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    micros += unit * (text.front() - '0');
    unit /= 10;
    text.remove_prefix(1);
  }
  return micros;
}

// A plus sign that was not percent-encoded has become a blank.
std::optional<std::int64_t> take_offset_seconds(std::string_view& text) {
  if (take(text, "Zz")) {
    return 0;
  }
  const std::int64_t sign = text.starts_with('-') ? -1 : 1;
  if (!take(text, "+- ")) {
    return std::nullopt;
  }
  const auto hour = take_number(text, 2);
  const auto minute = hour && take(text, ":") ? take_number(text, 2) : std::nullopt;
  if (!minute || *hour > 23 || *minute > 59) {
    return std::nullopt;
  }
  return sign * (*hour * 60 + *minute) * 60;
}

std::optional<UnixMicros> parse_time(std::string_view text) {
  const auto days = take_days(text);
  const auto seconds = days && take(text, "Tt ") ? take_seconds(text) : std::nullopt;
  if (!seconds) {
    return std::nullopt;
  }
  const std::int64_t micros = take(text, ".") ? take_micros(text) : 0;
  const auto offset = take_offset_seconds(text);
  if (!offset || !text.empty()) {
    return std::nullopt;
  }
  return UnixMicros{(*days * 86'400 + *seconds - *offset) * 1'000'000 + micros};
}

// The header is what EventSource sends by itself when it reconnects; the parameter is for stand-ins
// that cannot set headers.
Result<std::optional<Sequence>> last_event_of(const http::Request& request,
                                              std::string_view parameter) {
  const std::string_view text = request.header("Last-Event-ID").value_or(parameter);
  if (text.empty()) {
    return std::nullopt;
  }
  const auto sequence = parse_sequence(text);
  if (!sequence) {
    return fail(Errc::kInvalidArgument,
                "the last event id is not a number",
                "send the id of the last event that was received, or none");
  }
  return sequence;
}

}  // namespace

std::optional<Sequence> parse_sequence(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = code == std::errc{} && end == text.data() + text.size();
  return is_whole ? std::optional(Sequence{value}) : std::nullopt;
}

Result<From> parse_from(std::string_view text) {
  if (text == "earliest") {
    return FromEarliest{};
  }
  if (text.empty() || text == "latest") {
    return FromLatest{};
  }
  if (const auto sequence = parse_sequence(text)) {
    return *sequence;
  }
  if (const auto time = parse_time(text)) {
    return *time;
  }
  return fail(Errc::kInvalidArgument,
              cdc::format("from: \"{}\" is no position", text),
              "use earliest, latest, the id of an event or a time such as 2026-01-31T12:00:00Z");
}

Status check_consumer_name(std::string_view name) {
  const bool is_plain =
      json::valid_utf8_prefix(name) == name.size() && std::ranges::none_of(name, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
      });
  if (name.empty() || name.size() > kNameBytesMax || !is_plain) {
    return fail(Errc::kInvalidArgument,
                cdc::format("consumer: a name is 1 to {} bytes of text without control characters",
                            kNameBytesMax),
                "leave the parameter out to read without a name");
  }
  return {};
}

Result<Subscription> parse_subscription(const http::Request& request) {
  CDC_ASSIGN(Parameters parameters, parameters_of(request));
  if (parameters.contains("where")) {
    return fail(Errc::kInvalidArgument,
                "where: conditions of clients are not in this version",
                "set `where` of the table in the configuration, or filter in the client");
  }
  Subscription subscription;
  CDC_ASSIGN(subscription.filter,
             EventFilter::parse(parameters["tables"], parameters["operations"]));
  CDC_ASSIGN(subscription.from, parse_from(parameters["from"]));
  CDC_ASSIGN(subscription.last_event, last_event_of(request, parameters["lastEventId"]));
  if (parameters.contains("consumer")) {
    subscription.consumer = std::move(parameters["consumer"]);
    CDC_TRY(check_consumer_name(subscription.consumer));
  }
  const std::string& ack = parameters["ack"];
  if (!ack.empty() && ack != "auto" && ack != "manual") {
    return fail(Errc::kInvalidArgument,
                cdc::format("ack: \"{}\" is not known", ack),
                "use auto, the default, or manual");
  }
  subscription.is_manual = ack == "manual";
  if (subscription.is_manual && subscription.consumer.empty()) {
    return fail(
        Errc::kInvalidArgument, "ack: manual needs a consumer", "name the client with consumer=");
  }
  return subscription;
}

}  // namespace cdc::serve
