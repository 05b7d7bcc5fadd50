#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/sync/event_fd.h"
#include "base/sync/mutex.h"

namespace cdc {

// A 64-bit value that only grows, published by one thread and watched by others.
//
// Use       Reader loop: seen = load(); work; event().drain(); if (load() == seen)
//           poll(event().fd()). publish() stores first and signals after, so no advance is missed.
// Thread    publish() from one thread; load() from any; a Reader belongs to one thread.
// Lifetime  The watermark outlives its readers.
class Watermark {
 public:
  class Reader {
   public:
    explicit Reader(Watermark& watermark);
    ~Reader();
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    [[nodiscard]] std::uint64_t load() const noexcept { return watermark_.load(); }

    [[nodiscard]] EventFd& event() noexcept { return event_; }

   private:
    Watermark& watermark_;
    EventFd event_;
  };

  explicit Watermark(std::uint64_t initial = 0) noexcept : value_(initial) {}

  // `value` must not be lower than the one before.
  void publish(std::uint64_t value);

  [[nodiscard]] std::uint64_t load() const noexcept { return value_.load(); }

 private:
  std::atomic<std::uint64_t> value_;
  Mutex mutex_;
  std::vector<EventFd*> readers_ CDC_GUARDED_BY(mutex_);
};

}  // namespace cdc
