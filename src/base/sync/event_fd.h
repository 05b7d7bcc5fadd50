#pragma once

#include "base/unique_handle.h"

namespace cdc {

// A wake-up that poll() can wait for beside any socket. Signals between two drains collapse into
// one. Thread: signal() from any; drain() from the one waiting thread.
class EventFd {
 public:
  EventFd();  // aborts when the process is out of descriptors: there is no way to go on

  void signal() noexcept;
  void drain() noexcept;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace cdc
