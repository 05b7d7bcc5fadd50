// Feeds arbitrary bytes to everything that reads a segment: header, frames, the walk of recovery,
// the search behind its end, and the reader. The checksum of the first frame is made to fit when
// the first byte says so, so that the checks behind it are reached as well.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/assert.h"
#include "base/hash.h"
#include "journal/internal/segment_scan.h"
#include "journal/reader.h"
#include "journal/segment_format.h"
#include "journal/segment_list.h"

namespace cdc::journal {
namespace {

class MemoryFile final : public File {
 public:
  explicit MemoryFile(const std::string& bytes) : bytes_(bytes) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) const override {
    return offset < bytes_.size() ? bytes_.copy(out.data(), out.size(), offset) : std::size_t{0};
  }

  Status write_at(std::uint64_t, std::span<const std::string_view>) override { return {}; }

  Result<bool> allocate(std::uint64_t) override { return true; }

  Status truncate(std::uint64_t) override { return {}; }

  Status sync_data() override { return {}; }

  Status sync_all() override { return {}; }

  Result<std::uint64_t> size() const override { return std::uint64_t{bytes_.size()}; }

 private:
  const std::string& bytes_;
};

// Holds one file.
class MemoryFileSystem final : public FileSystem {
 public:
  explicit MemoryFileSystem(std::string bytes) : bytes_(std::move(bytes)) {}

  Status create_directory(const std::filesystem::path&) override { return {}; }

  Result<std::unique_ptr<File>> open(const std::filesystem::path&, OpenMode) override {
    return std::make_unique<MemoryFile>(bytes_);
  }

  Status rename(const std::filesystem::path&, const std::filesystem::path&) override { return {}; }

  Status remove(const std::filesystem::path&) override { return {}; }

  Result<std::vector<std::string>> list(const std::filesystem::path&) override {
    return std::vector<std::string>{};
  }

  Status sync_directory(const std::filesystem::path&) override { return {}; }

  Result<std::unique_ptr<FileLock>> lock(const std::filesystem::path&) override {
    return std::make_unique<FileLock>();
  }

  std::uint64_t random64() override { return 4; }

 private:
  std::string bytes_;
};

// Places the frame in `bytes` where it will be read: stamp and checksum.
void mend(std::string& bytes, const SegmentHeader& header) {
  if (bytes.size() < kSegmentHeaderSize + kFrameHeaderSize) {
    return;
  }
  char* frame = bytes.data() + kSegmentHeaderSize;
  std::uint64_t size = 0;
  std::memcpy(&size, frame + 8, sizeof size);
  size = std::min<std::uint64_t>(size, bytes.size() - kSegmentHeaderSize);
  if (size < kFrameHeaderSize) {
    return;
  }
  const std::uint64_t stamp = header.salt + kSegmentHeaderSize;
  std::memcpy(frame + 16, &stamp, sizeof stamp);
  std::memcpy(frame + 24, &header.first.value, sizeof header.first.value);
  const std::uint32_t sum = crc32c({frame + 8, static_cast<std::size_t>(size) - 8});
  std::memcpy(frame + 4, &sum, sizeof sum);
}

void read_everything(const std::string& bytes, const SegmentHeader& header) {
  MemoryFileSystem file_system(bytes);
  SegmentList list(file_system);
  list.replace({Segment{.header = header, .path = "segment", .size = bytes.size()}});
  const MemoryFile file(bytes);
  const Segment segment = list.snapshot()->front();
  const auto scan = scan_segment(file, segment);
  CDC_ASSERT(scan && scan->end <= bytes.size());
  const auto tail = examine_tail(file, segment, scan->end);
  CDC_ASSERT(tail && tail->written_end <= bytes.size());
  Reader reader(list, {1});
  std::uint64_t expected = header.first.value;
  for (;;) {
    const auto view = reader.next({scan->next.value - 1});
    if (!view || !*view) {
      break;
    }
    CDC_ASSERT((*view)->first.value == expected);
    for (std::size_t i = 0; i < (*view)->events.size(); ++i) {
      CDC_ASSERT((*view)->line(i).ends_with('\n'));
      CDC_ASSERT((*view)->events[i].table < (*view)->tables.size());
    }
    expected += (*view)->events.size();
  }
}

}  // namespace
}  // namespace cdc::journal

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cdc::journal;
  // A shorter file is refused by its header.
  if (size < 1 + kSegmentHeaderSize) {
    return 0;
  }
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  SegmentHeader header{.number = 1, .salt = 7, .first = {1}};
  if (auto decoded = decode_segment_header(bytes); decoded && decoded->first.value > 0) {
    header = *decoded;
  }
  if (data[0] % 2 == 1) {
    mend(bytes, header);
  }
  read_everything(bytes, header);
  return 0;
}
