// Proves that the bytes on disk are those of docs/formats/journal.md (golden file), and that the
// decoders survive every truncation and notice every flipped bit.
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "journal/internal/frame_body.h"
#include "journal/internal/frame_writer.h"
#include "journal/segment_format.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

constexpr SegmentHeader kHeader{.journal_id = 0x1122334455667788,
                                .number = 3,
                                .salt = 0xA0B0C0D0E0F01020,
                                .first = {1000},
                                .created_unix_micros = 1'767'323'045'000'006,
                                .previous = {{0x155CD28}, 4},
                                .acknowledge = {0x155CD28},
                                .last_whole = {999}};

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The bytes of a file of lines "offset  hex bytes" with comments behind '#'.
std::string parse_hex(const std::string& text) {
  std::istringstream lines(text);
  std::string bytes;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    words >> word;  // the offset
    while (words >> word) {
      bytes += static_cast<char>(std::stoi(word, nullptr, 16));
    }
  }
  return bytes;
}

std::string hex_dump(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 16 == 0) {
      text += format("{}{:04x} ", i == 0 ? "" : "\n", i);
    }
    text += format(" {:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

std::string join(std::span<const std::string_view> pieces) {
  std::string bytes;
  for (const std::string_view piece : pieces) {
    bytes += piece;
  }
  return bytes;
}

// The frames of a batch as they would lie at `offset`.
std::string frames_of(const model::EventBatch& batch, Sequence first, std::uint64_t offset) {
  FrameWriter writer;
  must(writer.plan(batch, first));
  return join(writer.render(kHeader.salt, offset, kSegmentHeaderSize));
}

// A segment with one transaction of two events and a position.
std::string example_segment() {
  const auto header = encode_segment_header(kHeader);
  std::string bytes(header.data(), header.size());
  model::EventBatch batch;
  batch.text().append("{\"id\":7}\n");
  batch.add_event({.table = table_index(batch, "public.t"),
                   .operation = model::Operation::kInsert,
                   .key_hash = 0x0807060504030201,
                   .old_key_hash = 0x0807060504030201,
                   .commit_lsn = 0x155CE00,
                   .index = 0});
  batch.text().append("{\"id\":8}\n");
  batch.add_event({.table = table_index(batch, "public.t"),
                   .operation = model::Operation::kDelete,
                   .key_hash = 0x1817161514131211,
                   .old_key_hash = 0x1817161514131211,
                   .commit_lsn = 0x155CE00,
                   .index = 1});
  batch.mark_boundary(Lsn{0x155CE00});
  bytes += frames_of(batch, {1000}, bytes.size());
  bytes += frames_of(position_batch(Lsn{0x155CF00}), {1002}, bytes.size());
  return bytes;
}

// Frames lie in a buffer whose alignment parse_frame() may rely on.
struct AlignedBytes {
  explicit AlignedBytes(std::string_view bytes)
      : words(bytes.size() / 8 + 1), view(reinterpret_cast<char*>(words.data()), bytes.size()) {
    std::ranges::copy(bytes, reinterpret_cast<char*>(words.data()));
  }

  std::vector<std::uint64_t> words;
  std::string_view view;
};

FrameFault decode(std::string_view bytes, std::uint64_t offset, FrameView* out = nullptr) {
  FrameHeader header;
  const FramePlace place{
      .salt = kHeader.salt, .offset = offset, .file_size = offset + bytes.size()};
  const FrameFault fault = decode_frame_header(bytes, place, header);
  if (fault != FrameFault::kNone) {
    return fault;
  }
  FrameView view;
  return parse_frame(header, bytes.substr(0, header.frame_size), out != nullptr ? *out : view);
}

TEST(SegmentFormat, MatchesTheGoldenBytes) {
  const std::string golden = parse_hex(read_file(CDC_GOLDEN_FILE));
  EXPECT_EQ(hex_dump(example_segment()), hex_dump(golden));
}

TEST(SegmentFormat, IsTheExampleOfTheDocument) {
  const std::string golden = read_file(CDC_GOLDEN_FILE);
  ASSERT_FALSE(golden.empty());
  EXPECT_NE(read_file(CDC_FORMAT_DOCUMENT).find(golden), std::string::npos)
      << "docs/formats/journal.md must hold the golden file as it is";
}

TEST(SegmentFormat, HeaderRoundTrips) {
  const auto bytes = encode_segment_header(kHeader);
  EXPECT_EQ(must(decode_segment_header({bytes.data(), bytes.size()})), kHeader);
}

TEST(SegmentFormat, NoticesEveryFlippedBitOfTheHeader) {
  const auto bytes = encode_segment_header(kHeader);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged(bytes.data(), bytes.size());
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = decode_segment_header(damaged);
    ASSERT_FALSE(decoded) << "bit " << bit;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt) << "bit " << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_segment_header({bytes.data(), size})) << size;
  }
}

