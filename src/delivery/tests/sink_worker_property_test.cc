// Proves that no event is skipped and order per key is kept, whatever the sink does and whenever
// the process dies: random partial takes, acknowledgements in any order, errors, and crashes that
// lose everything but the saved cursor. Seeds are printed on failure.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <poll.h>

#include <gtest/gtest.h>

#include "base/sync/event_fd.h"
#include "delivery/sink_worker.h"
#include "delivery/tests/journal_fixture.h"
#include "delivery/tests/memory_cursors.h"

namespace cdc::delivery {
namespace {

using namespace std::chrono_literals;
using journal::FrameView;
using model::EventHeader;

// What the world outside has seen. Survives crashes of the process.
struct World {
  std::vector<EventHeader> headers;       // of sequence 1, 2, ...
  std::vector<std::uint64_t> deliveries;  // in the order in which they arrived
  std::vector<std::size_t> attempts;      // where in `deliveries` the sink began anew
  std::set<std::uint64_t> acknowledged;
};

class RandomSink final : public Sink {
 public:
  RandomSink(World& world, std::uint64_t seed, int calls)
      : world_(world), random_(seed), calls_left_(calls) {}

  Status start() override {
    begin_attempt();
    return {};
  }

  Result<std::size_t> submit(const FrameView& frame, std::size_t from, AckWindow& window) override {
    CDC_TRY(fail_at_random());
    const std::size_t offered = frame.events.size() - from;
    const std::size_t taken = below(3) == 0 ? below(offered + 1) : offered;
    for (std::size_t i = from; i < from + taken; ++i) {
      const std::uint64_t sequence = frame.first.value + i;
      EXPECT_EQ(frame.line(i), TestJournal::line_of(sequence));
      world_.deliveries.push_back(sequence);
      in_flight_.push_back(sequence);
    }
    acknowledge_some(window);
    ready_.signal();
    return taken;
  }

  Status poll_acks(AckWindow& window) override {
    CDC_TRY(fail_at_random());
    acknowledge_some(window);
    if (in_flight_.empty()) {
      ready_.drain();
    }
    return {};
  }

  [[nodiscard]] Interest interest() const override { return {.fd = ready_.fd(), .events = POLLIN}; }

  void stop(MonotonicTime) override {}

  [[nodiscard]] bool is_dead() const { return is_dead_; }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  void begin_attempt() {
    in_flight_.clear();
    world_.attempts.push_back(world_.deliveries.size());
  }

  Status fail_at_random() {
    if (is_dead_ || --calls_left_ <= 0) {
      is_dead_ = true;
      return fail(Errc::kClosed, "the process is dead");
    }
    if (below(25) == 0) {
      begin_attempt();
      return fail(Errc::kUnavailable, "away");
    }
    return {};
  }

  void acknowledge_some(AckWindow& window) {
    if (in_flight_.empty()) {
      return;
    }
    if (below(4) == 0) {
      world_.acknowledged.insert(in_flight_.begin(), in_flight_.end());
      window.acknowledge_through(Sequence{in_flight_.back()});
      in_flight_.clear();
      return;
    }
    for (std::uint64_t count = below(6); count > 0 && !in_flight_.empty(); --count) {
      const auto i = static_cast<std::ptrdiff_t>(below(in_flight_.size()));
      world_.acknowledged.insert(in_flight_[static_cast<std::size_t>(i)]);
      window.acknowledge(Sequence{in_flight_[static_cast<std::size_t>(i)]});
      in_flight_.erase(in_flight_.begin() + i);
    }
  }

  World& world_;
  std::mt19937_64 random_;
  int calls_left_;
  bool is_dead_ = false;
  std::vector<std::uint64_t> in_flight_;
  EventFd ready_;
};

// Loses what a dead process would not have saved, and checks D1 on the rest.
class CrashingCursors final : public state::CursorStore {
 public:
  CrashingCursors(World& world, state::CursorStore& store, const RandomSink& sink)
      : world_(world), store_(store), sink_(sink) {}

  Result<std::optional<state::Cursor>> load(std::string_view consumer) override {
    return store_.load(consumer);
  }

