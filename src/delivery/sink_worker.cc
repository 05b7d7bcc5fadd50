#include "delivery/sink_worker.h"

#include <algorithm>
#include <array>
#include <utility>

#include <poll.h>

#include "base/assert.h"
#include "base/format.h"
#include "base/hash.h"
#include "base/log.h"

namespace cdc::delivery {
namespace {

using std::chrono::milliseconds;

// What a sink gets to finish what it has begun when the worker ends by an error.
constexpr milliseconds kEndGrace{1'000};

// poll() counts in milliseconds: round up, so that a timer has always expired when it wakes us.
int poll_timeout(MonotonicTime until) {
  const auto left = std::chrono::ceil<milliseconds>(until - monotonic_now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000));
}

}  // namespace

SinkWorker::SinkWorker(journal::Journal& journal,
                       state::CursorStore& cursors,
                       Sink& sink,
                       Options options,
                       EndHandler on_end)
    : journal_(journal),
      cursors_(cursors),
      sink_(sink),
      options_(std::move(options)),
      on_end_(std::move(on_end)),
      durable_(journal.durable_sequence()),
      window_(options_.in_flight, state::Cursor{}),
      backoff_(options_.backoff,
               hash64(options_.consumer, static_cast<std::uint64_t>(unix_now().value))) {}

SinkWorker::~SinkWorker() {
  stop(monotonic_now());
  join();
}

void SinkWorker::start() {
  thread_.start("sink " + options_.consumer, [this] { run(); });
}

void SinkWorker::stop(MonotonicTime deadline) {
  const MonotonicTime now = monotonic_now();
  const MonotonicTime drain_until =
      now + std::max(deadline - now, MonotonicTime::duration::zero()) / 2;
  {
    MutexLock lock(mutex_);
    if (stop_request_ && stop_request_->deadline <= deadline) {
      return;
    }
    stop_request_ = StopRequest{.drain_until = drain_until, .deadline = deadline};
  }
  stop_event_.signal();
}

void SinkWorker::join() {
  thread_.join();
}

std::optional<SinkWorker::StopRequest> SinkWorker::stop_request() const {
  MutexLock lock(mutex_);
  return stop_request_;
}

void SinkWorker::run() {
  const Status status = serve();
  finish();
  if (!status) {
    on_end_(status.error());
  }
}

Status SinkWorker::serve() {
  CDC_TRY(open());
  for (;;) {
    // Before the watermark: what was durable when stop() was called is delivered.
    const std::optional<StopRequest> request = stop_request();
    if (request && monotonic_now() >= request->drain_until) {
      return {};
    }
    limit_ = Sequence{durable_.load()};
    if (timed_.value == 0 && limit_ > window_.settled_through()) {
      timed_ = limit_;
      timed_since_ = monotonic_now();
    }
    const Result<Step> step = advance();
    publish_figures();
    if (window_.acknowledged_count() != acknowledged_count_) {
      acknowledged_count_ = window_.acknowledged_count();
      backoff_.reset();
    }
    CDC_TRY(save_cursor_when_due());
    CDC_ASSIGN(const bool is_over, react(step, request.has_value()));
    if (is_over) {
      return {};
    }
  }
}

void SinkWorker::publish_figures() {
  const Sequence settled = window_.settled_through();
  figures_.acknowledged.set(settled.value);
  figures_.delivered.add(window_.acknowledged_count() - acknowledged_count_);
  if (timed_.value != 0 && settled >= timed_) {
    const auto delay = std::chrono::ceil<std::chrono::microseconds>(monotonic_now() - timed_since_);
    figures_.delay_micros.observe(static_cast<std::uint64_t>(delay.count()));
    timed_ = {};
  }
}

// Waits for whatever the next step needs. True when the worker was asked to stop and has no more to
// do, or can do no more for now.
Result<bool> SinkWorker::react(const Result<Step>& step, bool is_stopping) {
  if (!step) {
    if (!step.error().is_retryable()) {
      return fail(step.error());
    }
    if (!is_stopping) {
      CDC_TRY(back_off(step.error()));
    }
    return is_stopping;
  }
  if (is_stopping && *step == Step::kAwaitJournal && window_.is_idle()) {
    return true;
  }
  if (*step != Step::kAgain) {
    wait(*step);
  }
  return false;
}

Status SinkWorker::open() {
  const Sequence last{durable_.load()};
  const Sequence oldest = journal::Reader(journal_.segment_list(), Sequence{1}).oldest();
  CDC_ASSIGN(const std::optional<state::Cursor> stored, cursors_.load(options_.consumer));
  if (stored) {
    saved_ = *stored;
    CDC_TRY(check_in_journal(oldest, last));
  } else {
    // Saved at once, so that a consumer keeps the place where it began even if it acknowledges
    // nothing before the next start.
    const bool at_oldest = options_.start_at == StartAt::kEarliest && oldest.value > 0;
    saved_.lanes.fill(at_oldest ? Sequence{oldest.value - 1} : last);
    CDC_TRY(cursors_.save(options_.consumer, saved_));
  }
  saved_at_ = monotonic_now();
  window_ = AckWindow(options_.in_flight, saved_);
  passed_.publish(saved_.lowest().value);
  figures_.acknowledged.set(saved_.lowest().value);
  seek(Sequence{saved_.lowest().value + 1});
  return {};
}

// A cursor that the journal cannot serve means lost events, which is never passed over in silence.
Status SinkWorker::check_in_journal(Sequence oldest, Sequence last) const {
  const Sequence lowest = saved_.lowest();
  const Sequence highest = *std::ranges::max_element(saved_.lanes);
  if (highest > last) {
    return fail(Errc::kCorrupt,
                cdc::format("consumer \"{}\" has acknowledged event {}, but the journal ends at {}",
                            options_.consumer,
                            highest.value,
                            last.value),
                "the journal was replaced or has lost its end: restore it, or remove cursors.db to "
                "deliver everything in the journal again");
  }
  if (lowest.value + 1 < oldest.value) {
    return fail(
        Errc::kNotFound,
        cdc::format("consumer \"{}\" goes on behind event {}, but the oldest in the journal "
                    "is {}",
                    options_.consumer,
                    lowest.value,
                    oldest.value),
        "events were removed while this consumer was not in use: remove cursors.db to go on "
        "with the oldest event");
  }
  return {};
}

Result<SinkWorker::Step> SinkWorker::advance() {
  if (!sink_started_) {
    CDC_TRY(sink_.start());
    sink_started_ = true;
  }
  CDC_TRY(sink_.poll_acks(window_));
  CDC_ASSIGN(const bool has_frame, load_frame());
  if (!has_frame) {
    return Step::kAwaitJournal;
  }
  if (skip_unwanted()) {
    return Step::kAgain;
  }
  return submit(wanted_end());
}

// Offers frame_.events[next_..end], as far as there is room for them.
Result<SinkWorker::Step> SinkWorker::submit(std::size_t end) {
  // Cut in place, since a copy of the view would copy the list of tables.
  journal::FrameView& frame = frame_;
  const auto all = frame.events;
  frame.events = all.first(end);
  const std::size_t offered = window_.room(frame, next_);
  if (offered == 0) {
    frame.events = all;
    return Step::kAwaitSink;
  }
  frame.events = all.first(next_ + offered);
  window_.offer(frame, next_);
  const Result<std::size_t> taken = sink_.submit(frame, next_, window_);
  frame.events = all;
  if (!taken) {
    window_.abandon_offer();
    return fail(taken.error());
  }
  window_.close_offer(*taken);
  next_ += *taken;
  return *taken == offered ? Step::kAgain : Step::kAwaitSink;
}

// The reader may only be called once nobody needs its buffer: when the frame is all submitted.
Result<bool> SinkWorker::load_frame() {
  if (next_ < frame_.events.size()) {
    return true;
  }
  frame_ = {};
  next_ = 0;
  CDC_ASSIGN(std::optional<journal::FrameView> frame, reader_->next(limit_));
  if (!frame) {
    return false;
  }
  frame_ = *std::move(frame);
  return true;
}

// Passes over what is not for this consumer; false when something of the frame is left. Filters
// belong here and in wanted_end().
bool SinkWorker::skip_unwanted() {
  const std::size_t begin = next_;
  while (next_ < frame_.events.size() && !is_wanted(next_)) {
    ++next_;
  }
  if (next_ > begin) {
    window_.skip_through(Sequence{frame_.first.value + next_ - 1});
  }
  return next_ == frame_.events.size();
}

// End of the run of wanted events that begins at next_: a whole frame, except while resuming.
std::size_t SinkWorker::wanted_end() const {
  std::size_t end = frame_.events.size();
  if (frame_.first.value + next_ <= window_.start_highest().value) {
    end = next_ + 1;
    while (end < frame_.events.size() && is_wanted(end)) {
      ++end;
    }
  }
  return end;
}

bool SinkWorker::is_wanted(std::size_t i) const {
  return !window_.is_covered(Sequence{frame_.first.value + i}, frame_.events[i]);
}

Status SinkWorker::back_off(const Error& error) {
  const milliseconds delay = backoff_.next();
  figures_.deliver_errors.add(1);
  log::warn(
      "delivery failed and will be tried again",
      {{"consumer", options_.consumer}, {"error", error.to_string()}, {"delay_ms", delay.count()}});
  window_.rewind();
  seek(Sequence{window_.submitted_through().value + 1});
  CDC_TRY(save_cursor());
  const MonotonicTime until = monotonic_now() + delay;
  pollfd stop{.fd = stop_event_.fd(), .events = POLLIN, .revents = 0};
  if (::poll(&stop, 1, poll_timeout(until)) > 0) {
    stop_event_.drain();
  }
  return {};
}

void SinkWorker::seek(Sequence next) {
  frame_ = {};
  next_ = 0;
  reader_ = std::make_unique<journal::Reader>(journal_.segment_list(), next);
}

void SinkWorker::wait(Step step) {
  const Sink::Interest interest = sink_.interest();
  // poll() passes over a descriptor of -1.
  std::array<pollfd, 3> fds{{{.fd = stop_event_.fd(), .events = POLLIN, .revents = 0},
                             {.fd = interest.fd, .events = interest.events, .revents = 0},
                             {.fd = -1, .events = POLLIN, .revents = 0}}};
  if (step == Step::kAwaitJournal) {
    durable_.event().drain();
    if (durable_.load() != limit_.value) {
      return;
    }
    fds[2].fd = durable_.event().fd();
  } else {
    CDC_ASSERT(interest.fd >= 0);
  }
  MonotonicTime until = MonotonicTime::max();
  if (window_.cursor() != saved_) {
    until = saved_at_ + options_.cursor_interval;
  }
  if (const std::optional<StopRequest> request = stop_request()) {
    until = std::min(until, request->drain_until);
  }
  const int timeout = until == MonotonicTime::max() ? -1 : poll_timeout(until);
  if (::poll(fds.data(), fds.size(), timeout) > 0 && fds[0].revents != 0) {
    stop_event_.drain();
  }
}

Status SinkWorker::save_cursor_when_due() {
  if (monotonic_now() < saved_at_ + options_.cursor_interval) {
    return {};
  }
  return save_cursor();
}

Status SinkWorker::save_cursor() {
  const state::Cursor cursor = window_.cursor();
  if (cursor == saved_) {
    return {};
  }
  saved_at_ = monotonic_now();
  if (const Status saved = cursors_.save(options_.consumer, cursor); !saved) {
    // Delivery goes on: an old cursor only means repeats after a crash, and holds retention back.
    if (saved.error().code != Errc::kNoSpace && !saved.error().is_retryable()) {
      return fail(with_context(saved.error(), "cursor of consumer " + options_.consumer));
    }
    figures_.flush_errors.add(1);
    if (!std::exchange(save_failing_, true)) {
      log::warn("cannot save the cursor for now",
                {{"consumer", options_.consumer}, {"error", saved.error().to_string()}});
    }
    return {};
  }
  save_failing_ = false;
  figures_.cursors_saved.add(1);
  saved_ = cursor;
  passed_.publish(cursor.lowest().value);
  return {};
}

void SinkWorker::finish() {
  if (!reader_) {
    return;  // there is no cursor to save yet
  }
  if (sink_started_) {
    const std::optional<StopRequest> request = stop_request();
    sink_.stop(request ? request->deadline : monotonic_now() + kEndGrace);
    // What stop() finished still counts; an error no longer matters.
    [[maybe_unused]] const Status last_acks = sink_.poll_acks(window_);
  }
  if (const Status saved = save_cursor(); !saved) {
    log::error("cannot save the cursor",
               {{"consumer", options_.consumer}, {"error", saved.error().to_string()}});
  }
}

}  // namespace cdc::delivery