TEST(SegmentFormat, TellsANewerVersionFromDamage) {
  std::string newer = example_segment().substr(0, kSegmentHeaderSize);
  newer.resize(120);  // a longer header, its checksum at its end
  newer[8] = 2;
  newer[12] = 120;
  const std::uint32_t sum = crc32c(std::string_view(newer).substr(0, 116));
  newer.replace(116, 4, reinterpret_cast<const char*>(&sum), 4);
  newer += "frames of the future";
  const auto decoded = decode_segment_header(newer);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, Errc::kVersion);
  EXPECT_FALSE(decoded.error().hint.empty());
  newer[30] ^= 1;
  EXPECT_EQ(decode_segment_header(newer).error().code, Errc::kCorrupt);
}

TEST(FrameFormat, RoundTrips) {
  const auto events = make_transaction(12, 5, 60);
  const AlignedBytes frame(frames_of(whole_batch(events), {77}, 4096));
  FrameView view;
  ASSERT_EQ(decode(frame.view, 4096, &view), FrameFault::kNone);
  EXPECT_EQ(view.first, Sequence{77});
  std::vector<TestEvent> got;
  collect(view, got);
  EXPECT_EQ(got, events);
  EXPECT_EQ(view.events[2].key_hash, 12U * 31);
}

TEST(FrameFormat, DividesABatchWithATail) {
  model::EventBatch batch = whole_batch(make_transaction(12, 2));
  const auto tail = make_transaction(13, 3);
  for (const TestEvent& event : tail) {
    add(batch, event);
  }
  FrameWriter writer;
  must(writer.plan(batch, {5}));
  ASSERT_EQ(writer.count(), 2U);
  EXPECT_EQ(writer.frame(0).kind, FrameKind::kWhole);
  EXPECT_EQ(writer.frame(0).acknowledge, Lsn{12});
  EXPECT_EQ(writer.frame(1).kind, FrameKind::kPart);
  EXPECT_EQ(writer.frame(1).first, Sequence{7});
  EXPECT_EQ(writer.frame(1).acknowledge, Lsn{});
  const AlignedBytes bytes(join(writer.render(kHeader.salt, 96, 96)));
  ASSERT_EQ(bytes.view.size(), writer.size());
  FrameView view;
  const std::uint64_t second = writer.frame(0).frame_size;
  ASSERT_EQ(decode(bytes.view.substr(second), 96 + second, &view), FrameFault::kNone);
  EXPECT_EQ(view.events.front().text_offset, 0U);
  std::vector<TestEvent> got;
  collect(view, got);
  EXPECT_EQ(got, tail);
}

TEST(FrameFormat, EndsATransactionWithoutAnEvent) {
  model::EventBatch batch;
  batch.reset(true, 0);
  batch.add_table("public.left_out");
  batch.mark_boundary(Lsn{9});
  FrameWriter writer;
  must(writer.plan(batch, {5}));
  ASSERT_EQ(writer.count(), 1U);
  EXPECT_EQ(writer.frame(0).kind, FrameKind::kLastPart);
  EXPECT_EQ(writer.frame(0).frame_size, kFrameHeaderSize);
}

TEST(FrameFormat, NoticesEveryTruncation) {
  const AlignedBytes frame(frames_of(whole_batch(make_transaction(12, 3)), {1}, 96));
  for (std::size_t size = 0; size < frame.view.size(); ++size) {
    EXPECT_NE(decode(frame.view.substr(0, size), 96), FrameFault::kNone) << size;
  }
}

