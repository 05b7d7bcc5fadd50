#include "serve/sse_client.h"

#include <charconv>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "model/operation.h"

namespace cdc::serve {
namespace {

// What a client that wants little may look through before others have their turn.
constexpr std::size_t kScanBytesMax = 4U << 20U;
constexpr std::string_view kGreeting = "retry: 2000\n\n";

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  const auto result = std::to_chars(std::begin(digits), std::end(digits), number);
  out.append(digits, result.ptr);
}

// The time in an event's id, a ULID, which begins each line: {"id":"01J…. Nothing when the line is
// none of ours.
std::optional<std::int64_t> millis_of(std::string_view line) {
  constexpr std::string_view kHead = R"({"id":")";
  constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  constexpr std::size_t kTimeDigits = 10;
  if (!line.starts_with(kHead) || line.size() < kHead.size() + kTimeDigits) {
    return std::nullopt;
  }
  std::int64_t millis = 0;
  for (const char c : line.substr(kHead.size(), kTimeDigits)) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    millis = millis * 32 + static_cast<std::int64_t>(digit);
  }
  return millis;
}

}  // namespace

SseClient::SseClient(journal::Journal& journal,
                     EventFilter filter,
                     const StartPoint& start,
                     std::size_t helping_bytes)
    : journal_(journal),
      filter_(std::move(filter)),
      helping_bytes_(helping_bytes),
      gap_(start.gap),
      skip_before_(start.skip_before),
      next_(start.next),
      taken_{start.next.value - 1},
      told_{start.next.value - 1},
      asked_at_(monotonic_now()),
      gave_at_(asked_at_) {}

bool SseClient::more(std::string& out) {
  taken_ = {next_.value - 1};
  asked_at_ = monotonic_now();
  if (!std::exchange(is_greeted_, true)) {
    greet(out);
  }
  if (!is_ending_) {
    fill(out);
  }
  if (std::exchange(is_beat_due_, false) && out.empty()) {
    write_beat(out);
  }
  if (is_ending_) {
    out += farewell_;
  }
  if (!out.empty()) {
    gave_at_ = asked_at_;
  }
  return !is_ending_;
}

void SseClient::beat() {
  is_beat_due_ = true;
  wake();
}

void SseClient::end(std::string_view comment) {
  is_ending_ = true;
  farewell_ = cdc::format(": {}\n\n", comment);
  wake();
}

void SseClient::park() {
  if (index_ < frame_.events.size()) {
    forget_frame();
    reader_.reset();
  } else if (reader_) {
    forget_frame();
    reader_->release_memory();
  }
}

void SseClient::forget_frame() {
  frame_ = {};
  index_ = 0;
}

void SseClient::greet(std::string& out) {
  out += kGreeting;
  if (gap_) {
    write_gap(*gap_, out);
  }
}

void SseClient::fill(std::string& out) {
  std::size_t scanned = 0;
  while (out.size() < helping_bytes_) {
    if (index_ == frame_.events.size()) {
      if (scanned > kScanBytesMax) {
        wake();
        return;
      }
      if (!load_frame(out)) {
        return;
      }
      scanned += frame_.text.size();
    }
    write_events(out);
  }
}

// False when there is none to read now.
bool SseClient::load_frame(std::string& out) {
  forget_frame();
  const Sequence limit{journal_.durable_sequence().load()};
  if (next_ > limit) {
    return false;
  }
  if (!reader_) {
    reader_ = std::make_unique<journal::Reader>(journal_.segment_list(), next_);
  }
  auto frame = reader_->next(limit);
  if (!frame && frame.error().code == Errc::kNotFound) {
    // Retention is at work: a moment later the oldest event is known.
    reader_ = std::make_unique<journal::Reader>(journal_.segment_list(), reader_->oldest());
    wake();
    return false;
  }
  if (!frame) {
    log::error("a client of the event stream was closed", {{"error", frame.error().to_string()}});
    end("the event log cannot be read");
    return false;
  }
  std::optional<journal::FrameView> view = *std::move(frame);
  if (!view) {
    return false;
  }
  frame_ = *std::move(view);
  if (frame_.first > next_) {
    write_gap({.from = next_, .to = {frame_.first.value - 1}, .reason = "retention"}, out);
    next_ = frame_.first;
  }
  filter_.begin(frame_);
  return true;
}

void SseClient::write_events(std::string& out) {
  while (index_ < frame_.events.size() && out.size() < helping_bytes_) {
    const std::size_t index = index_++;
    const bool is_wanted = filter_.wants(frame_.events[index]);
    ++next_.value;
    if (skip_before_ != 0) {
      if (millis_of(frame_.line(index)).value_or(skip_before_) < skip_before_) {
        continue;
      }
      skip_before_ = 0;
    }
    if (is_wanted) {
      write_event(index, out);
    }
  }
}

void SseClient::write_event(std::size_t index, std::string& out) {
  told_ = {next_.value - 1};
  out += "id: ";
  append_number(out, told_.value);
  out += "\nevent: ";
  out += model::name_of(frame_.events[index].operation);
  out += "\ndata: ";
  out += frame_.line(index);  // with its line break
  out += '\n';
}

void SseClient::write_gap(const Gap& gap, std::string& out) {
  out += cdc::format("event: gap\ndata: {{\"from\":{},\"to\":{},\"reason\":\"{}\"}}\n\n",
                     gap.from.value,
                     gap.to.value,
                     gap.reason);
}

// An id without data is no event for the client, but it is what it will ask to resume from: behind
// all that its filter has left out.
void SseClient::write_beat(std::string& out) {
  out += ": heartbeat\n";
  if (next_.value - 1 > told_.value) {
    told_ = {next_.value - 1};
    out += "id: ";
    append_number(out, told_.value);
    out += '\n';
  }
  out += '\n';
}

}  // namespace cdc::serve
