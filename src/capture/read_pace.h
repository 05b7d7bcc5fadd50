#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace cdc::capture {

// Decides how long to leave the socket alone before it is read again.
//
// Why     A walsender whose client sleeps in poll() is flushed, and wakes that client, message by
//         message: half of its time. A client that looks away for a moment while there is a backlog
//         finds a large gulp and lets the same server send about twice as fast. A client that looks
//         away from a quiet stream only adds latency, so the pause depends on the last gulp.
class ReadPace {
 public:
  static constexpr std::size_t kBacklogBytes = 16U << 10U;
  static constexpr std::chrono::microseconds kPause{1'000};

  // `bytes`: how much the last emptying of the socket brought.
  [[nodiscard]] std::chrono::microseconds pause_after(std::size_t bytes) noexcept {
    backlog_ = bytes >= kBacklogBytes;
    return backlog_ ? kPause : std::chrono::microseconds{0};
  }

  [[nodiscard]] bool backlog() const noexcept { return backlog_; }

 private:
  bool backlog_ = false;
};

}  // namespace cdc::capture
