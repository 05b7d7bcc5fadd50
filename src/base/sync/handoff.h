#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "base/sync/event_fd.h"
#include "base/sync/mutex.h"

namespace cdc {

// Passes whole batches from one thread to another, in order, without copying and without blocking.
//
// Purpose   A few slots between a producer, which fills a batch, and a consumer, which drains one.
//           While one batch is being synced to disk the next ones wait in their slots: group commit
//           without a tuning knob.
// States    free --try_put--> ready --try_take--> free; close() is final and is seen by the
//           consumer only after all slots are empty.
// Bounds    kSlots batches, the producer's and the consumer's; a batch bounds its own bytes. A put
//           never waits: the producer keeps filling, or stops reading its source and polls
//           free_event().
// Memory    Batches circulate. As long as the consumer keeps up, the same few do, and stay warm.
// Thread    try_put, close, free_event: the producer. try_take, ready_event: the consumer.
template <class Batch>
class Handoff {
 public:
  static constexpr std::size_t kSlots = 4;

  enum class Take : unsigned char {
    kTaken,
    kEmpty,
    kClosed
  };

  // Swaps `batch` into a slot and gives back an emptied one. False when all slots are full.
  [[nodiscard]] bool try_put(Batch& batch) {
    {
      MutexLock lock(mutex_);
      if (ready_count_ == kSlots) {
        return false;
      }
      if (ready_count_ == 0) {
        first_ = emptied_;
      }
      std::swap(batch, slots_[(first_ + ready_count_) % kSlots]);
      ++ready_count_;
    }
    ready_.signal();
    return true;
  }

  // Swaps the oldest waiting batch out; `batch` must hold an emptied one for the producer to reuse.
  [[nodiscard]] Take try_take(Batch& batch) {
    {
      MutexLock lock(mutex_);
      if (ready_count_ == 0) {
        return closed_ ? Take::kClosed : Take::kEmpty;
      }
      std::swap(batch, slots_[first_]);
      emptied_ = first_;
      first_ = (first_ + 1) % kSlots;
      --ready_count_;
    }
    free_.signal();
    return Take::kTaken;
  }

  void close() {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    ready_.signal();
  }

  // Readable after a put or close() (drain before try_take), and after a take (drain before
  // try_put).
  [[nodiscard]] EventFd& ready_event() noexcept { return ready_; }

  [[nodiscard]] EventFd& free_event() noexcept { return free_; }

 private:
  Mutex mutex_;
  std::array<Batch, kSlots> slots_ CDC_GUARDED_BY(mutex_);
  std::size_t first_ CDC_GUARDED_BY(mutex_) = 0;  // oldest ready one
  std::size_t ready_count_ CDC_GUARDED_BY(mutex_) = 0;
  std::size_t emptied_ CDC_GUARDED_BY(mutex_) = 0;  // the latest
  bool closed_ CDC_GUARDED_BY(mutex_) = false;
  EventFd ready_;
  EventFd free_;
};

}  // namespace cdc
