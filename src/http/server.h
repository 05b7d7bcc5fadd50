#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/sync/thread.h"
#include "http/router.h"

namespace cdc::http {

struct ServerOptions {
  std::string address = "127.0.0.1";  // an IP address
  std::uint16_t port = 0;             // 0: any free one
  std::size_t header_bytes_max = 16U << 10U;
  std::size_t body_bytes_max = 64U << 10U;
  std::size_t connections_max = 64;
  std::chrono::milliseconds request_time_max{10'000};  // to send a request, once begun
  std::chrono::milliseconds idle_time_max{60'000};     // between requests, and to take an answer
  std::chrono::milliseconds stall_time_max{30'000};    // for a stream's client to take anything
  bool any_host = false;  // names are welcome too: something else keeps strangers' pages out
};

// An HTTP/1.1 server on one thread of its own.
//
// Purpose  Answers requests by the handlers of a router, and everything else by an error whose body
//          is JSON. Who may ask what is for the handlers to say.
// Guards   Against pages of other sites in a browser on the same machine: a request whose Host is
//          neither an IP address nor localhost is refused unless `any_host`, and so is a POST that
//          is not application/json, which no page can send elsewhere without asking first.
// Streams  An answer without an end is sent until the connection closes, which ends it for the
//          client. A client that goes away, or that takes nothing for `stall_time_max`, is closed
//          at once, however much there is to send.
// Bounds   ServerOptions. A connection too many is told so and closed.
// Thread   All but the handlers: the owner. Handlers run on the server's thread, one at a time, and
//          must be quick.
class Server {
 public:
  // Errors: kConfigInvalid when the address cannot be had, kIo; both name it.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(const ServerOptions& options,
                                                              Router router);
  ~Server();  // closes everything at once, unless it was stopped
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  // Before start(): `ready` is called on the server's thread whenever `fd` can be read, and empties
  // it. `fd` stays the caller's and outlives the server.
  void watch(int fd, std::function<void()> ready);
  // Before start(): `tick` is called on the server's thread again and again.
  void every(std::chrono::milliseconds interval, std::function<void()> tick);

  void start();
  // Accepts no more, ends streams, finishes requests that are being sent or answered, and closes
  // what is still open after `grace`. Returns when all is closed.
  void stop(std::chrono::milliseconds grace);

 private:
  class Loop;

  Server(std::unique_ptr<Loop> loop, std::uint16_t port);

  std::unique_ptr<Loop> loop_;
  std::uint16_t port_;
  Thread thread_;
};

}  // namespace cdc::http
