#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "base/ids.h"
#include "journal/file_system.h"
#include "journal/journal.h"
#include "model/event_batch.h"

namespace cdc::delivery {

// A journal in a directory of its own, which goes with it.
class TestJournal {
 public:
  explicit TestJournal(std::uint64_t segment_bytes = 1U << 20U) {
    std::string name = testing::TempDir() + "/delivery_XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    auto journal = journal::Journal::open(
        files_,
        {.directory = directory_ / "events", .segment_bytes = segment_bytes, .retention = {}});
    EXPECT_TRUE(journal) << journal.error().to_string();
    journal_ = *std::move(journal);
  }

  ~TestJournal() {
    journal_.reset();
    std::filesystem::remove_all(directory_);
  }

  TestJournal(const TestJournal&) = delete;
  TestJournal& operator=(const TestJournal&) = delete;

  [[nodiscard]] journal::Journal& operator*() { return *journal_; }

  [[nodiscard]] journal::Journal* operator->() { return journal_.get(); }

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

  // One durable transaction. Only key hashes and flags of `events` count; the line of sequence N is
  // line_of(N).
  void commit(std::vector<model::EventHeader> events, std::size_t line_bytes = 0) {
    model::EventBatch batch;
    const std::uint32_t table = batch.add_table("public.t");
    ++lsn_;
    for (std::size_t i = 0; i < events.size(); ++i) {
      ++last_;
      batch.text().append(line_of(last_, line_bytes));
      events[i].table = table;
      events[i].commit_lsn = lsn_;
      events[i].index = i;
      batch.add_event(events[i]);
    }
    batch.mark_boundary(Lsn{lsn_});
    const Status appended = journal_->append(batch);
    ASSERT_TRUE(appended) << appended.error().to_string();
    const Status synced = journal_->sync();
    ASSERT_TRUE(synced) << synced.error().to_string();
  }

  // `count` events with a key each.
  void commit(std::size_t count, std::size_t line_bytes = 0) {
    std::vector<model::EventHeader> events(count);
    for (std::size_t i = 0; i < count; ++i) {
      events[i].key_hash = last_ + i;
      events[i].old_key_hash = last_ + i;
    }
    commit(std::move(events), line_bytes);
  }

  [[nodiscard]] static std::string line_of(std::uint64_t sequence, std::size_t line_bytes = 0) {
    std::string line = cdc::format("{{\"sequence\":{}", sequence);
    line.resize(std::max(line.size(), std::max<std::size_t>(line_bytes, 2) - 2), ' ');
    return line + "}\n";
  }

  [[nodiscard]] Sequence last() const { return Sequence{last_}; }

 private:
  journal::PosixFileSystem files_;
  std::filesystem::path directory_;
  std::unique_ptr<journal::Journal> journal_;
  std::uint64_t last_ = 0;
  std::uint64_t lsn_ = 0;
};

}  // namespace cdc::delivery