  Status save(std::string_view consumer, const state::Cursor& cursor) override {
    if (sink_.is_dead()) {
      return {};
    }
    for (std::uint64_t i = 1; i <= world_.headers.size(); ++i) {
      const bool is_covered = covers(cursor, lanes_of(world_.headers[i - 1]), Sequence{i});
      EXPECT_TRUE(!is_covered || world_.acknowledged.contains(i)) << "D1 at " << i;
    }
    return store_.save(consumer, cursor);
  }

  Status remove(std::string_view consumer) override { return store_.remove(consumer); }

  Result<std::vector<state::NamedCursor>> list() override { return store_.list(); }

 private:
  World& world_;
  state::CursorStore& store_;
  const RandomSink& sink_;
};

std::vector<EventHeader> random_headers(std::mt19937_64& random) {
  std::vector<EventHeader> headers(1 + random() % 12);
  for (EventHeader& header : headers) {
    header.key_hash = random() % 9;
    header.old_key_hash = random() % 5 == 0 ? random() % 9 : header.key_hash;
    header.flags = random() % 30 == 0 ? EventHeader::kBarrier : 0;
  }
  return headers;
}

// In each lane, an event follows the one before it, or begins an attempt that goes back: so no
// consumer sees an event of a key before it has seen all earlier ones.
void check_order(const World& world) {
  for (std::size_t lane = 0; lane < 9; ++lane) {
    std::map<std::uint64_t, std::size_t> rank;  // sequence -> its number in the lane
    for (std::uint64_t i = 1; i <= world.headers.size(); ++i) {
      if ((lanes_of(world.headers[i - 1]) >> lane & 1) != 0) {
        rank.emplace(i, rank.size() + 1);
      }
    }
    std::size_t next = 1;
    auto attempt = world.attempts.begin();
    bool goes_back = false;
    for (std::size_t i = 0; i < world.deliveries.size(); ++i) {
      for (; attempt != world.attempts.end() && *attempt <= i; ++attempt) {
        goes_back = true;
      }
      const auto found = rank.find(world.deliveries[i]);
      if (found == rank.end()) {
        continue;
      }
      if (goes_back) {
        ASSERT_LE(found->second, next) << "skipped in lane " << lane << ", delivery " << i;
      } else {
        ASSERT_EQ(found->second, next) << "out of order in lane " << lane << ", delivery " << i;
      }
      goes_back = false;
      next = found->second + 1;
    }
    ASSERT_EQ(next, rank.size() + 1) << "not delivered to its end: lane " << lane;
  }
}

void run_history(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TestJournal journal(64U << 10U);
  MemoryCursors cursors;
  World world;
  // The sink and the store check against all headers, so these are complete before a worker runs.
  const auto next_transactions = [&] {
    std::vector<std::vector<EventHeader>> transactions;
    for (int i = 0; i < 4; ++i) {
      const auto headers = transactions.emplace_back(random_headers(random));
      world.headers.insert(world.headers.end(), headers.begin(), headers.end());
    }
    return transactions;
  };
  SinkWorker::Options options{.consumer = "c",
                              .in_flight = {.events = 24, .bytes = 600},
                              .backoff = {.first = 1ms, .longest = 1ms},
                              .cursor_interval = 0ms};
  for (int life = 0; life < 12; ++life) {
    RandomSink sink(world, random(), static_cast<int>(1 + random() % 60));
    CrashingCursors crashing(world, cursors, sink);
    SinkWorker worker(*journal, crashing, sink, options, [](const Error&) {});
    const auto transactions = next_transactions();
    journal.commit(transactions[0]);
    journal.commit(transactions[1]);
    worker.start();
    journal.commit(transactions[2]);
    journal.commit(transactions[3]);
    worker.stop(monotonic_now() + 120s);
    worker.join();
  }
  RandomSink sink(world, random(), 1'000'000);
  CrashingCursors crashing(world, cursors, sink);
  SinkWorker worker(*journal, crashing, sink, options, [](const Error&) {});
  worker.start();
  cursors.await_lowest("c", journal.last());
  worker.stop(monotonic_now());
  worker.join();
  EXPECT_EQ(world.acknowledged.size(), world.headers.size());
  check_order(world);
}

TEST(SinkWorkerProperty, NothingIsSkippedAndLanesKeepTheirOrder) {
  for (std::uint64_t seed = 1; seed <= 15 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    run_history(seed);
  }
}

}  // namespace
}  // namespace cdc::delivery
