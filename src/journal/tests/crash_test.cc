// Proves, on a disk that loses and tears what was not synced: whatever happens, no event that was
// published as durable is lost or changed, none appears that was not appended, transactions stay
// whole, the position told to the source never runs ahead of the events, and a crash is never taken
// for damage. First for every operation of a scripted workload, then for random ones; a failure
// prints the seed and the operation.
#include <cstdlib>
#include <optional>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "journal/journal.h"
#include "journal/segment_list.h"
#include "journal/tests/simulated_file_system.h"
#include "journal/tests/test_journal.h"

namespace cdc::journal {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// A source and its journal: what was appended, what was promised, and what must therefore be there.
class Workload {
 public:
  explicit Workload(SimulatedFileSystem& disk) : disk_(disk) {}

  [[nodiscard]] Status open() {
    CDC_ASSIGN(journal_,
               Journal::open(disk_,
                             {.directory = "/events",
                              .segment_bytes = 2048,
                              .bytes_max = 1U << 20U,
                              .retention = seconds{5}}));
    return {};
  }

  // The process is gone; only the disk remains.
  void die() { journal_.reset(); }

  [[nodiscard]] Status transaction(std::size_t count, std::size_t size) {
    const auto events = make_transaction(++commit_, count, size);
    note_appending(events, Lsn{commit_});
    return settle(journal_->append(whole_batch(events)), true);
  }

  // A whole transaction and the beginning of another in one batch, then the rest in `parts`
  // batches; the last of them is left out when the source is to break off.
  [[nodiscard]] Status large_transaction(std::size_t parts, std::size_t size, bool finish) {
    const auto small = make_transaction(++commit_, 2, size);
    const auto large = make_transaction(++commit_, parts + 1, size);
    note_appending(small, Lsn{commit_ - 1});
    model::EventBatch batch = whole_batch(small);
    add(batch, large[0]);
    CDC_TRY(settle(journal_->append(batch), true));
    for (std::size_t i = 1; i < parts; ++i) {
      CDC_TRY(settle(journal_->append(part_batch({large[i]}, true)), false));
      if (i % 3 == 1) {
        CDC_TRY(sync());
      }
    }
    if (!finish) {
      --commit_;  // it comes again
      return {};
    }
    note_appending(large, Lsn{commit_});
    return settle(journal_->append(last_part_batch({large.back()}, Lsn{commit_})), true);
  }

  [[nodiscard]] Status position() {
    note_appending({}, Lsn{++commit_});
    return settle(journal_->append(position_batch(Lsn{commit_})), true);
  }

  [[nodiscard]] Status sync() {
    const auto synced = journal_->sync();
    if (synced) {
      const std::uint64_t durable = journal_->durable_sequence().load();
      if (durable != events_.size()) {
        throw std::runtime_error("a sync did not publish everything");
      }
      acknowledged_ = events_.size();
      acknowledged_lsn_ = Lsn{journal_->durable_lsn().load()};
    }
    return synced;
  }

  [[nodiscard]] Status retain(Sequence passed) {
    now_ += seconds{3};
    passed_ = std::max(passed_, passed);
    const auto freed = journal_->retain(passed, now_);
    return freed ? Status{} : cdc::fail(freed.error());
  }

  // Opens the journal again and compares it with what was promised. What it holds becomes the
  // truth: the source would begin there.
  void recover() {
    if (const auto opened = open(); !opened) {
      throw std::runtime_error("cannot be opened again: " + opened.error().to_string());
    }
    const std::uint64_t durable = journal_->durable_sequence().load();
    const Lsn lsn{journal_->durable_lsn().load()};
    if (pending_) {
      // The batch whose append failed may have reached the disk.
      events_.insert(events_.end(), pending_->events.begin(), pending_->events.end());
      boundaries_.insert(events_.size());
      appended_lsn_ = std::max(appended_lsn_, pending_->acknowledge);
      pending_.reset();
    }
    ASSERT_GE(durable, acknowledged_) << "an acknowledged event is lost";
    ASSERT_LE(durable, events_.size()) << "events that were never appended";
    ASSERT_TRUE(boundaries_.contains(durable)) << "ends inside a transaction, at " << durable;
    ASSERT_GE(lsn, acknowledged_lsn_);
    ASSERT_LE(lsn, appended_lsn_);
    events_.resize(durable);
    boundaries_.erase(boundaries_.upper_bound(durable), boundaries_.end());
    if (durable > 0) {
      ASSERT_EQ(journal_->last_position(), events_.back().position);
      ASSERT_GE(lsn, events_.back().position.commit) << "the source would send events twice";
    }
    check_events();
    acknowledged_ = durable;
    acknowledged_lsn_ = lsn;
    appended_lsn_ = lsn;
    commit_ = std::max(commit_, lsn.value) + 1;
  }

  void check_events() {
    Reader reader(journal_->segment_list(), {1});
    const Sequence oldest = reader.oldest();
    ASSERT_LE(oldest.value, std::max<std::uint64_t>(passed_.value, 0) + 1)
        << "deleted before all had passed";
    const std::vector<TestEvent> expected(
        events_.begin() + static_cast<std::ptrdiff_t>(oldest.value - 1), events_.end());
    ASSERT_EQ(read_all(*journal_), expected);
  }

  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  struct Pending {
    std::vector<TestEvent> events;
    Lsn acknowledge;
  };

  void note_appending(const std::vector<TestEvent>& events, Lsn acknowledge) {
    pending_ = Pending{.events = events, .acknowledge = acknowledge};
  }

