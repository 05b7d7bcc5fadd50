#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/sync/event_fd.h"
#include "base/sync/mutex.h"

namespace cdc {

// Messages from any thread to one owner: acknowledgements from library threads, requests to a loop.
// Bounds    `capacity` items; post() says false when full and the caller decides.
// Thread    post() from any; take_all() and event() from the owner.
template <class T>
class Inbox {
 public:
  explicit Inbox(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] bool post(T item) {
    {
      MutexLock lock(mutex_);
      if (items_.size() >= capacity_) {
        return false;
      }
      items_.push_back(std::move(item));
    }
    event_.signal();
    return true;
  }

  [[nodiscard]] std::vector<T> take_all() {
    event_.drain();
    MutexLock lock(mutex_);
    return std::exchange(items_, {});
  }

  [[nodiscard]] EventFd& event() noexcept { return event_; }

 private:
  std::size_t capacity_;
  Mutex mutex_;
  std::vector<T> items_ CDC_GUARDED_BY(mutex_);
  EventFd event_;
};

}  // namespace cdc
