#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "http/message.h"

namespace cdc::http {

struct Call {
  std::string address = "127.0.0.1";  // an IP address
  std::uint16_t port = 0;
  Method method = Method::kGet;
  std::string target = "/";
  std::string body = {};  // JSON; of a POST
  std::chrono::milliseconds timeout{10'000};
};

struct Reply {
  unsigned status = 0;
  std::string body;  // 64 MiB at most
};

// Asks a server of ours once, over a connection of its own, and waits for the answer.
// Errors: kUnavailable when nobody answers, or not in time; kProtocol when the answer is not HTTP;
// kLimit when it is too large. All name address and port. Thread: any.
[[nodiscard]] Result<Reply> call(const Call& call);

}  // namespace cdc::http
