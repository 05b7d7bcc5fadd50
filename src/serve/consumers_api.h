#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "http/router.h"
#include "journal/journal.h"
#include "serve/consumers.h"

namespace cdc::serve {

// The admin API of consumers: docs/operating/sse.md.
//
//   GET    /api/v1/consumers
//   GET    /api/v1/consumers/{consumer}
//   POST   /api/v1/consumers/{consumer}/reset   {"to":"earliest"}
//   DELETE /api/v1/consumers/{consumer}
//
// Lifetime: both outlive the server that gets the router. Thread: the handlers run on the server's.
void add_consumer_routes(http::Router& router, Consumers& consumers, journal::Journal& journal);

// The members of the array, with commas between; `last` is the last event of the log, or nothing
// when it is not known.
[[nodiscard]] std::string consumer_items_json(const std::vector<Consumer>& consumers,
                                              std::optional<Sequence> last);

// The reverse, for what `kaptanto consumers` is told.
struct ConsumerReport {
  std::vector<Consumer> consumers;
  std::optional<Sequence> last;
};

[[nodiscard]] Result<ConsumerReport> parse_consumers(std::string_view body);

// By id, or by the name of a client of the event stream.
[[nodiscard]] Result<Consumer> find_consumer(const std::vector<Consumer>& consumers,
                                             std::string_view name);

}  // namespace cdc::serve
