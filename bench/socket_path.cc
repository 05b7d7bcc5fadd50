#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/format.h"
#include "base/unique_handle.h"
#include "bench/receive_path.h"
#include "bench/wire.h"

namespace cdc::bench {
namespace {

constexpr std::size_t kHeaderBytes = 5;  // type byte and 32-bit length, which counts itself
constexpr std::uint32_t kProtocol3 = 196608;

class SocketPath final : public ReceivePath {
 public:
  SocketPath(UniqueFd fd, std::size_t read_bytes)
      : fd_(std::move(fd)), read_bytes_(read_bytes), buffer_(2 * read_bytes + 65536) {}

  // Sends the start-up packet and waits for ReadyForQuery.
  Status log_in(const ServerAddress& server) {
    std::string packet(4, '\0');
    append_u32(packet, kProtocol3);
    for (std::string_view word : {std::string_view("user"),
                                  std::string_view(server.user),
                                  std::string_view("database"),
                                  std::string_view(server.database),
                                  std::string_view("replication"),
                                  std::string_view("database")}) {
      packet.append(word).push_back('\0');
    }
    packet.push_back('\0');
    store_u32(packet.data(), static_cast<std::uint32_t>(packet.size()));
    CDC_TRY(write_all(packet));
    return wait_for('Z');
  }

  Status start(const std::string& command) override {
    std::string packet = "Q";
    append_u32(packet, static_cast<std::uint32_t>(command.size() + 5));
    packet.append(command).push_back('\0');
    CDC_TRY(write_all(packet));
    return wait_for('W');
  }

  bool may_have_more() const noexcept override { return true; }

  Result<bool> fill() override {
    make_room();
    const ssize_t taken = recv(fd_.get(), buffer_.data() + end_, read_bytes_, MSG_DONTWAIT);
    if (taken > 0) {
      end_ += static_cast<std::size_t>(taken);
      return true;
    }
    if (taken < 0 && (errno == EAGAIN || errno == EINTR)) {
      return false;
    }
    return fail(make_os_error(taken == 0 ? ECONNRESET : errno, "reading the stream"));
  }

  Result<std::optional<std::span<const std::uint8_t>>> next_message() override {
    for (;;) {
      const auto frame = next_frame();
      if (!frame) {
        return std::nullopt;
      }
      if (frame->front() == 'd') {
        return frame->subspan(kHeaderBytes);
      }
      if (frame->front() == 'E' || frame->front() == 'c') {
        return fail(Errc::kUnavailable, "the server ended the stream");
      }
    }
  }

  Status send(std::span<const std::uint8_t> body) override {
    std::string packet = "d";
    append_u32(packet, static_cast<std::uint32_t>(body.size() + 4));
    packet.append(reinterpret_cast<const char*>(body.data()), body.size());
    return write_all(packet);
  }

  int fd() const noexcept override { return fd_.get(); }

  int backend_pid() const noexcept override { return backend_pid_; }

 private:
  std::optional<std::span<const std::uint8_t>> next_frame() {
    const std::size_t held = end_ - begin_;
    if (held < kHeaderBytes) {
      return std::nullopt;
    }
    const std::uint8_t* at = buffer_.data() + begin_;
    const std::size_t length = std::size_t{1} + load_u32(at + 1);
    if (held < length) {
      return std::nullopt;
    }
    begin_ += length;
    return std::span(at, length);
  }

  void make_room() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (buffer_.size() - end_ < read_bytes_) {
      buffer_.resize(end_ + 2 * read_bytes_);
    }
  }

  // Reads frames up to the one of the given type.
  Status wait_for(char type) {
    for (;;) {
      const auto frame = next_frame();
      if (!frame) {
        pollfd item{.fd = fd_.get(), .events = POLLIN, .revents = 0};
        poll(&item, 1, 1000);
        CDC_TRY(fill());
        continue;
      }
      const char seen = static_cast<char>(frame->front());
      if (seen == 'E') {
        return fail(Errc::kUnavailable, "the server refused the connection or the command");
      }
      if (seen == 'R' && load_u32(frame->data() + kHeaderBytes) != 0) {
        return fail(Errc::kAuthentication, "only trust authentication is supported here");
      }
      if (seen == 'K') {
        backend_pid_ = static_cast<int>(load_u32(frame->data() + kHeaderBytes));
      }
      if (seen == type) {
        return {};
      }
    }
  }

  Status write_all(std::string_view data) {
    while (!data.empty()) {
      const ssize_t sent = ::send(fd_.get(), data.data(), data.size(), MSG_NOSIGNAL);
      if (sent < 0) {
        return fail(make_os_error(errno, "writing to the server"));
      }
      data.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  UniqueFd fd_;
  std::size_t read_bytes_;
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  int backend_pid_ = 0;
};

}  // namespace

Result<std::unique_ptr<ReceivePath>> open_socket_path(const ServerAddress& server,
                                                      std::size_t read_bytes,
                                                      int segment_bytes) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port);
  inet_pton(AF_INET, server.host.c_str(), &address.sin_addr);
  if (segment_bytes > 0) {
    setsockopt(fd.get(), IPPROTO_TCP, TCP_MAXSEG, &segment_bytes, sizeof segment_bytes);
  }
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(make_os_error(errno, cdc::format("connecting to {}:{}", server.host, server.port)));
  }
  const int one = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  auto path = std::make_unique<SocketPath>(std::move(fd), read_bytes);
  CDC_TRY(path->log_in(server));
  return path;
}

}  // namespace cdc::bench