TEST(FrameFormat, NoticesEveryFlippedBit) {
  const std::string good = frames_of(whole_batch(make_transaction(12, 3)), {1}, 96);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    AlignedBytes frame(good);
    reinterpret_cast<unsigned char*>(frame.words.data())[bit / 8] ^=
        static_cast<unsigned char>(1U << (bit % 8));
    EXPECT_NE(decode(frame.view, 96), FrameFault::kNone) << "bit " << bit;
  }
}

TEST(FrameFormat, IsGoodOnlyInItsPlace) {
  const AlignedBytes frame(frames_of(whole_batch(make_transaction(12, 3)), {1}, 96));
  EXPECT_EQ(decode(frame.view, 96), FrameFault::kNone);
  EXPECT_EQ(decode(frame.view, 104), FrameFault::kMisplaced);
}

// Contents that a right checksum does not excuse: each is a frame with the sum made to fit.
TEST(FrameFormat, ChecksTheContentsBehindARightChecksum) {
  const model::EventBatch batch = whole_batch(make_transaction(12, 3));
  const std::string good = frames_of(batch, {1}, 96);
  FrameHeader header;
  ASSERT_EQ(decode_frame_header(
                good, {.salt = kHeader.salt, .offset = 96, .file_size = 96 + good.size()}, header),
            FrameFault::kNone);
  const std::size_t names = kFrameHeaderSize;
  const auto events = static_cast<std::size_t>(header.events_offset());
  const auto text = static_cast<std::size_t>(header.text_offset());

  const struct {
    std::size_t offset;
    const char* what;
  } damages[] = {
      {names, "size of a table name"},
      {events, "offset of the first line"},
      {events + 4, "size of the first line"},
      {events + 48 + 8, "table index"},
      {events + 48 + 12, "operation"},
      {text + header.text_size - 1, "line break"},
  };

  for (const auto& damage : damages) {
    AlignedBytes frame(good);
    char* bytes = reinterpret_cast<char*>(frame.words.data());
    bytes[damage.offset] = static_cast<char>(bytes[damage.offset] ^ 0x40);
    const std::uint32_t sum = crc32c(frame.view.substr(8));
    std::memcpy(bytes + 4, &sum, sizeof sum);
    EXPECT_EQ(decode(frame.view, 96), FrameFault::kBody) << damage.what;
  }
}

TEST(FrameFormat, RefusesImpossibleHeaders) {
  const std::string good = frames_of(whole_batch(make_transaction(12, 3)), {1}, 96);

  const struct {
    std::size_t offset;
    std::uint64_t value;
    std::size_t size;
  } damages[] = {
      {8, 8, 8},                // frame smaller than its header
      {8, UINT64_MAX, 8},       // size that overflows
      {24, 0, 8},               // sequence 0
      {24, UINT64_MAX, 8},      // sequence that overflows
      {40, 97, 8},              // synced beyond itself
      {40, 0, 8},               // less than a header synced
      {48, UINT32_MAX, 4},      // event count
      {52, UINT32_MAX, 4},      // table count
      {56, UINT32_MAX - 7, 4},  // names
      {60, UINT32_MAX, 4},      // text
      {64, 0, 4},               // kind
      {64, 5, 4},               // kind
      {64, 0x101, 4},           // kind beyond a byte
      {64, 4, 4},               // position with events
      {68, 1, 4},               // reserved
  };

  for (const auto& damage : damages) {
    AlignedBytes frame(good);
    char* bytes = reinterpret_cast<char*>(frame.words.data());
    std::memcpy(bytes + damage.offset, &damage.value, damage.size);
    const std::uint32_t sum = crc32c(frame.view.substr(8));
    std::memcpy(bytes + 4, &sum, sizeof sum);
    const FrameFault fault = decode(frame.view, 96);
    EXPECT_TRUE(fault == FrameFault::kField || fault == FrameFault::kLength)
        << damage.offset << " gives " << name_of(fault);
  }
}

}  // namespace
}  // namespace cdc::journal
