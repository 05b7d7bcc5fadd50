#include "serve/sse_hub.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "journal/segment_list.h"
#include "json/escape.h"
#include "json/value.h"

namespace cdc::serve {
namespace {

using http::Method;
using http::Request;
using http::Response;

constexpr std::chrono::milliseconds kTick{250};
constexpr std::chrono::milliseconds kSaveInterval{1000};
// A client that asks for nothing for so long gives its buffers back.
constexpr std::chrono::seconds kParkAfter{10};
// How far the clock of the database may be behind ours.
constexpr std::int64_t kClockSkewMicros = 300'000'000;

// What a client asked wrongly; the rest as the admin API has it.
Response problem(const Error& error) {
  const unsigned status = error.code == Errc::kInvalidArgument ? 400
                          : error.code == Errc::kLimit         ? 410
                          : error.code == Errc::kClosed        ? 409
                                                               : 0;
  if (status == 0) {
    return http::error_response(error);
  }
  const std::string_view code = status == 410   ? "gone"
                                : status == 409 ? "conflict"
                                                : name_of(error.code);
  return http::error_response(status, code, error.message, error.hint);
}

Sequence oldest_of(const journal::Segments& segments) {
  return std::max(segments.front().header.first, Sequence{1});
}

// The first event of the first segment that may hold a commit of that time: those before it were
// full, and so the commits in them over, when the next one was created.
Sequence first_since(const journal::Segments& segments, UnixMicros time) {
  std::size_t index = 0;
  while (index + 1 < segments.size() &&
         segments[index + 1].header.created_unix_micros < time.value - kClockSkewMicros) {
    ++index;
  }
  return std::max(segments[index].header.first, Sequence{1});
}

}  // namespace

struct SseHub::Member {
  std::string id;  // of the consumer; empty: anonymous, or taken over
  std::string name;
  bool is_manual = false;
  Sequence saved;
  MonotonicTime saved_at;
  SseClient* client = nullptr;
};

// Tells the hub when the connection is over.
class SseHub::Connected final : public http::Stream {
 public:
  Connected(SseHub& hub, std::unique_ptr<SseClient> client)
      : hub_(hub), client_(std::move(client)) {
    client_->set_waker([this] { wake(); });
  }

  ~Connected() override { hub_.leave(client_.get()); }

  Connected(const Connected&) = delete;
  Connected& operator=(const Connected&) = delete;

  bool more(std::string& out) override { return client_->more(out); }

