#include "journal/internal/segment_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "base/format.h"
#include "journal/internal/damage.h"

namespace cdc::journal {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".seg";
constexpr std::string_view kTemporarySuffix = ".new";
constexpr std::size_t kDigits = 16;

Status fill_segment(File& file, const SegmentHeader& header, std::uint64_t size, bool& allocated) {
  CDC_ASSIGN(allocated, file.allocate(size));
  const auto bytes = encode_segment_header(header);
  const std::array<std::string_view, 1> pieces{std::string_view(bytes.data(), bytes.size())};
  CDC_TRY(file.write_at(0, pieces));
  return file.sync_all();
}

}  // namespace

std::string segment_name(std::uint64_t number) {
  return format("{:016}{}", number, kSuffix);
}

std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  if (name.size() != kDigits + kSuffix.size() || !name.ends_with(kSuffix)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(0, kDigits);
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(begin, end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return std::nullopt;
  }
  return number;
}

Result<NewSegment> prepare_segment(FileSystem& file_system,
                                   const fs::path& directory,
                                   const SegmentHeader& header,
                                   std::uint64_t size) {
  const std::string name = segment_name(header.number);
  NewSegment created{
      .segment = {.header = header, .path = directory / name, .size = size},
      .file = nullptr,
      .temporary = directory / (name + std::string(kTemporarySuffix)),
  };
  CDC_ASSIGN(created.file, file_system.open(created.temporary, OpenMode::kCreate));
  if (auto filled = fill_segment(*created.file, header, size, created.preallocated); !filled) {
    // The first error is the one to tell; a file that stays is removed at the next open.
    static_cast<void>(file_system.remove(created.temporary));
    return cdc::fail(std::move(filled).error());
  }
  return created;
}

Status name_segment(FileSystem& file_system, const NewSegment& created) {
  auto renamed = file_system.rename(created.temporary, created.segment.path);
  if (!renamed) {
    static_cast<void>(file_system.remove(created.temporary));
  }
  return renamed;
}

Result<std::vector<std::uint64_t>> list_segments(FileSystem& file_system,
                                                 const fs::path& directory) {
  CDC_ASSIGN(const std::vector<std::string> names, file_system.list(directory));
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = parse_segment_name(name)) {
      numbers.push_back(*number);
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

Result<Segment> load_segment(FileSystem& file_system,
                             const fs::path& directory,
                             std::uint64_t number) {
  const fs::path path = directory / segment_name(number);
  CDC_ASSIGN(const auto file, file_system.open(path, OpenMode::kRead));
  std::array<char, kSegmentHeaderSizeMax> bytes{};
  CDC_ASSIGN(const std::size_t got, file->read_at(0, bytes));
  auto header = decode_segment_header({bytes.data(), got});
  if (!header) {
    if (header.error().code == Errc::kVersion) {
      return cdc::fail(with_context(std::move(header).error(), path.string()));
    }
    return cdc::fail(corrupt(path, 0, header.error().message));
  }
  if (header->number != number) {
    return cdc::fail(
        corrupt(path, 0, format("it is segment {} under a wrong name", header->number)));
  }
  CDC_ASSIGN(const std::uint64_t size, file->size());
  return Segment{.header = *header, .path = path, .size = size};
}

Status check_neighbours(const Segment& before, const Segment& after) {
  if (after.header.number != before.header.number + 1) {
    return cdc::fail(
        corrupt(after.path, 0, format("segment {} before it is missing", after.header.number - 1)));
  }
  if (after.header.journal_id != before.header.journal_id) {
    return cdc::fail(corrupt(after.path, 0, "it belongs to another journal"));
  }
  if (after.header.first < before.header.first) {
    return cdc::fail(corrupt(after.path, 0, "its sequences go back behind the segment before it"));
  }
  return {};
}

Result<Segments> load_segments(FileSystem& file_system, const fs::path& directory) {
  CDC_ASSIGN(const auto numbers, list_segments(file_system, directory));
  Segments segments;
  for (const std::uint64_t number : numbers) {
    CDC_ASSIGN(Segment segment, load_segment(file_system, directory, number));
    if (!segments.empty()) {
      CDC_TRY(check_neighbours(segments.back(), segment));
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

Status remove_temporaries(FileSystem& file_system, const fs::path& directory) {
  CDC_ASSIGN(const std::vector<std::string> names, file_system.list(directory));
  for (const std::string& name : names) {
    const std::string_view stem = std::string_view(name).substr(0, kDigits + kSuffix.size());
    const bool temporary = name.ends_with(kTemporarySuffix) && parse_segment_name(stem) &&
                           name.size() == stem.size() + kTemporarySuffix.size();
    if (temporary) {
      CDC_TRY(file_system.remove(directory / name));
    }
  }
  return {};
}

}  // namespace cdc::journal
