#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace cdc::http {

using Handler = std::function<Response(const Request&)>;

// Which handler answers what. Thread: filled by one, read by any afterwards.
class Router {
 public:
  struct Match {
    const Handler* handler = nullptr;
    std::string parameter;
    bool is_malformed = false;  // no target at all
    std::string allow;          // the methods of the path, when it is known but for others
  };

  // `pattern` is a path of which one segment may be a parameter: "/backfills/{table}/pause".
  void add(Method method, std::string_view pattern, Handler handler);

  // Lifetime: the handler's, this router's. `method` as it stands in the request.
  [[nodiscard]] Match find(std::string_view method, std::string_view target) const;

 private:
  struct Route {
    Method method;
    std::vector<std::string> segments;
    Handler handler;
  };

  std::vector<Route> routes_;
};

}  // namespace cdc::http
