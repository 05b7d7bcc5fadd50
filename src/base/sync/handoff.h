#pragma once

#include <utility>

#include "base/sync/event_fd.h"
#include "base/sync/mutex.h"

namespace cdc {

// Passes whole batches from one thread to another, in order, without copying and without blocking.
//
// Purpose   One slot between a producer, which fills a batch, and a consumer, which drains one.
//           Three buffers circulate: the producer's, the slot's, the consumer's. While one batch is
//           being synced to disk the next waits in the slot and a third fills: group commit without
//           a tuning knob.
// States    free --try_put--> ready --try_take--> free; close() is final and is seen by the
//           consumer only after the slot is empty.
// Bounds    Three batches in all; a batch bounds its own bytes. A put never waits: the producer
//           keeps filling, or stops reading its source and polls free_fd().
// Thread    try_put, close, free_fd: the producer. try_take, ready_fd: the consumer.
template <class Batch>
class Handoff {
 public:
  enum class Take : unsigned char {
    kTaken,
    kEmpty,
    kClosed
  };

  // Swaps `batch` into the slot and gives back an emptied one. False when the slot is still full.
  [[nodiscard]] bool try_put(Batch& batch) {
    {
      MutexLock lock(mutex_);
      if (full_) {
        return false;
      }
      std::swap(batch, slot_);
      full_ = true;
    }
    ready_.signal();
    return true;
  }

  // Swaps the waiting batch out; `batch` must hold an emptied one for the producer to reuse.
  [[nodiscard]] Take try_take(Batch& batch) {
    {
      MutexLock lock(mutex_);
      if (!full_) {
        return closed_ ? Take::kClosed : Take::kEmpty;
      }
      std::swap(batch, slot_);
      full_ = false;
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
  Batch slot_ CDC_GUARDED_BY(mutex_);
  bool full_ CDC_GUARDED_BY(mutex_) = false;
  bool closed_ CDC_GUARDED_BY(mutex_) = false;
  EventFd ready_;
  EventFd free_;
};

}  // namespace cdc
