#include "journal/inspect.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/format.h"
#include "journal/internal/damage.h"
#include "journal/internal/file_window.h"
#include "journal/internal/frame_body.h"
#include "journal/internal/recovery.h"
#include "journal/internal/segment_files.h"
#include "journal/internal/segment_scan.h"
#include "json/escape.h"

namespace cdc::journal {

namespace {

namespace fs = std::filesystem;

// "3..9", or "none" for an empty range.
std::string range(Sequence first, Sequence next) {
  return next > first ? format("{}..{}", first.value, next.value - 1) : "none";
}

class Inspector {
 public:
  Inspector(FileSystem& file_system,
            fs::path directory,
            const InspectOptions& options,
            const std::function<void(std::string_view)>& print)
      : file_system_(file_system),
        directory_(std::move(directory)),
        options_(options),
        print_(print) {}

  Result<Inspection> run() {
    CDC_ASSIGN(const auto numbers, list_segments(file_system_, directory_));
    if (numbers.empty()) {
      return cdc::fail(Errc::kNotFound,
                       format("{} holds no journal", directory_.string()),
                       "name the directory `events` inside the data directory");
    }
    load(numbers);
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if (auto status = inspect_segment(i); !status) {
        report(std::move(status).error());
      }
    }
    print_end();
    if (fault_) {
      return cdc::fail(*std::move(fault_));
    }
    return found_;
  }

 private:
  void load(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) {
      auto segment = load_segment(file_system_, directory_, number);
      if (!segment) {
        // Retention of a running process may have deleted it since.
        if (segment.error().code != Errc::kNotFound) {
          report(std::move(segment).error());
        }
        continue;
      }
      if (!segments_.empty()) {
        if (auto status = check_neighbours(segments_.back(), *segment); !status) {
          report(std::move(status).error());
        }
      }
      segments_.push_back(*std::move(segment));
    }
    if (!segments_.empty()) {
      found_.oldest = segments_.front().header.first;
    }
  }

  Status inspect_segment(std::size_t i) {
    const Segment& segment = segments_[i];
    auto opened = file_system_.open(segment.path, OpenMode::kRead);
    if (!opened && opened.error().code == Errc::kNotFound) {
      return {};
    }
    CDC_ASSIGN(const auto file, std::move(opened));
    const bool last = i + 1 == segments_.size();
    print_segment(segment, last);
    FileWindow window;
    window.attach(file.get());
    CDC_ASSIGN(const SegmentScan scan,
               scan_segment(*file, segment, [&](const FrameHeader& header, std::uint64_t offset) {
                 print_frame(header, offset);
                 if (options_.events) {
                   print_events(segment, header, offset, window);
                 }
               }));
    note(segment, scan);
    if (!last) {
      return judge_sealed(segment, segments_[i + 1], scan);
    }
    CDC_ASSIGN(const std::uint64_t torn, judge_last(*file, segment, scan));
    found_.tail_bytes += torn;
    return {};
  }

  void note(const Segment& segment, const SegmentScan& scan) {
    ++found_.segments;
    found_.frames += scan.frames;
    found_.events += scan.next.value - segment.header.first.value;
    if (scan.boundary) {
      found_.last_whole = scan.boundary->sequence;
      found_.acknowledge = scan.boundary->acknowledge;
      found_.tail_bytes = scan.end - scan.boundary->offset;
    } else {
      found_.tail_bytes += scan.end - kSegmentHeaderSize;
    }
  }

  void report(Error error) {
    ++found_.faults;
    if (options_.json) {
      line(format(R"({{"type":"fault","code":"{}","message":{},"hint":{}}})",
                  name_of(error.code),
                  json::quote(error.message),
                  json::quote(error.hint)));
    } else {
      line("FAULT    " + error.to_string());
    }
    if (!fault_) {
      fault_ = std::move(error);
    }
  }

