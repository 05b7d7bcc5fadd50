// Proves when rows of a chunk enter the stream, which are left out, and that a chunk counts as
// delivered only when the journal has all of it.
#include "capture/snapshot_emitter.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/format.h"

namespace cdc::capture {
namespace {

constexpr std::uint32_t kTable = 7;

class SnapshotEmitterTest : public ::testing::Test {
 protected:
  void watch() {
    send(snapshot::Watch{.table = kTable});
    emitter_.emit(pipeline_, Lsn{1});
    ASSERT_TRUE(std::holds_alternative<snapshot::Watching>(answers().at(0)));
  }

  void send(snapshot::ToStream message) {
    ASSERT_TRUE(exchange_.to_stream.post(std::move(message)));
  }

  // Rows with the keys 1 to `count`, of `bytes` each, under a view that ends at `high`.
  void offer(std::uint64_t ticket, Lsn high, int count, std::size_t bytes = 10) {
    auto offer = std::make_unique<snapshot::Offer>();
    offer->ticket = ticket;
    offer->table = kTable;
    offer->view = {.xmin = 100, .xmax = 100, .high = high};
    const std::uint32_t table = offer->rows.add_table("public.t");
    for (int key = 1; key <= count; ++key) {
      std::string line(bytes - 1, static_cast<char>('a' + key % 26));
      offer->rows.text().append(line + "\n");
      offer->rows.add_event({.table = table,
                             .operation = model::Operation::kRead,
                             .flags = model::EventHeader::kSnapshot,
                             .key_hash = static_cast<std::uint64_t>(key),
                             .old_key_hash = static_cast<std::uint64_t>(key)});
    }
    send(std::move(offer));
  }

  void change(std::uint32_t xid, std::uint64_t key) {
    changes_.add_transaction(xid);
    changes_.add_row({.table = kTable, .xid = xid, .key_hash = key, .old_key_hash = key});
  }

  std::vector<snapshot::FromStream> answers() {
    emitter_.report(pipeline_);
    return exchange_.from_stream.take_all();
  }

  // The journal takes what is handed on and makes it durable; gives the number of events.
  std::size_t make_durable() {
    EXPECT_TRUE(pipeline_.try_hand_on([](std::size_t) { return false; }));
    model::EventBatch batch;
    EXPECT_EQ(handoff_.try_take(batch), Handoff<model::EventBatch>::Take::kTaken);
    for (const model::EventHeader& header : batch.events()) {
      EXPECT_TRUE(position_ == Position{} || position_ < header.position());
      position_ = header.position();
    }
    batches_.publish(batches_.load() + 1);
    const std::size_t events = batch.events().size();
    return events;
  }

