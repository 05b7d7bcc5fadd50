#include "base/sync/event_fd.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"

namespace cdc {

EventFd::EventFd() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  CDC_ASSERT(fd_.get() >= 0);
}

void EventFd::signal() noexcept {
  const std::uint64_t one = 1;
  // The only failure is a counter at its maximum, which is a pending signal already.
  [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
}

void EventFd::drain() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
}

}  // namespace cdc
