#include "capture/stream_loop.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <utility>

#include <poll.h>

namespace cdc::capture {

using postgres::ReplicationStream;
using postgres::TransactionDecoder;

namespace {

// Under a backlog batches grow before they are handed on, but no transaction waits longer than
// this.
constexpr std::chrono::milliseconds kBatchDelayMax{4};
// A durable advance is reported at once when idle and at most this often when busy.
constexpr std::chrono::milliseconds kReportInterval{100};
// Rows that wait for the stream to come to their view have the server asked how far it is.
constexpr std::chrono::milliseconds kAskInterval{10};
constexpr std::chrono::seconds kLookupTimeout{30};
constexpr std::uint64_t kRoundBytes = 4U << 20U;

timespec to_timespec(std::chrono::microseconds duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  return timespec{
      .tv_sec = seconds.count(),
      .tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(duration - seconds).count()};
}

}  // namespace

StreamLoop::StreamLoop(const Parts& parts, ReplicationStream stream, const StreamTimes& times)
    : parts_(parts),
      stream_(std::move(stream)),
      times_(times),
      pace_(stream_.is_near(), monotonic_now()),
      now_(monotonic_now()),
      read_again_(now_),
      next_status_(now_),
      last_status_(now_ - kReportInterval),
      last_frame_(now_) {}

Status StreamLoop::run() {
  for (;;) {
    now_ = monotonic_now();
    if (parts_.stop.requested()) {
      finish();
      return fail(Errc::kClosed, "stopping");
    }
    CDC_TRY(continue_lookup());
    CDC_TRY(read_and_decode());
    emit_snapshot();
    offer_batch();
    offer_position();
    CDC_TRY(report());
    publish();
    wait();
  }
}

bool StreamLoop::can_decode() const noexcept {
  return lookup_ == Lookup::kNone && parts_.pipeline.has_room() && !parts_.emitter.is_emitting();
}

Status StreamLoop::read_and_decode() {
  if (!can_decode()) {
    last_frame_ = now_;  // it is us who do not listen
    return {};
  }
  if (drained_ && now_ >= read_again_) {
    CDC_TRY(read_socket());
  }
  // A filtered stream fills no batch, so a round is bounded in bytes too: statuses must go out.
  const std::uint64_t round_end = stream_.bytes_taken() + kRoundBytes;
  drained_ = false;
  while (!drained_ && can_decode() && stream_.bytes_taken() < round_end) {
    CDC_ASSIGN(const bool some, decode_next());
    drained_ = !some;
  }
  if (!whole_since_ && parts_.pipeline.batch().boundary() > 0) {
    whole_since_ = now_;
  }
  return {};
}

// Reads before anything is decoded: what comes during the decoding collects in the server's queue,
// like what comes during a pause.
Status StreamLoop::read_socket() {
  CDC_ASSIGN(const auto reading, stream_.read());
  const MonotonicTime now = monotonic_now();
  const std::chrono::microseconds pause = pace_.pause_after(reading.bytes, now);
  read_again_ = reading.emptied ? now + pause : now;
  return {};
}

// False: nothing is in memory.
Result<bool> StreamLoop::decode_next() {
  model::EventBatch& batch = parts_.pipeline.batch();
  if (parts_.decoder.replaying()) {
    CDC_ASSIGN(const auto outcome, parts_.decoder.replay(batch));
    CDC_TRY(progress(outcome));
    return true;
  }
  CDC_ASSIGN(const auto frame, stream_.next());
  if (frame.kind == ReplicationStream::Kind::kNothing) {
    return false;
  }
  CDC_TRY(decode_frame(frame));
  return true;
}

Status StreamLoop::decode_frame(const ReplicationStream::Frame& frame) {
  if (!std::exchange(established_, true)) {
    parts_.status.streaming_begins();
  }
  last_frame_ = now_;
  switch (frame.kind) {
    case ReplicationStream::Kind::kData: {
      received_bytes_ += frame.message.size();
      CDC_ASSIGN(const auto outcome, parts_.decoder.decode(frame.message, parts_.pipeline.batch()));
      return progress(outcome);
    }
    case ReplicationStream::Kind::kKeepalive:
      parts_.decoder.keepalive(frame.wal_end);
      server_end_ = std::max(server_end_, frame.wal_end);
      position_asked_ = position_asked_ || frame.reply_requested;
      return {};
    case ReplicationStream::Kind::kEnd:
      return fail(Errc::kUnavailable, "the server ended the stream");
    case ReplicationStream::Kind::kNothing:
      break;
  }
  return {};
}

Status StreamLoop::progress(TransactionDecoder::Progress progress) {
  return progress == TransactionDecoder::Progress::kNeedsTable ? start_lookup() : Status{};
}

// ---- rows of tables -----------------------------------------------------------------------------

bool StreamLoop::between_transactions() const noexcept {
  return !parts_.decoder.in_transaction() && !parts_.decoder.replaying() &&
         !parts_.pipeline.batch().continues();
}

void StreamLoop::emit_snapshot() {
  if (!between_transactions()) {
    return;
  }
  parts_.emitter.emit(parts_.pipeline, parts_.decoder.done());
  if (!whole_since_ && parts_.pipeline.batch().boundary() > 0) {
    whole_since_ = now_;
  }
}

// ---- towards the journal ------------------------------------------------------------------------

bool StreamLoop::batch_is_due() const {
  const model::EventBatch& batch = parts_.pipeline.batch();
  if (batch.empty()) {
    return false;
  }
  if (!parts_.pipeline.has_room()) {
    return true;
  }
  if (batch.boundary() == 0 && !batch.acknowledge()) {
    return false;  // the transaction's rest is on its way
  }
  if (whole_since_ && now_ - *whole_since_ >= kBatchDelayMax) {
    return true;
  }
  return batch.whole() && drained_ && !pace_.backlog();
}

void StreamLoop::offer_batch() {
  batch_waits_ = false;
  if (!batch_is_due()) {
    return;
  }
  const bool taken = parts_.pipeline.try_hand_on(
      [this](std::size_t tail_events) { return parts_.decoder.handed_on(tail_events); });
  batch_waits_ = !taken;
  if (taken) {
    whole_since_.reset();
  }
}

// A stream that has nothing for us still moves: its position goes through the journal, like events,
// so that what we acknowledge is always what we would remember after a crash.
void StreamLoop::offer_position() {
  model::EventBatch& batch = parts_.pipeline.batch();
  const bool due = position_asked_ || now_ >= next_status_;
  if (!due || !batch.empty() || batch.continues() || parts_.decoder.in_transaction() ||
      parts_.decoder.done() <= parts_.pipeline.handed_lsn()) {
    return;
  }
  batch.mark_boundary(parts_.decoder.done());
  whole_since_ = now_ - kBatchDelayMax;
  offer_batch();
}

// ---- towards the server -------------------------------------------------------------------------

bool StreamLoop::asks_position() const noexcept {
  return drained_ && between_transactions() &&
         parts_.emitter.waits_for_stream(parts_.decoder.done());
}

Status StreamLoop::report() {
  parts_.pipeline.durable_event().drain();
  parts_.emitter.report(parts_.pipeline);
  const Lsn durable = parts_.pipeline.durable_lsn();
  const bool asks = asks_position() && now_ - last_status_ >= kAskInterval;
  const bool advanced = durable > reported_ && now_ - last_status_ >= kReportInterval;
  if (stream_.wants_write()) {
    return stream_.flush();
  }
  if (!advanced && !asks && !position_asked_ && now_ < next_status_) {
    return {};
  }
  if (now_ - last_frame_ > times_.silence_max && can_decode()) {
    return fail(Errc::kUnavailable, "the server has been silent for too long");
  }
  // A timed status asks for an answer: a server that has nothing to say proves that it is there.
  CDC_TRY(stream_.send_status({.received = std::max(parts_.decoder.done(), durable),
                               .durable = durable,
                               .reply_wanted = asks || now_ >= next_status_}));
  reported_ = durable;
  position_asked_ = false;
  last_status_ = now_;
  next_status_ = now_ + times_.status_interval;
  return {};
}

// While nothing of ours is under way, the stream's own position is as good as a durable one.
void StreamLoop::publish() {
  const Pipeline& pipeline = parts_.pipeline;
  const bool settled = between_transactions() && pipeline.batch().empty() &&
                       pipeline.batches_durable() == pipeline.batches_handed();
  const Lsn durable = pipeline.durable_lsn();
  parts_.status.round({.server_end = server_end_,
                       .position = settled ? std::max(parts_.decoder.done(), durable) : durable,
                       .received_bytes = received_bytes_,
                       .decoder = parts_.decoder.counters()});
}

// ---- the catalog --------------------------------------------------------------------------------

Status StreamLoop::start_lookup() {
  const bool types = lookup_ == Lookup::kNone && parts_.decoder.needs_types();
  lookup_ = types ? Lookup::kTypes : Lookup::kTable;
  lookup_deadline_ = now_ + kLookupTimeout;
  return parts_.catalog.send(types ? postgres::types_sql()
                                   : postgres::table_sql(parts_.decoder.needed_table()));
}

Status StreamLoop::continue_lookup() {
  if (lookup_ == Lookup::kNone) {
    return {};
  }
  CDC_ASSIGN(auto result, parts_.catalog.try_result());
  if (!result) {
    if (now_ > lookup_deadline_) {
      return fail(Errc::kUnavailable, "the catalog does not answer");
    }
    return {};
  }
  if (lookup_ == Lookup::kTypes) {
    parts_.types.load(postgres::parse_types(*result));
    return start_lookup();
  }
  lookup_ = Lookup::kNone;
  auto tables = postgres::parse_tables(*result);
  parts_.decoder.provide_table(tables.empty() ? std::nullopt
                                              : std::optional(std::move(tables.front())));
  return {};
}

// ---- waiting ------------------------------------------------------------------------------------

std::chrono::microseconds StreamLoop::time_to_wait() const {
  if (can_decode() && !drained_) {
    return std::chrono::microseconds{0};
  }
  if (between_transactions() && parts_.pipeline.has_room() && lookup_ == Lookup::kNone &&
      parts_.emitter.is_due(parts_.decoder.done())) {
    return std::chrono::microseconds{0};
  }
  auto until = next_status_ - now_;
  if (asks_position()) {
    until = std::min<MonotonicTime::duration>(until, last_status_ + kAskInterval - now_);
  }
  if (parts_.pipeline.durable_lsn() > reported_) {
    until = std::min<MonotonicTime::duration>(until, last_status_ + kReportInterval - now_);
  }
  if (whole_since_ && !batch_waits_) {
    until = std::min<MonotonicTime::duration>(until, *whole_since_ + kBatchDelayMax - now_);
  }
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(until);
  return std::max(micros, std::chrono::microseconds{0});
}

void StreamLoop::wait() {
  const bool reads = can_decode() && drained_;
  // While looking away from a busy stream, only what has nothing to do with reading may wake us.
  const auto pause = std::chrono::ceil<std::chrono::microseconds>(read_again_ - monotonic_now());
  const bool looks_away = reads && pause.count() > 0;
  const short stream_events = static_cast<short>((reads && !looks_away ? POLLIN : 0) |
                                                 (stream_.wants_write() ? POLLOUT : 0));
  std::array<pollfd, 6> pollers{{
      {parts_.stop.fd(), POLLIN, 0},
      {stream_events != 0 ? stream_.fd() : -1, stream_events, 0},
      {batch_waits_ ? parts_.pipeline.free_event().fd() : -1, POLLIN, 0},
      {looks_away ? -1 : parts_.pipeline.durable_event().fd(), POLLIN, 0},
      {lookup_ != Lookup::kNone ? parts_.catalog.fd() : -1, POLLIN, 0},
      {between_transactions() ? parts_.emitter.event().fd() : -1, POLLIN, 0},
  }};
  const auto timeout = looks_away ? std::min(time_to_wait(), pause) : time_to_wait();
  const timespec limit = to_timespec(timeout);
  ::ppoll(pollers.data(), pollers.size(), &limit, nullptr);
}

// Stops cleanly: what is whole goes to the journal, and the server hears once more what is durable,
// so that a restart repeats nothing. Each step has a second.
void StreamLoop::finish() {
  const MonotonicTime deadline = monotonic_now() + std::chrono::seconds{1};
  parts_.decoder.end_session(parts_.pipeline.batch());
  const auto wait_until_deadline = [deadline](int fd) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - monotonic_now()).count();
    pollfd poller{fd, POLLIN, 0};
    return left > 0 && ::poll(&poller, 1, static_cast<int>(left)) > 0;
  };
  const auto continues = [this](std::size_t tail) {
    return parts_.decoder.handed_on(tail);
  };
  while (!parts_.pipeline.batch().empty() && !parts_.pipeline.try_hand_on(continues)) {
    if (!wait_until_deadline(parts_.pipeline.free_event().fd())) {
      break;
    }
  }
  for (;;) {
    parts_.pipeline.durable_event().drain();
    if (parts_.pipeline.batches_durable() >= parts_.pipeline.batches_handed() ||
        !wait_until_deadline(parts_.pipeline.durable_event().fd())) {
      break;
    }
  }
  parts_.emitter.report(parts_.pipeline);
  const Lsn durable = parts_.pipeline.durable_lsn();
  // The connection may be gone already; then the server learns it at the next start.
  static_cast<void>(stream_.send_status(
      {.received = std::max(parts_.decoder.done(), durable), .durable = durable}));
}

}  // namespace cdc::capture