  Handoff<model::EventBatch> handoff_;
  Watermark lsn_;
  Watermark batches_;
  Pipeline pipeline_{handoff_, {.lsn = lsn_, .batches = batches_}};
  postgres::RecentChanges changes_;
  snapshot::Exchange exchange_;
  SnapshotEmitter emitter_{exchange_, changes_};
  Position position_;
};

TEST_F(SnapshotEmitterTest, RowsWaitForTheStreamToComeToTheirView) {
  watch();
  offer(1, Lsn{50}, 3);
  emitter_.emit(pipeline_, Lsn{49});
  EXPECT_TRUE(pipeline_.batch().empty());
  EXPECT_TRUE(emitter_.waits_for_stream(Lsn{49}));
  emitter_.emit(pipeline_, Lsn{50});
  EXPECT_EQ(pipeline_.batch().events().size(), 3U);
  EXPECT_TRUE(pipeline_.batch().whole());
  EXPECT_EQ(pipeline_.batch().acknowledge(), Lsn{50});
}

TEST_F(SnapshotEmitterTest, DeliveredMeansDurable) {
  watch();
  offer(1, Lsn{50}, 3);
  change(100, 2);
  emitter_.emit(pipeline_, Lsn{50});
  EXPECT_TRUE(answers().empty());
  EXPECT_EQ(make_durable(), 2U);
  const auto all = answers();
  ASSERT_EQ(all.size(), 1U);
  const auto& delivered = std::get<snapshot::Delivered>(all[0]);
  EXPECT_EQ(delivered.ticket, 1U);
  EXPECT_EQ(delivered.emitted, 2U);
  EXPECT_EQ(delivered.dropped, 1U);
}

TEST_F(SnapshotEmitterTest, AChunkWithoutACurrentRowIsDeliveredAtOnce) {
  watch();
  offer(1, Lsn{50}, 1);
  change(100, 1);
  emitter_.emit(pipeline_, Lsn{50});
  EXPECT_TRUE(pipeline_.batch().empty());
  EXPECT_EQ(answers().size(), 1U);
}

TEST_F(SnapshotEmitterTest, ARowWhoseNewerChangeLacksValuesIsToBeReadAgain) {
  watch();
  offer(1, Lsn{50}, 3);
  changes_.add_transaction(100);
  changes_.add_row(
      {.table = kTable, .xid = 100, .key_hash = 2, .old_key_hash = 2, .partial = true});
  emitter_.emit(pipeline_, Lsn{50});
  EXPECT_EQ(make_durable(), 2U);
  const auto all = answers();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(std::get<snapshot::Delivered>(all[0]).missing, std::vector<std::uint64_t>{2});
}

TEST_F(SnapshotEmitterTest, AnUnwatchedTableIsRefused) {
  offer(1, Lsn{50}, 3);
  emitter_.emit(pipeline_, Lsn{50});
  EXPECT_TRUE(pipeline_.batch().empty());
  const auto all = answers();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(std::get<snapshot::Refused>(all[0]).ticket, 1U);
}

TEST_F(SnapshotEmitterTest, ALargeChunkHoldsTheStreamUntilItIsInBatches) {
  watch();
  offer(1, Lsn{50}, 30, 100'000);
  std::size_t events = 0;
  int batches = 0;
  for (;;) {
    emitter_.emit(pipeline_, Lsn{50});
    if (pipeline_.batch().empty()) {
      break;
    }
    EXPECT_EQ(emitter_.is_emitting(), emitter_.is_due(Lsn{50}));
    EXPECT_TRUE(events + pipeline_.batch().events().size() == 30 || answers().empty());
    events += make_durable();
    ++batches;
  }
  EXPECT_EQ(events, 30U);
  EXPECT_GT(batches, 2);
  EXPECT_FALSE(emitter_.is_emitting());
  EXPECT_EQ(answers().size(), 1U);
}

TEST_F(SnapshotEmitterTest, FactsNeedNoJudgement) {
  auto fact = std::make_unique<snapshot::Offer>();
  fact->ticket = 9;
  fact->rows.text().append("{}\n");
  fact->rows.add_event(
      {.table = fact->rows.add_table(""), .operation = model::Operation::kControl});
  send(std::move(fact));
  emitter_.emit(pipeline_, Lsn{50});
  EXPECT_EQ(make_durable(), 1U);
  EXPECT_EQ(answers().size(), 1U);
}

TEST_F(SnapshotEmitterTest, EachTableOfABatchKeepsItsName) {
  watch();
  offer(1, Lsn{50}, 2);
  auto fact = std::make_unique<snapshot::Offer>();
  fact->rows.text().append("{}\n");
  fact->rows.add_event(
      {.table = fact->rows.add_table("other"), .operation = model::Operation::kControl});
  send(std::move(fact));
  offer(3, Lsn{50}, 2);
  change(100, 1);  // the first row of each chunk is stale
  emitter_.emit(pipeline_, Lsn{50});
  const model::EventBatch& batch = pipeline_.batch();
  ASSERT_EQ(batch.events().size(), 3U);
  EXPECT_EQ(batch.tables()[batch.events()[0].table], "public.t");
  EXPECT_EQ(batch.tables()[batch.events()[1].table], "other");
  EXPECT_EQ(batch.tables()[batch.events()[2].table], "public.t");
}

TEST_F(SnapshotEmitterTest, NothingEntersAStreamThatHasNoPositionYet) {
  auto fact = std::make_unique<snapshot::Offer>();
  fact->rows.text().append("{}\n");
  fact->rows.add_event(
      {.table = fact->rows.add_table(""), .operation = model::Operation::kControl});
  send(std::move(fact));
  emitter_.emit(pipeline_, Lsn{0});
  EXPECT_TRUE(pipeline_.batch().empty());
  EXPECT_TRUE(emitter_.waits_for_stream(Lsn{0}));
}

TEST_F(SnapshotEmitterTest, PositionsGoUpWhateverIsBetween) {
  watch();
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) {
    offer(ticket, Lsn{50}, 2);
    emitter_.emit(pipeline_, Lsn{50});
  }
  EXPECT_EQ(make_durable(), 6U);
  offer(4, Lsn{50}, 2);
  emitter_.emit(pipeline_, Lsn{60});
  EXPECT_EQ(make_durable(), 2U);
}

}  // namespace
}  // namespace cdc::capture
