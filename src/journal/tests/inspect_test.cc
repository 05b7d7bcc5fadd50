// Proves that an inspection shows what is there, in both formats, beside a running journal too, and
// that it tells where damage is and goes on behind it.
#include "journal/inspect.h"

#include <gtest/gtest.h>

#include "journal/internal/segment_files.h"
#include "journal/journal.h"
#include "journal/segment_list.h"
#include "journal/tests/simulated_file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

class InspectTest : public testing::Test {
 protected:
  InspectTest() {
    journal_ = must(Journal::open(disk_, {.directory = "/data/events", .segment_bytes = 4096}));
  }

  void fill(std::size_t segments) {
    for (std::uint64_t i = 1; journal_->segment_list().snapshot()->size() < segments; ++i) {
      must(journal_->append(whole_batch(make_transaction(i, 2, 300))));
      must(journal_->sync());
    }
  }

  Result<Inspection> run(InspectOptions options = {}) {
    output_.clear();
    return inspect(
        disk_, "/data/events", options, [this](std::string_view text) { output_ += text; });
  }

  void damage(std::uint64_t segment, std::size_t offset) {
    const std::filesystem::path path = "/data/events/" + segment_name(segment);
    std::string bytes = disk_.content(path);
    bytes[offset] ^= 1;
    disk_.set_content(path, bytes);
  }

  [[nodiscard]] bool shows(std::string_view text) const {
    return output_.find(text) != std::string::npos;
  }

  SimulatedFileSystem disk_{1};
  std::unique_ptr<Journal> journal_;
  std::string output_;
};

TEST_F(InspectTest, ListsSegmentsAndFrames) {
  fill(3);
  must(journal_->append(position_batch(Lsn{0x155CD28})));
  must(journal_->sync());
  const Inspection found = must(run());
  EXPECT_EQ(found.segments, 3U);
  EXPECT_EQ(found.events, journal_->durable_sequence().load());
  EXPECT_EQ(found.last_whole, Sequence{journal_->durable_sequence().load()});
  EXPECT_EQ(found.acknowledge, Lsn{0x155CD28});
  EXPECT_EQ(found.tail_bytes, 0U);
  EXPECT_TRUE(shows("segment  0000000000000001.seg  sealed")) << output_;
  EXPECT_TRUE(shows("segment  0000000000000003.seg  active")) << output_;
  EXPECT_TRUE(shows("frame  at 96  whole")) << output_;
  EXPECT_TRUE(shows("events none  acknowledge 0/155CD28")) << output_;
  EXPECT_TRUE(shows("0 faults")) << output_;
}

TEST_F(InspectTest, ShowsEvents) {
  must(journal_->append(whole_batch(make_transaction(0x20, 2))));
  must(journal_->sync());
  must(run({.events = true}));
  EXPECT_TRUE(shows("event 2  0/20/1  update  public.orders  {\"commit\":32,\"index\":1"))
      << output_;
  must(run({.events = true, .json = true}));
  EXPECT_TRUE(shows(R"({"type":"event","sequence":2,"operation":"update","table":"public.orders",)"
                    R"("commit_lsn":"0/20","index":1,"event":{"commit":32,)"))
      << output_;
  must(run());
  EXPECT_FALSE(shows("event 2")) << output_;
}

TEST_F(InspectTest, ShowsTheTail) {
  must(journal_->append(whole_batch(make_transaction(1, 2, 300))));
  must(journal_->append(part_batch(make_transaction(2, 3, 300), false)));
  must(journal_->append(part_batch(make_transaction(2, 10, 300), true)));
  const Inspection found = must(run());
  EXPECT_EQ(found.last_whole, Sequence{2});
  EXPECT_EQ(found.events, 15U);
  EXPECT_GT(found.tail_bytes, 13U * 300);
  EXPECT_TRUE(shows("part")) << output_;
}

TEST_F(InspectTest, GoesOnBehindDamage) {
  fill(4);
  damage(2, 300);
  damage(3, 20);
  const auto found = run();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kCorrupt);
  EXPECT_TRUE(shows("0000000000000002.seg is damaged at offset 96: checksum")) << output_;
  EXPECT_TRUE(shows("0000000000000003.seg is damaged at offset 0")) << output_;
  EXPECT_TRUE(shows("segment  0000000000000004.seg")) << output_;
  run({.json = true});
  EXPECT_TRUE(shows(R"({"type":"fault","code":"corrupt","message":")")) << output_;
  EXPECT_TRUE(shows(R"("faults":)")) << output_;
}

TEST_F(InspectTest, SaysThatThereIsNoJournal) {
  const auto found = inspect(disk_, "/elsewhere", {}, [](std::string_view) {});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kNotFound);
}

TEST_F(InspectTest, ChangesNothing) {
  fill(3);
  must(journal_->append(part_batch(make_transaction(900, 3, 300), false)));
  const std::uint64_t operations = disk_.operations();
  must(run({.events = true}));
  EXPECT_EQ(disk_.operations(), operations);
}

}  // namespace
}  // namespace cdc::journal