  // `ends`: the batch held the pending whole transaction.
  Status settle(Status status, bool ends) {
    if (journal_->durable_sequence().load() != acknowledged_ ||
        journal_->durable_lsn().load() != acknowledged_lsn_.value) {
      throw std::runtime_error("an append published something");
    }
    if (status && ends && pending_) {
      events_.insert(events_.end(), pending_->events.begin(), pending_->events.end());
      boundaries_.insert(events_.size());
      appended_lsn_ = std::max(appended_lsn_, pending_->acknowledge);
      pending_.reset();
    }
    return status;
  }

  SimulatedFileSystem& disk_;
  std::unique_ptr<Journal> journal_;
  system_clock::time_point now_{};
  std::uint64_t commit_ = 0;
  std::vector<TestEvent> events_;          // of whole transactions, in order, from sequence 1
  std::set<std::uint64_t> boundaries_{0};  // sequences that end a transaction
  std::uint64_t acknowledged_ = 0;         // published as durable
  Lsn acknowledged_lsn_;
  Lsn appended_lsn_;
  Sequence passed_;
  std::optional<Pending> pending_;
};

// Small and large transactions, parts over several segments, one broken off, positions, rolls and
// retention.
Status scripted(Workload& work) {
  CDC_TRY(work.open());
  CDC_TRY(work.transaction(3, 100));
  CDC_TRY(work.sync());
  CDC_TRY(work.transaction(1, 200));
  CDC_TRY(work.transaction(2, 300));
  CDC_TRY(work.sync());
  CDC_TRY(work.position());
  CDC_TRY(work.large_transaction(7, 600, true));
  CDC_TRY(work.sync());
  CDC_TRY(work.large_transaction(5, 700, false));
  CDC_TRY(work.transaction(4, 150));
  CDC_TRY(work.sync());
  CDC_TRY(work.retain({work.acknowledged()}));
  CDC_TRY(work.transaction(1, 5000));
  CDC_TRY(work.sync());
  CDC_TRY(work.retain({work.acknowledged()}));
  CDC_TRY(work.retain({work.acknowledged()}));
  CDC_TRY(work.position());
  CDC_TRY(work.transaction(2, 100));
  return work.sync();
}

TEST(Crash, AtEveryOperationOfAScript) {
  SimulatedFileSystem calm(0);
  Workload rehearsal(calm);
  must(scripted(rehearsal));
  const std::uint64_t operations = calm.operations();
  ASSERT_GT(operations, 60U);
  for (std::uint64_t operation = 0; operation < operations; ++operation) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(format("power cut at operation {}, seed {}", operation, seed));
      SimulatedFileSystem disk(seed);
      Workload work(disk);
      disk.cut_power_at(operation);
      ASSERT_FALSE(scripted(work));
      work.die();
      disk.restart();
      ASSERT_NO_FATAL_FAILURE(work.recover());
      // And it is a working journal.
      must(work.transaction(2, 100));
      must(work.sync());
      ASSERT_NO_FATAL_FAILURE(work.check_events());
    }
  }
}

// The power goes again while the journal recovers.
TEST(Crash, DuringRecovery) {
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    std::mt19937_64 random(seed);
    SimulatedFileSystem disk(seed);
    Workload work(disk);
    disk.cut_power_at(random() % 90);
    static_cast<void>(scripted(work));
    for (int i = 0; i < 3; ++i) {
      work.die();
      disk.restart();
      disk.cut_power_at(random() % 6);
      static_cast<void>(work.open());
    }
    work.die();
    disk.restart();
    ASSERT_NO_FATAL_FAILURE(work.recover());
  }
}

Status random_step(Workload& work, std::mt19937_64& random) {
  switch (random() % 10) {
    case 0:
    case 1:
    case 2:
      return work.transaction(1 + random() % 5, random() % 400);
    case 3:
      return work.large_transaction(2 + random() % 8, random() % 700, random() % 3 != 0);
    case 4:
      return work.position();
    case 5:
      return work.retain({work.acknowledged() - random() % (work.acknowledged() + 1) / 4});
    default:
      return work.sync();
  }
}

// Several lives of one journal, each ended by a power cut, a failed sync or a kill.
void live_and_crash(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  SimulatedFileSystem disk(seed);
  if (seed % 5 == 0) {
    disk.refuse_allocation();
  }
  Workload work(disk);
  must(work.open());
  for (int life = 0; life < 6; ++life) {
    disk.cut_power_at(disk.operations() + random() % 120);
    const bool bad_sync = random() % 4 == 0;
    Status status;
    for (int step = 0; status && step < 60; ++step) {
      if (bad_sync && step == 30) {
        disk.fail_next_sync();
      }
      status = random_step(work, random);
    }
    if (!status && !disk.power_is_off()) {
      // A sync has failed: a second one must not be believed.
      const auto again = work.sync();
      ASSERT_TRUE(!again && again.error().code == Errc::kIo) << status.error().to_string();
    }
    work.die();
    disk.restart();
    ASSERT_NO_FATAL_FAILURE(work.recover()) << "life " << life;
  }
}

TEST(Crash, ManyTimesAtRandom) {
  // A longer search: CDC_CRASH_SEEDS=100000.
  const char* const wanted = std::getenv("CDC_CRASH_SEEDS");  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t seeds = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 400;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(format("seed {}", seed));
    ASSERT_NO_FATAL_FAILURE(live_and_crash(seed));
  }
}

}  // namespace
}  // namespace cdc::journal