 private:
  SseHub& hub_;
  std::unique_ptr<SseClient> client_;
};

SseHub::SseHub(journal::Journal& journal, Consumers& consumers, Access access, SseOptions options)
    : journal_(journal),
      consumers_(consumers),
      access_(std::move(access)),
      options_(std::move(options)),
      durable_(journal.durable_sequence()) {
  for (const std::string& text : options_.tables) {
    if (auto pattern = expr::TablePattern::parse(text)) {
      captured_.push_back(std::move(*pattern));
    }
  }
}

SseHub::~SseHub() = default;

void SseHub::add_routes(http::Router& router) {
  const auto preflight = [this](const Request& request) {
    Response response = access_.preflight(request);
    access_.add_headers(request, response);
    return response;
  };
  router.add(Method::kGet, "/events", [this](const Request& request) {
    return guarded(request, &SseHub::open);
  });
  router.add(Method::kOptions, "/events", preflight);
  router.add(Method::kPost, "/ack", [this](const Request& request) {
    return guarded(request, &SseHub::acknowledge);
  });
  router.add(Method::kOptions, "/ack", preflight);
}

void SseHub::attach(http::Server& server) {
  server.watch(durable_.event().fd(), [this] {
    durable_.event().drain();
    wake_all();
  });
  server.every(kTick, [this] { tick(); });
}

Response SseHub::guarded(const Request& request, Response (SseHub::*handle)(const Request&)) {
  auto refusal = access_.refusal(request);
  Response response = refusal ? std::move(*refusal) : (this->*handle)(request);
  access_.add_headers(request, response);
  return response;
}

// ---- /events ------------------------------------------------------------------------------------

Response SseHub::open(const Request& request) {
  auto subscription = parse_subscription(request);
  if (!subscription) {
    return problem(subscription.error());
  }
  const std::string unknown = subscription->filter.unknown_table(captured_);
  if (!unknown.empty()) {
    return http::error_response(404,
                                "not_found",
                                cdc::format("table \"{}\" is not captured", unknown),
                                "name a table of the configuration");
  }
  Response response;
  if (!request.is_head) {
    auto connected = connect(std::move(*subscription));
    if (!connected) {
      return problem(connected.error());
    }
    response = std::move(*connected);
  }
  response.content_type = "text/event-stream";
  // Proxies that collect answers before they pass them on would hold the events back.
  response.headers.push_back({.name = "X-Accel-Buffering", .value = "no"});
  return response;
}

Result<Response> SseHub::connect(Subscription subscription) {
  const bool is_named = !subscription.consumer.empty();
  Member member{.id = is_named ? sse_consumer_id(subscription.consumer) : std::string(),
                .name = subscription.consumer,
                .is_manual = subscription.is_manual,
                .saved = {},
                .saved_at = {}};
  const auto before = named_.find(subscription.consumer);
  const bool is_taken_over = is_named && before != named_.end();
  if (is_taken_over) {
    save(members_.at(before->second));
  }
  std::optional<Sequence> saved;
  if (is_named) {
    CDC_ASSIGN(saved, consumers_.position(member.id));
  }
  CDC_ASSIGN(const StartPoint start, start_of(subscription, saved));
  member.saved = saved.value_or(Sequence{start.next.value - 1});
  if (is_named && !saved) {
    CDC_TRY(consumers_.save(member.id, member.saved));
  }
  if (is_taken_over) {
    members_.at(before->second).id.clear();
    before->second->end("another connection of this consumer has taken over");
    named_.erase(before);
  }
  auto client = std::make_unique<SseClient>(
      journal_, std::move(subscription.filter), start, options_.helping_bytes);
  SseClient* const key = client.get();
  member.client = key;
  if (is_named) {
    consumers_.set_connected(member.id, true);
    named_.emplace(member.name, key);
  }
  members_.emplace(key, std::move(member));
  Response response;
  response.stream = std::make_shared<Connected>(*this, std::move(client));
  return response;
}

Result<StartPoint> SseHub::start_of(const Subscription& subscription,
                                    std::optional<Sequence> saved) const {
  // What was not acknowledged must come again, whatever the client has seen of it.
  const bool is_seen_enough = !(subscription.is_manual && saved);
  if (subscription.last_event && is_seen_enough) {
    return resume_after(*subscription.last_event);
  }
  return saved ? resume_after(*saved) : start_from(subscription.from);
}

StartPoint SseHub::resume_after(Sequence position) const {
  const Sequence last{journal_.durable_sequence().load()};
  const Sequence oldest = oldest_of(*journal_.segment_list().snapshot());
  if (position > last) {
    // An id of another event log. What it had behind that one nobody knows.
    return {.next = oldest,
            .gap = Gap{.from = {last.value + 1}, .to = position, .reason = "unknown_position"}};
  }
  const Sequence next{position.value + 1};
  if (next < oldest) {
    return {.next = oldest,
            .gap = Gap{.from = next, .to = {oldest.value - 1}, .reason = "retention"}};
  }
  return {.next = next, .gap = std::nullopt};
}

Result<StartPoint> SseHub::start_from(const From& from) const {
  const Sequence last{journal_.durable_sequence().load()};
  const auto segments = journal_.segment_list().snapshot();
  const Sequence oldest = oldest_of(*segments);
  if (std::holds_alternative<FromEarliest>(from)) {
    return StartPoint{.next = oldest, .gap = std::nullopt};
  }
  if (const auto* time = std::get_if<UnixMicros>(&from)) {
    return StartPoint{.next = first_since(*segments, *time),
                      .skip_before = std::max<std::int64_t>(time->value / 1000, 0),
                      .gap = std::nullopt};
  }
  const auto* wanted = std::get_if<Sequence>(&from);
  if (wanted == nullptr) {
    return StartPoint{.next = {last.value + 1}, .gap = std::nullopt};
  }
  const Sequence next = std::max(*wanted, Sequence{1});
  if (next < oldest) {
    return fail(
        Errc::kLimit,
        cdc::format(
            "event {} is no longer in the event log, the oldest is {}", next.value, oldest.value),
        "use from=earliest, and raise the retention if clients must be able to lag");
  }
  if (next.value > last.value + 1) {
    return fail(Errc::kInvalidArgument,
                cdc::format("event {} does not exist yet, the last is {}", next.value, last.value),
                "use from=latest");
  }
  return StartPoint{.next = next, .gap = std::nullopt};
}

// ---- /ack ---------------------------------------------------------------------------------------

Response SseHub::acknowledge(const Request& request) {
  auto response = acknowledge_in(request.body);
  return response ? std::move(*response) : problem(response.error());
}

Result<Response> SseHub::acknowledge_in(std::string_view body) {
  constexpr std::string_view kForm = R"(send {"consumer":"name","id":"id of an event"})";
  CDC_ASSIGN(const json::Value document, json::parse(body));
  const auto name = document.text_of("consumer");
  const json::Value* const id = document.find("id");
  if (!name || id == nullptr) {
    return fail(Errc::kInvalidArgument, "consumer or id is missing", std::string(kForm));
  }
  const bool is_number = id->kind == json::Value::Kind::kInteger && id->integer >= 0;
  const auto position = is_number ? std::optional(Sequence{static_cast<std::uint64_t>(id->integer)})
                                  : parse_sequence(id->text);
  if (!position) {
    return fail(Errc::kInvalidArgument, "id is not the id of an event", std::string(kForm));
  }
  const std::string consumer = sse_consumer_id(*name);
  CDC_ASSIGN(const auto saved, consumers_.position(consumer));
  if (!saved) {
    return fail(Errc::kNotFound,
                cdc::format("there is no consumer \"{}\"", *name),
                "it comes to be with its first GET /events?consumer=");
  }
  const auto connected = named_.find(*name);
  if (connected != named_.end() && !members_.at(connected->second).is_manual) {
    return fail(Errc::kClosed,
                cdc::format("consumer \"{}\" acknowledges by reading", *name),
                "connect it with ack=manual");
  }
  if (position->value > journal_.durable_sequence().load()) {
    return fail(Errc::kClosed,
                cdc::format("event {} does not exist yet", position->value),
                "acknowledge what was received");
  }
  const Sequence moved = std::max(*saved, *position);
  if (moved > *saved) {
    CDC_TRY(consumers_.save(consumer, moved));
  }
  Response response;
  response.body =
      cdc::format("{{\"consumer\":{},\"acknowledged\":{}}}\n", json::quote(*name), moved.value);
  return response;
}

// ---- Clients ------------------------------------------------------------------------------------

void SseHub::save(Member& member) {
  const Sequence taken = member.client->taken();
  if (member.id.empty() || member.is_manual || taken == member.saved) {
    return;
  }
  member.saved_at = monotonic_now();
  if (const Status saved = consumers_.save(member.id, taken); !saved) {
    log::warn("a consumer's position was not saved",
              {{"consumer", member.id}, {"error", saved.error().to_string()}});
    return;
  }
  member.saved = taken;
}

void SseHub::leave(const SseClient* client) {
  const auto found = members_.find(client);
  Member& member = found->second;
  save(member);
  if (!member.id.empty()) {
    consumers_.set_connected(member.id, false);
    named_.erase(member.name);
  }
  members_.erase(found);
}

void SseHub::wake_all() {
  for (const auto& [client, member] : members_) {
    client->wake();
  }
}

void SseHub::tick() {
  const MonotonicTime now = monotonic_now();
  for (auto& [client, member] : members_) {
    if (now - member.saved_at >= kSaveInterval) {
      save(member);
    }
    if (now - client->gave_at() >= options_.heartbeat) {
      member.client->beat();
    }
    if (now - client->asked_at() >= kParkAfter) {
      member.client->park();
    }
  }
}

}  // namespace cdc::serve
