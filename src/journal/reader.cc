#include "journal/reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/format.h"
#include "journal/internal/damage.h"
#include "journal/internal/file_window.h"
#include "journal/internal/frame_body.h"
#include "journal/segment_list.h"

namespace cdc::journal {

namespace {

constexpr Sequence kNoEnd{std::numeric_limits<std::uint64_t>::max()};

// Index of the segment that holds `sequence`: the last that does not begin behind it. Segments that
// hold only positions share their first sequence with the next one.
std::size_t find_segment(const Segments& segments, Sequence sequence) {
  const auto behind = std::ranges::upper_bound(
      segments, sequence, {}, [](const Segment& segment) { return segment.header.first; });
  return static_cast<std::size_t>(behind - segments.begin()) - 1;
}

}  // namespace

class Reader::Impl {
 public:
  Impl(SegmentList& segments, Sequence from)
      : segments_(segments), next_(from), at_oldest_(from.value <= 1) {}

  Result<std::optional<FrameView>> next(Sequence limit) {
    if (at_oldest_) {
      next_ = oldest();
    }
    while (next_ <= limit) {
      CDC_TRY(seek(limit));
      CDC_ASSIGN(const FrameHeader header, read_header());
      if (header.event_count == 0 || header.next() <= next_) {
        skip(header);
        continue;
      }
      CDC_ASSIGN(FrameView view, read_frame(header));
      at_oldest_ = false;
      deliver(header, limit, view);
      return view;
    }
    return std::nullopt;
  }

  void release_memory() noexcept { window_.release(); }

  Sequence oldest() const { return segments_.snapshot()->front().header.first; }

 private:
  // Makes sure that the frame at the read position may be read: the right segment is open and
  // everything in the window was read after it became durable. The window may hold bytes of frames
  // that were still being written when it was filled; their sequences are above trusted_.
  Status seek(Sequence limit) {
    if (file_ && next_ <= trusted_ && next_ < segment_end_) {
      return {};
    }
    const auto segments = segments_.snapshot();
    if (segments->front().header.first > next_) {
      return gone(*segments);
    }
    const std::size_t index = find_segment(*segments, next_);
    const Segment& segment = (*segments)[index];
    segment_end_ = index + 1 < segments->size() ? (*segments)[index + 1].header.first : kNoEnd;
    trusted_ = limit;
    window_.forget();
    if (!file_ || segment.header.number != number_) {
      CDC_TRY(open(segment));
    }
    CDC_ASSIGN(file_size_, file_->size());
    return {};
  }

  Status open(const Segment& segment) {
    auto file = segments_.file_system().open(segment.path, OpenMode::kRead);
    if (!file) {
      const bool deleted = file.error().code == Errc::kNotFound;
      return deleted ? gone(*segments_.snapshot()) : cdc::fail(std::move(file).error());
    }
    file_ = std::move(*file);
    window_.attach(file_.get());
    path_ = segment.path;
    number_ = segment.header.number;
    salt_ = segment.header.salt;
    offset_ = kSegmentHeaderSize;
    expected_ = segment.header.first;
    return {};
  }

  Status gone(const Segments& segments) const {
    return cdc::fail(
        Errc::kNotFound,
        format("event {} is no longer in the journal, the oldest is {}",
               next_.value,
               segments.front().header.first.value),
        "start the consumer afresh, and raise the retention if it must be able to lag");
  }

  Result<FrameHeader> read_header() {
    CDC_ASSIGN(const std::string_view bytes, window_.at(offset_, kFrameHeaderSize));
    FrameHeader header;
    FrameFault fault = decode_frame_header(
        bytes, {.salt = salt_, .offset = offset_, .file_size = file_size_}, header);
    if (fault == FrameFault::kNone && header.first != expected_) {
      fault = FrameFault::kSequence;
    }
    if (fault != FrameFault::kNone) {
      return cdc::fail(corrupt(path_, offset_, name_of(fault)));
    }
    return header;
  }

  Result<FrameView> read_frame(const FrameHeader& header) {
    const auto size = static_cast<std::size_t>(header.frame_size);
    CDC_ASSIGN(const std::string_view bytes, window_.at(offset_, size));
    FrameView view;
    const FrameFault fault =
        bytes.size() < size ? FrameFault::kLength : parse_frame(header, bytes, view);
    if (fault != FrameFault::kNone) {
      return cdc::fail(corrupt(path_, offset_, name_of(fault)));
    }
    return view;
  }

  void skip(const FrameHeader& header) noexcept {
    offset_ += header.frame_size;
    expected_ = header.next();
  }

  // Cuts the view to [next_, limit] and moves the read position behind it.
  void deliver(const FrameHeader& header, Sequence limit, FrameView& view) {
    const auto begin = static_cast<std::size_t>(next_.value - header.first.value);
    const auto end = static_cast<std::size_t>(
        std::min<std::uint64_t>(header.event_count, limit.value - header.first.value + 1));
    view.first = next_;
    next_ = {header.first.value + end};
    if (end == header.event_count) {
      skip(header);
    }
    if (begin == 0 && end == header.event_count) {
      return;
    }
    const std::size_t text_begin = view.events[begin].text_offset;
    const auto& last = view.events[end - 1];
    const std::size_t text_end = std::size_t{last.text_offset} + last.text_size;
    view.text = view.text.substr(text_begin, text_end - text_begin);
    view.events = view.events.subspan(begin, end - begin);
    if (begin == 0) {
      return;
    }
    // The bytes in the window stay as they are: the rest of the frame may be read again.
    rebased_.assign(view.events.begin(), view.events.end());
    for (model::EventHeader& event : rebased_) {
      event.text_offset -= static_cast<std::uint32_t>(text_begin);
    }
    view.events = rebased_;
  }

  SegmentList& segments_;
  Sequence next_;   // of the event to deliver next
  bool at_oldest_;  // nothing delivered yet, and to begin wherever the journal begins

  std::unique_ptr<File> file_;
  std::filesystem::path path_;
  std::uint64_t number_ = 0;
  std::uint64_t salt_ = 0;
  std::uint64_t file_size_ = 0;
  std::uint64_t offset_ = 0;  // of the next frame
  Sequence expected_;         // its first sequence
  Sequence segment_end_;      // first sequence of the segment behind, as far as known
  Sequence trusted_;          // frames up to this sequence were durable when the window was filled
  FileWindow window_;
  std::vector<model::EventHeader> rebased_;
};

Reader::Reader(SegmentList& segments, Sequence from)
    : impl_(std::make_unique<Impl>(segments, from)) {}

Reader::~Reader() = default;

Result<std::optional<FrameView>> Reader::next(Sequence limit) {
  return impl_->next(limit);
}

void Reader::release_memory() noexcept {
  impl_->release_memory();
}

Sequence Reader::oldest() const {
  return impl_->oldest();
}

}  // namespace cdc::journal
