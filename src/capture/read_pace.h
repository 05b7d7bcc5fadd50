#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace cdc::capture {

// Decides how long to leave the socket alone before it is read again.
//
// Why     A walsender sends message by message. As long as our kernel takes each at once, each
//         costs the server a segment: half of its time and more. A client that looks away for some
//         milliseconds lets them collect in the server's queue, and the same server is about
//         twice as fast. docs/adr/0008-read-pacing.md.
// When    Only under a backlog: kEntryBytes without a real wait in between. A live stream that
//         waits for its next commit never gets there, so its latency is untouched. A reading that
//         brings less than kBusyBytesPerMs ends it.
// How     The pause follows the rate, so that a reading brings about kGulpBytes: longer ones would
//         fill the server's queue and make it wait for us.
// Thread  One owner.
class ReadPace {
 public:
  using Micros = std::chrono::microseconds;

  static constexpr std::int64_t kEntryBytes = 64 << 10;
  static constexpr Micros kRealWait{1'000};
  static constexpr std::int64_t kBusyBytesPerMs = 8 << 10;
  static constexpr std::int64_t kGulpBytes = 1 << 20;
  static constexpr Micros kPauseMin{500};
  static constexpr Micros kPauseMax{20'000};

  // `near`: the server is on this machine or next to it. From a distant one nothing is gained.
  ReadPace(bool near, MonotonicTime now) noexcept : near_(near), last_(now) {}

  // The socket was emptied at `now` and had brought `bytes` since the last time.
  [[nodiscard]] Micros pause_after(std::uint64_t bytes, MonotonicTime now) noexcept {
    const auto elapsed = std::chrono::duration_cast<Micros>(now - last_);
    const auto count = static_cast<std::int64_t>(bytes);
    last_ = now;
    if (pause_.count() == 0) {
      run_bytes_ = elapsed >= kRealWait ? count : run_bytes_ + count;
      pause_ = near_ && run_bytes_ >= kEntryBytes ? kPauseMin : Micros{0};
    } else if (count * 1'000 < kBusyBytesPerMs * elapsed.count()) {
      pause_ = Micros{0};
      run_bytes_ = 0;
    } else {
      // Never more than twice as long as before: one burst says little about the next moment.
      const Micros wanted{kGulpBytes * elapsed.count() / std::max<std::int64_t>(1, count)};
      pause_ = std::clamp(wanted, kPauseMin, std::min(kPauseMax, 2 * pause_));
    }
    return pause_;
  }

  // The stream brings more than a trickle: batches may grow, for the next part is close behind.
  [[nodiscard]] bool backlog() const noexcept {
    return pause_.count() > 0 || run_bytes_ >= kEntryBytes;
  }

 private:
  bool near_;
  MonotonicTime last_;
  Micros pause_{0};
  std::int64_t run_bytes_ = 0;  // received without a real wait
};

}  // namespace cdc::capture
