#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/unique_handle.h"

namespace cdc::http::testing {

// A socket to a server on loopback that sends what no decent client would. Every wait ends after
// ten seconds, which no test reaches.
class RawConnection {
 public:
  explicit RawConnection(std::uint16_t port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ =
        ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  [[nodiscard]] bool connected() const { return connected_; }

  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return;
      }
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  // One answer: its header and as much body as Content-Length says. What there is when the
  // connection ends before.
  [[nodiscard]] std::string answer(bool has_body = true) {
    for (;;) {
      const std::size_t end = received_.find("\r\n\r\n");
      if (end != std::string::npos) {
        const std::size_t length = end + 4 + (has_body ? body_bytes(end) : 0);
        if (received_.size() >= length) {
          std::string text = received_.substr(0, length);
          received_.erase(0, length);
          return text;
        }
      }
      if (!receive()) {
        return std::exchange(received_, {});
      }
    }
  }

  // Whatever came or comes next; empty when the connection ends or nothing comes.
  [[nodiscard]] std::string part() {
    if (received_.empty()) {
      static_cast<void>(receive());
    }
    return std::exchange(received_, {});
  }

  // Whether the server ends the connection, now or later, without a further byte.
  [[nodiscard]] bool ends() {
    while (receive()) {
    }
    return is_ended_ && received_.empty();
  }

 private:
  [[nodiscard]] std::size_t body_bytes(std::size_t end) const {
    constexpr std::string_view kName = "Content-Length: ";
    const std::size_t at = received_.substr(0, end).find(kName);
    return at == std::string::npos ? 0 : std::stoul(received_.substr(at + kName.size()));
  }

  bool receive() {
    pollfd poller{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&poller, 1, 10'000) != 1) {
      return false;
    }
    std::array<char, 4096> buffer{};
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    is_ended_ = got <= 0;
    received_.append(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    return got > 0;
  }

  UniqueFd socket_;
  bool connected_ = false;
  bool is_ended_ = false;
  std::string received_;
};

}  // namespace cdc::http::testing
