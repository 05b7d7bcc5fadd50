#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/sync/watermark.h"
#include "expr/table_pattern.h"
#include "http/router.h"
#include "http/server.h"
#include "journal/journal.h"
#include "serve/access.h"
#include "serve/consumers.h"
#include "serve/sse_client.h"
#include "serve/sse_request.h"

namespace cdc::serve {

struct SseOptions {
  std::chrono::milliseconds heartbeat{15'000};
  std::size_t helping_bytes = 256U << 10U;  // what a client's connection holds unsent
  std::vector<std::string> tables;          // patterns of what is captured; empty: all
};

// The data plane for applications: docs/operating/sse.md.
//
//   GET  /events?consumer=&tables=&operations=&from=&ack=
//   POST /ack                                              {"consumer":"…","id":…}
//
// Invariants  H1 a named consumer has one connection: a second one ends the first.
//             H2 a saved position never exceeds what the socket took, or what was acknowledged.
// Lifetime    It outlives the server, and what it is given outlives it.
// Thread      The server's, but for the constructor and attach().
class SseHub {
 public:
  SseHub(journal::Journal& journal, Consumers& consumers, Access access, SseOptions options);
  ~SseHub();
  SseHub(const SseHub&) = delete;
  SseHub& operator=(const SseHub&) = delete;

  void add_routes(http::Router& router);
  // Before the server starts.
  void attach(http::Server& server);

 private:
  class Connected;
  struct Member;

  [[nodiscard]] http::Response open(const http::Request& request);
  [[nodiscard]] http::Response acknowledge(const http::Request& request);
  [[nodiscard]] http::Response guarded(const http::Request& request,
                                       http::Response (SseHub::*handle)(const http::Request&));
  [[nodiscard]] Result<http::Response> connect(Subscription subscription);
  [[nodiscard]] Result<http::Response> acknowledge_in(std::string_view body);
  [[nodiscard]] Result<StartPoint> start_of(const Subscription& subscription,
                                            std::optional<Sequence> saved) const;
  [[nodiscard]] Result<StartPoint> start_from(const From& from) const;
  [[nodiscard]] StartPoint resume_after(Sequence position) const;
  void save(Member& member);
  void leave(const SseClient* client);
  void wake_all();
  void tick();

  journal::Journal& journal_;
  Consumers& consumers_;
  Access access_;
  SseOptions options_;
  std::vector<expr::TablePattern> captured_;
  Watermark::Reader durable_;
  std::unordered_map<const SseClient*, Member> members_;
  std::map<std::string, SseClient*, std::less<>> named_;
};

}  // namespace cdc::serve
