#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include "base/sync/event_fd.h"
#include "base/sync/mutex.h"
#include "state/cursor_store.h"

namespace cdc::delivery {

// A cursor store that can fail, and that tells when something is saved.
class MemoryCursors final : public state::CursorStore {
 public:
  Result<std::optional<state::Cursor>> load(std::string_view consumer) override {
    MutexLock lock(mutex_);
    const auto found = cursors_.find(consumer);
    return found == cursors_.end() ? std::nullopt : std::optional(found->second);
  }

  Status save(std::string_view consumer, const state::Cursor& cursor) override {
    {
      MutexLock lock(mutex_);
      ++save_count_;
      if (error_) {
        saved_.signal();
        return fail(*error_);
      }
      cursors_.insert_or_assign(std::string(consumer), cursor);
    }
    saved_.signal();
    return {};
  }

  Status remove(std::string_view consumer) override {
    MutexLock lock(mutex_);
    cursors_.erase(std::string(consumer));
    return {};
  }

  Result<std::vector<state::NamedCursor>> list() override {
    return std::vector<state::NamedCursor>{};
  }

  // All zero when there is none.
  [[nodiscard]] state::Cursor get(std::string_view consumer) const {
    MutexLock lock(mutex_);
    const auto found = cursors_.find(consumer);
    return found == cursors_.end() ? state::Cursor{} : found->second;
  }

  // From now on save() fails, or works again.
  void fail_with(std::optional<Error> error) {
    MutexLock lock(mutex_);
    error_ = std::move(error);
  }

  [[nodiscard]] int save_count() const {
    MutexLock lock(mutex_);
    return save_count_;
  }

  // Waits until something is saved (or refused) that was not waited for yet.
  void await_save() {
    pollfd saved{.fd = saved_.fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&saved, 1, 30'000), 1);
    saved_.drain();
  }

  void await_lowest(std::string_view consumer, Sequence lowest) {
    while (get(consumer).lowest() < lowest) {
      await_save();
    }
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, state::Cursor, std::less<>> cursors_ CDC_GUARDED_BY(mutex_);
  std::optional<Error> error_ CDC_GUARDED_BY(mutex_);
  int save_count_ CDC_GUARDED_BY(mutex_) = 0;
  EventFd saved_;
};

}  // namespace cdc::delivery
