#include "base/sync/watermark.h"

#include <vector>

#include "base/assert.h"

namespace cdc {

Watermark::Reader::Reader(Watermark& watermark) : watermark_(watermark) {
  MutexLock lock(watermark_.mutex_);
  watermark_.readers_.push_back(&event_);
}

Watermark::Reader::~Reader() {
  MutexLock lock(watermark_.mutex_);
  std::erase(watermark_.readers_, &event_);
}

void Watermark::publish(std::uint64_t value) {
  CDC_ASSERT(value >= value_.load());
  value_.store(value);
  MutexLock lock(mutex_);
  for (EventFd* reader : readers_) {
    reader->signal();
  }
}

}  // namespace cdc
