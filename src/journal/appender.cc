#include "journal/appender.h"

#include <algorithm>
#include <array>
#include <utility>

#include <poll.h>

#include "base/assert.h"
#include "base/log.h"

namespace cdc::journal {

namespace {

// The frames that Journal::append makes of a batch.
std::uint64_t frames_of(const model::EventBatch& batch) {
  const bool ends = batch.boundary() > 0 || batch.acknowledge();
  return (ends ? 1U : 0U) + (batch.whole() ? 0U : 1U);
}

}  // namespace

std::string_view name_of(AppenderState state) noexcept {
  switch (state) {
    case AppenderState::kRunning:
      return "running";
    case AppenderState::kPaused:
      return "paused";
    case AppenderState::kFailed:
      return "failed";
    case AppenderState::kStopped:
      return "stopped";
  }
  return "unknown";
}

Appender::Appender(Journal& journal, Handoff<model::EventBatch>& handoff, AppenderOptions options)
    : journal_(journal), handoff_(handoff), options_(std::move(options)) {}

Appender::~Appender() {
  const AppenderState last = state();
  CDC_ASSERT(last == AppenderState::kStopped || last == AppenderState::kFailed);
}

void Appender::start() {
  set_state(AppenderState::kRunning);
  thread_.start("journal", [this] { run(); });
}

void Appender::stop() {
  stop_.request();
  thread_.join();
}

void Appender::run() {
  retention_due_ = monotonic_now();
  for (;;) {
    const Outcome outcome = append_group();
    if (outcome == Outcome::kFailed || !sync_group()) {
      return;
    }
    retain_if_due();
    const bool stopping = stop_.requested() && outcome != Outcome::kMore;
    if (outcome == Outcome::kClosed || stopping) {
      set_state(AppenderState::kStopped);
      return;
    }
    if (outcome == Outcome::kIdle) {
      wait();
    }
  }
}

// Appends what is waiting, up to the size of a group.
Appender::Outcome Appender::append_group() {
  while (group_bytes_ < options_.group_bytes_max) {
    if (!holding_) {
      switch (handoff_.try_take(batch_)) {
        case Handoff<model::EventBatch>::Take::kTaken:
          break;
        case Handoff<model::EventBatch>::Take::kEmpty:
          return Outcome::kIdle;
        case Handoff<model::EventBatch>::Take::kClosed:
          return Outcome::kClosed;
      }
      holding_ = true;
    }
    if (!append_one()) {
      return state() == AppenderState::kFailed ? Outcome::kFailed : Outcome::kIdle;
    }
  }
  return Outcome::kMore;
}

bool Appender::append_one() {
  if (auto appended = journal_.append(batch_); !appended) {
    const Error& error = appended.error();
    if (error.code == Errc::kNoSpace || error.code == Errc::kLimit) {
      pause(error);
    } else {
      fail_for_good(error);
    }
    return false;
  }
  resume();
  batches_.add(1);
  frames_.add(frames_of(batch_));
  events_.add(batch_.events().size());
  bytes_.add(batch_.bytes());
  batch_bytes_.observe(batch_.bytes());
  if (group_commit_.value == 0) {
    group_commit_ = batch_.first_commit();
  }
  group_bytes_ += batch_.bytes();
  group_open_ = true;
  batch_.reset(false, options_.batch_keep_bytes);
  holding_ = false;
  return true;
}

bool Appender::sync_group() {
  group_bytes_ = 0;
  if (!std::exchange(group_open_, false)) {
    return true;
  }
  const MonotonicTime begin = monotonic_now();
  if (auto synced = journal_.sync(); !synced) {
    fail_for_good(synced.error());
    return false;
  }
  syncs_.add(1);
  observe_sync(begin);
  durable_batches_.publish(batches_.load());
  return true;
}

// Clocks of two machines differ: a commit that seems to lie ahead counts as one of this moment.
void Appender::observe_sync(MonotonicTime begin) {
  const auto took = std::chrono::ceil<std::chrono::microseconds>(monotonic_now() - begin);
  sync_micros_.observe(static_cast<std::uint64_t>(took.count()));
  if (const UnixMicros commit = std::exchange(group_commit_, {}); commit.value != 0) {
    const std::int64_t age = unix_now().value - commit.value;
    commit_micros_.observe(static_cast<std::uint64_t>(std::max<std::int64_t>(age, 0)));
  }
}

// Failing to delete is worth a warning; whether the journal can go on, the next append tells.
void Appender::retain_if_due() {
  const MonotonicTime now = monotonic_now();
  if (!options_.passed || now < retention_due_) {
    return;
  }
  // A full journal waits for consumers to pass more of it: look as often as we try again.
  const bool paused = state() == AppenderState::kPaused;
  retention_due_ = now + (paused ? std::min(options_.retry_delay, options_.retention_interval)
                                 : options_.retention_interval);
  auto freed = journal_.retain(options_.passed(), std::chrono::system_clock::now());
  if (!freed) {
    log::warn("journal: retention failed", {{"error", freed.error().to_string()}});
  } else if (*freed > 0) {
    log::debug("journal: old segments deleted", {{"bytes", *freed}});
  }
}

void Appender::pause(const Error& error) {
  if (state() == AppenderState::kPaused) {
    return;
  }
  set_state(AppenderState::kPaused);
  retention_due_ = monotonic_now();
  log::warn("journal: paused, the source waits", {{"error", error.to_string()}});
}

void Appender::resume() {
  if (state() == AppenderState::kPaused) {
    set_state(AppenderState::kRunning);
    log::info("journal: there is room again, going on");
  }
}

void Appender::fail_for_good(const Error& error) {
  set_state(AppenderState::kFailed);
  log::error("journal: failed", {{"error", error.to_string()}});
  if (options_.on_failure) {
    options_.on_failure(error);
  }
}

// Until a batch, a request to stop, or the time of the next attempt or look at retention.
void Appender::wait() {
  std::array<pollfd, 2> fds{{{stop_.fd(), POLLIN, 0}, {handoff_.ready_event().fd(), POLLIN, 0}}};
  const nfds_t count = holding_ ? 1 : 2;  // with a batch in hand, another one changes nothing
  int timeout = -1;
  if (holding_) {
    timeout = static_cast<int>(options_.retry_delay.count());
  } else if (options_.passed) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(retention_due_ - monotonic_now());
    timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  ::poll(fds.data(), count, timeout);
  if (fds[1].revents != 0) {
    handoff_.ready_event().drain();
  }
}

}  // namespace cdc::journal