  void print_segment(const Segment& segment, bool last) {
    const SegmentHeader& header = segment.header;
    const std::string created = format_rfc3339(UnixMicros{header.created_unix_micros});
    const std::string name = segment.path.filename().string();
    const char* const state = last ? "active" : "sealed";
    if (options_.json) {
      line(format(R"({{"type":"segment","file":{},"state":"{}","bytes":{},"journal_id":"{:016x}",)"
                  R"("first_sequence":{},"last_whole_before":{},"acknowledge_before":"{}",)"
                  R"("created":"{}"}})",
                  json::quote(name),
                  state,
                  segment.size,
                  header.journal_id,
                  header.first.value,
                  header.last_whole.value,
                  to_string(header.acknowledge),
                  created));
      return;
    }
    line(format("segment  {}  {}  {} bytes  from event {}  created {}",
                name,
                state,
                segment.size,
                header.first.value,
                created));
  }

  void print_frame(const FrameHeader& header, std::uint64_t offset) {
    if (options_.json) {
      line(format(R"({{"type":"frame","offset":{},"kind":"{}","bytes":{},"first_sequence":{},)"
                  R"("events":{},"tables":{},"text_bytes":{},"acknowledge":"{}","synced":{}}})",
                  offset,
                  name_of(header.kind),
                  header.frame_size,
                  header.first.value,
                  header.event_count,
                  header.table_count,
                  header.text_size,
                  to_string(header.acknowledge),
                  header.synced_size));
      return;
    }
    line(format("  frame  at {}  {}  {} bytes  events {}  acknowledge {}",
                offset,
                name_of(header.kind),
                header.frame_size,
                range(header.first, header.next()),
                to_string(header.acknowledge)));
  }

  void print_events(const Segment& segment,
                    const FrameHeader& header,
                    std::uint64_t offset,
                    FileWindow& window) {
    auto bytes = window.at(offset, static_cast<std::size_t>(header.frame_size));
    if (!bytes) {
      report(std::move(bytes).error());
      return;
    }
    FrameView view;
    const FrameFault fault =
        bytes->size() < header.frame_size ? FrameFault::kLength : parse_frame(header, *bytes, view);
    if (fault != FrameFault::kNone) {
      report(corrupt(segment.path, offset, name_of(fault)));
      return;
    }
    for (std::size_t i = 0; i < view.events.size(); ++i) {
      print_event(view, i);
    }
  }

  void print_event(const FrameView& view, std::size_t i) {
    const model::EventHeader& event = view.events[i];
    const std::string_view text = view.line(i).substr(0, event.text_size - 1);
    const std::uint64_t sequence = view.first.value + i;
    const std::string_view operation = model::name_of(event.operation);
    if (options_.json) {
      line(format(R"({{"type":"event","sequence":{},"operation":"{}","table":{},"commit_lsn":"{}",)"
                  R"("index":{},"event":{}}})",
                  sequence,
                  operation,
                  json::quote(view.tables[event.table]),
                  to_string(Lsn{event.commit_lsn}),
                  event.index,
                  text));
      return;
    }
    line(format("    event {}  {}/{}  {}  {}  {}",
                sequence,
                to_string(Lsn{event.commit_lsn}),
                event.index,
                operation,
                view.tables[event.table],
                text));
  }

  void print_end() {
    const Inspection& all = found_;
    if (options_.json) {
      line(format(R"({{"type":"end","segments":{},"frames":{},"events":{},"oldest":{},)"
                  R"("last_whole":{},"acknowledge":"{}","tail_bytes":{},"faults":{}}})",
                  all.segments,
                  all.frames,
                  all.events,
                  all.oldest.value,
                  all.last_whole.value,
                  to_string(all.acknowledge),
                  all.tail_bytes,
                  all.faults));
      return;
    }
    line(
        format("end      {} segments  {} frames  whole events {}  acknowledge {}  {} bytes of an "
               "unfinished or torn tail  {} faults",
               all.segments,
               all.frames,
               range(all.oldest, {all.last_whole.value + 1}),
               to_string(all.acknowledge),
               all.tail_bytes,
               all.faults));
  }

  void line(std::string text) {
    text += '\n';
    print_(text);
  }

  FileSystem& file_system_;
  fs::path directory_;
  InspectOptions options_;
  const std::function<void(std::string_view)>& print_;
  Segments segments_;
  Inspection found_;
  std::optional<Error> fault_;
};

}  // namespace

Result<Inspection> inspect(FileSystem& file_system,
                           const fs::path& directory,
                           const InspectOptions& options,
                           const std::function<void(std::string_view)>& print) {
  return Inspector(file_system, directory, options, print).run();
}

}  // namespace cdc::journal
