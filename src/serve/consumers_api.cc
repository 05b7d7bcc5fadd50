#include "serve/consumers_api.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/format.h"
#include "journal/segment_list.h"
#include "json/escape.h"
#include "json/value.h"
#include "serve/sse_request.h"

namespace cdc::serve {
namespace {

using http::Method;
using http::Request;
using http::Response;

Sequence last_of(journal::Journal& journal) {
  return {journal.durable_sequence().load()};
}

Result<Consumer> find(Consumers& consumers, std::string_view name) {
  CDC_ASSIGN(const auto all, consumers.list());
  return find_consumer(all, name);
}

Response answer(Result<std::string> body) {
  if (!body) {
    return http::error_response(body.error());
  }
  Response response;
  response.body = std::move(*body);
  return response;
}

Result<std::string> list(Consumers& consumers, journal::Journal& journal) {
  const Sequence last = last_of(journal);
  CDC_ASSIGN(const auto all, consumers.list());
  return cdc::format(
      "{{\"last\":{},\"consumers\":[{}]}}\n", last.value, consumer_items_json(all, last));
}

Result<std::string> show(Consumers& consumers, journal::Journal& journal, std::string_view name) {
  const Sequence last = last_of(journal);
  CDC_ASSIGN(const Consumer consumer, find(consumers, name));
  return consumer_items_json({consumer}, last) + "\n";
}

Result<Sequence> position_in(std::string_view body, journal::Journal& journal) {
  CDC_ASSIGN(const json::Value document, json::parse(body));
  const auto text = document.text_of("to");
  if (!text || text->empty()) {
    return fail(Errc::kInvalidArgument, "to is missing", "send {\"to\":\"earliest\"}");
  }
  CDC_ASSIGN(const From from, parse_from(*text));
  const Sequence last = last_of(journal);
  const Sequence oldest =
      std::max(journal.segment_list().snapshot()->front().header.first, Sequence{1});
  if (std::holds_alternative<FromEarliest>(from)) {
    return Sequence{oldest.value - 1};
  }
  if (std::holds_alternative<FromLatest>(from)) {
    return last;
  }
  const auto* sequence = std::get_if<Sequence>(&from);
  if (sequence == nullptr || *sequence < oldest || sequence->value > last.value + 1) {
    return fail(
        Errc::kInvalidArgument,
        cdc::format("\"{}\" is not in the event log", *text),
        cdc::format("use earliest, latest or an id from {} to {}", oldest.value, last.value + 1));
  }
  return Sequence{sequence->value - 1};
}

Result<std::string> reset(Consumers& consumers, journal::Journal& journal, const Request& request) {
  CDC_ASSIGN(const Consumer consumer, find(consumers, request.parameter));
  CDC_ASSIGN(const Sequence position, position_in(request.body, journal));
  CDC_TRY(consumers.reset(consumer.id, position));
  return show(consumers, journal, consumer.id);
}

Result<std::string> remove(Consumers& consumers, std::string_view name) {
  CDC_ASSIGN(const Consumer consumer, find(consumers, name));
  CDC_TRY(consumers.remove(consumer.id));
  return cdc::format("{{\"deleted\":{}}}\n", json::quote(consumer.id));
}

}  // namespace

std::string consumer_items_json(const std::vector<Consumer>& consumers,
                                std::optional<Sequence> last) {
  std::string items;
  for (const Consumer& consumer : consumers) {
    items += items.empty() ? "" : ",";
    items += cdc::format("{{\"consumer\":{},\"position\":{},\"connected\":{},\"saved_at\":\"{}\"",
                         json::quote(consumer.id),
                         consumer.position.value,
                         consumer.is_connected,
                         format_rfc3339(UnixMicros{consumer.saved_unix_micros}));
    if (last) {
      const std::uint64_t passed = std::min(consumer.position.value, last->value);
      items += cdc::format(",\"behind\":{}", last->value - passed);
    }
    items += "}";
  }
  return items;
}

Result<ConsumerReport> parse_consumers(std::string_view body) {
  CDC_ASSIGN(const json::Value document, json::parse(body));
  ConsumerReport report;
  const json::Value* const list = document.find("consumers");
  const json::Value* const last = document.find("last");
  if (list == nullptr || last == nullptr) {
    return fail(Errc::kProtocol, "the answer does not list consumers");
  }
  report.last = Sequence{static_cast<std::uint64_t>(last->integer)};
  for (const json::Value& item : list->items) {
    const json::Value* const position = item.find("position");
    const json::Value* const connected = item.find("connected");
    const auto saved_at = parse_from(item.text_of("saved_at").value_or(""));
    const auto* const time = saved_at ? std::get_if<UnixMicros>(&*saved_at) : nullptr;
    if (position == nullptr || connected == nullptr || time == nullptr) {
      return fail(Errc::kProtocol, "the answer does not describe a consumer");
    }
    report.consumers.push_back({.id = std::string(item.text_of("consumer").value_or("")),
                                .position = {static_cast<std::uint64_t>(position->integer)},
                                .saved_unix_micros = time->value,
                                .is_connected = connected->boolean});
  }
  return report;
}

Result<Consumer> find_consumer(const std::vector<Consumer>& consumers, std::string_view name) {
  auto found = std::ranges::find(consumers, name, &Consumer::id);
  if (found == consumers.end()) {
    found = std::ranges::find(consumers, sse_consumer_id(name), &Consumer::id);
  }
  if (found == consumers.end()) {
    return fail(Errc::kNotFound,
                cdc::format("there is no consumer \"{}\"", name),
                "`kaptanto consumers list` shows them all");
  }
  return *found;
}

void add_consumer_routes(http::Router& router, Consumers& consumers, journal::Journal& journal) {
  router.add(Method::kGet, "/api/v1/consumers", [&consumers, &journal](const Request&) {
    return answer(list(consumers, journal));
  });
  router.add(
      Method::kGet, "/api/v1/consumers/{consumer}", [&consumers, &journal](const Request& request) {
        return answer(show(consumers, journal, request.parameter));
      });
  router.add(Method::kPost,
             "/api/v1/consumers/{consumer}/reset",
             [&consumers, &journal](const Request& request) {
               return answer(reset(consumers, journal, request));
             });
  router.add(Method::kDelete, "/api/v1/consumers/{consumer}", [&consumers](const Request& request) {
    return answer(remove(consumers, request.parameter));
  });
}

}  // namespace cdc::serve
