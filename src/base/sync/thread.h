#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/sync/event_fd.h"

namespace cdc {

// A request to stop that several poll() loops can watch. Level-triggered: never drained.
// Thread: any; request() is async-signal-safe.
class StopSignal {
 public:
  void request() noexcept {
    requested_.store(true);
    event_.signal();
  }

  [[nodiscard]] bool requested() const noexcept { return requested_.load(); }

  [[nodiscard]] int fd() const noexcept { return event_.fd(); }

 private:
  std::atomic<bool> requested_{false};
  EventFd event_;
};

// A named thread, joined on destruction. An exception that escapes `body` aborts the process with
// its message. `name` is cut to 15 bytes, the limit of the kernel.
class Thread {
 public:
  Thread() = default;
  Thread(const std::string& name, std::function<void()> body);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&&) = delete;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread();

  void start(const std::string& name, std::function<void()> body);
  void join();

 private:
  std::thread thread_;
};

}  // namespace cdc
