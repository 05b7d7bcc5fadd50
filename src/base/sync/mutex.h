#pragma once

#include <mutex>

#if defined(__clang__)
#define CDC_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define CDC_THREAD_ATTRIBUTE(x)
#endif
#define CDC_GUARDED_BY(x) CDC_THREAD_ATTRIBUTE(guarded_by(x))

namespace cdc {

// std::mutex with the annotations of clang's -Wthread-safety, which ignores libstdc++'s.
class CDC_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() CDC_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }

  void unlock() CDC_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class CDC_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) CDC_THREAD_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }

  ~MutexLock() CDC_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace cdc
