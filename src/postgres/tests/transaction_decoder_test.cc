// Proves the event's bytes, the rules for keys and images, and invariants T1 to T4 of the decoder,
// on hand-made messages. What real servers send is tested in tests/integration.
#include "postgres/transaction_decoder.h"

#include <gtest/gtest.h>

#include "postgres/tests/decoder_fixture.h"

namespace cdc::postgres {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders read as a grammar

class TransactionDecoderTest : public DecoderFixture {};

TEST_F(TransactionDecoderTest, GoldenInsert) {
  start();
  feed({begin(0x155CD28, 731, 840'456'000'123'456),
        relation(7, "orders", 'd', kIdName),
        insert(7, {"1", "a \"b\""}),
        commit(0x155CD28, 0x155CD58)});
  EXPECT_EQ(take(),
            std::vector<std::string>{
                R"({"id":"01M0CY8ZKV00002NED50000001",)"
                R"("idempotency_key":"default:public.orders:{\"id\":1}:insert:0/155CD28:0",)"
                R"("timestamp":"2026-08-19T12:00:00.123456Z","source":"default",)"
                R"("operation":"insert","schema":"public","table":"orders","key":{"id":1},)"
                R"("before":null,"after":{"id":1,"name":"a \"b\""},)"
                R"("metadata":{"lsn":"0/155CD28","tx_id":731,)"
                R"("commit_ts":"2026-08-19T12:00:00.123456Z","seq":0,"snapshot":false}})"
                "\n"});
  EXPECT_EQ(decoder_->done(), Lsn{0x155CD58});
}

TEST_F(TransactionDecoderTest, NothingIsWholeBeforeTheCommit) {
  start();
  feed({begin(10, 1), relation(7, "t", 'd', kIdName), insert(7, {"1", "a"})});
  EXPECT_EQ(batch_.boundary(), 0U);
  EXPECT_EQ(decoder_->done(), Lsn{0});
  feed({commit(10, 20)});
  EXPECT_TRUE(batch_.whole());
  EXPECT_EQ(batch_.acknowledge(), Lsn{20});
}

TEST_F(TransactionDecoderTest, KeyOnlyImageHoldsNothingButTheKey) {
  start();
  feed({begin(10, 1),
        relation(7, "t", 'd', kIdName),
        update(7, 'K', {"1", std::nullopt}, {"2", "b"}),
        update(7, 0, {}, {"2", "c"}),
        remove(7, 'K', {"2", std::nullopt}),
        commit(10, 20)});
  const auto lines = take();
  EXPECT_EQ(member(lines[0], "before"), R"({"id":1})");
  EXPECT_EQ(member(lines[0], "key"), R"({"id":2})");
  EXPECT_NE(headers_[0].key_hash, headers_[0].old_key_hash);
  EXPECT_EQ(member(lines[1], "before"), "null");
  EXPECT_EQ(headers_[1].key_hash, headers_[1].old_key_hash);
  EXPECT_EQ(headers_[1].key_hash, headers_[0].key_hash);
  EXPECT_EQ(member(lines[2], "before"), R"({"id":2})");
  EXPECT_EQ(member(lines[2], "after"), "null");
  EXPECT_EQ(member(lines[2], "key"), R"({"id":2})");
}

TEST_F(TransactionDecoderTest, KeyUnderFullIsThePrimaryKey) {
  catalog_[7] = {.oid = 7, .replica_identity = 'f', .primary_key = {"b", "a"}};
  start();
  feed({begin(10, 1),
        relation(7, "t", 'f', {{"a", 23, true}, {"b", 25, true}, {"c", 25, true}}),
        insert(7, {"1", "x", "p"}),
        update(7, 'O', {"1", "x", "p"}, {"1", "x", "q"}),
        commit(10, 20)});
  const auto lines = take();
  EXPECT_EQ(member(lines[0], "key"), R"({"b":"x","a":1})");
  EXPECT_EQ(member(lines[1], "key"), R"({"b":"x","a":1})");
  EXPECT_EQ(headers_[0].key_hash, headers_[1].old_key_hash);
}

TEST_F(TransactionDecoderTest, KeyWithIdentityIndexIsTheIndex) {
  catalog_[7] = {
      .oid = 7, .replica_identity = 'i', .primary_key = {"id"}, .identity_index = {"code"}};
  start();
  feed({begin(10, 1),
        relation(7, "t", 'i', {{"id", 23, false}, {"code", 25, true}}),
        insert(7, {"1", "x"}),
        remove(7, 'K', {std::nullopt, "x"}),
        commit(10, 20)});
  const auto lines = take();
  EXPECT_EQ(member(lines[0], "key"), R"({"code":"x"})");
  EXPECT_EQ(member(lines[1], "key"), R"({"code":"x"})");
  EXPECT_EQ(headers_[0].key_hash, headers_[1].key_hash);
}

TEST_F(TransactionDecoderTest, RowsWithoutAnyKeyAreToldApartByTheirHash) {
  start();
  const std::vector<TestColumn> columns = {{"a", 25, true}, {"b", 25, true}};
  feed({begin(10, 1),
        relation(7, "t", 'f', columns),
        insert(7, {"1", std::nullopt}),
        insert(7, {"1", ""}),
        remove(7, 'O', {"1", std::nullopt}),
        commit(10, 20)});
  const auto lines = take();
  EXPECT_NE(member(lines[0], "key"), member(lines[1], "key"));
  EXPECT_EQ(member(lines[0], "key"), member(lines[2], "key"));
  EXPECT_TRUE(member(lines[0], "key").starts_with(R"({"$row":")"));
}

TEST_F(TransactionDecoderTest, UnchangedColumnsAreNamedOrFilled) {
  start();
  catalog_[8] = {.oid = 8, .replica_identity = 'f', .primary_key = {"id"}};
  feed({begin(10, 1),
        relation(7, "t", 'd', kIdName),
        update(7, 0, {}, {"1", kUnchanged}),
        relation(8, "u", 'f', {{"id", 23, true}, {"name", 25, true}}),
        update(8, 'O', {"1", "long"}, {"1", kUnchanged}),
        commit(10, 20)});
  const auto lines = take();
  EXPECT_EQ(member(lines[0], "after"), R"({"id":1})");
  EXPECT_EQ(member(lines[0], "unchanged"), R"(["name"])");
  EXPECT_EQ(member(lines[1], "after"), R"({"id":1,"name":"long"})");
  EXPECT_EQ(member(lines[1], "unchanged"), "(none)");
}

TEST_F(TransactionDecoderTest, FiltersApplyButIndexesStay) {
  config::Config config;
  config.tables = {{.name = "public.t", .columns = {"id"}, .where = "name = 'yes'"}};
  start(config);
  feed({begin(10, 1),
        relation(7, "t", 'd', kIdName),
        relation(8, "other", 'd', kIdName),
        insert(7, {"1", "no"}),
        insert(8, {"2", "yes"}),
        insert(7, {"3", "yes"}),
        commit(10, 20)});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(member(lines[0], "after"), R"({"id":3})");
  EXPECT_EQ(member(lines[0], "seq"), "2");
}

TEST_F(TransactionDecoderTest, TransactionWithoutEventsMovesOnlyThePosition) {
  config::Config config;
  config.tables = {{.name = "public.t", .columns = {}, .where = {}}};
  start(config);
  feed({begin(10, 1), relation(8, "other", 'd', kIdName), insert(8, {"2", "yes"}), commit(10, 20)});
  EXPECT_TRUE(batch_.empty());
  EXPECT_EQ(decoder_->done(), Lsn{20});
}

TEST_F(TransactionDecoderTest, SkipsWhatIsDone) {
  start({.all_tables = true}, Lsn{20});
  feed({begin(10, 1),
        relation(7, "t", 'd', kIdName),
        insert(7, {"1", "a"}),
        commit(10, 20),
        begin(20, 2),
        insert(7, {"2", "b"}),
        commit(20, 30)});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(member(lines[0], "key"), R"({"id":2})");
  EXPECT_EQ(decoder_->counters().skipped_transactions, 1U);
}

TEST_F(TransactionDecoderTest, ResumesInsideATransactionThatWasCutOff) {
  start();
  const std::vector<std::string> opening = {
      begin(10, 1), relation(7, "t", 'd', kIdName), insert(7, {"1", "a"}), insert(7, {"2", "b"})};
  feed(opening);
  const auto first = take();
  ASSERT_EQ(first.size(), 2U);
  EXPECT_TRUE(batch_.continues());
  feed({insert(7, {"3", "c"})});
  decoder_->end_session(batch_);
  EXPECT_TRUE(batch_.events().empty());

  decoder_->begin_session({});
  feed(opening);
  feed({insert(7, {"3", "c"}), commit(10, 20)});
  EXPECT_TRUE(batch_.continues());
  EXPECT_TRUE(batch_.whole());
  const auto second = take();
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(member(second[0], "key"), R"({"id":3})");
  EXPECT_FALSE(batch_.continues());
}

TEST_F(TransactionDecoderTest, EndOfAHandedOnTransactionIsWrittenEvenWithoutEvents) {
  start();
  feed({begin(10, 1), relation(7, "t", 'd', kIdName), insert(7, {"1", "a"})});
  static_cast<void>(take());
  feed({commit(10, 20)});
  EXPECT_TRUE(batch_.continues());
  EXPECT_FALSE(batch_.empty());
  EXPECT_EQ(batch_.acknowledge(), Lsn{20});
}

TEST_F(TransactionDecoderTest, RefusesAnotherTransactionInPlaceOfTheOneCutOff) {
  start();
  feed({begin(10, 1), relation(7, "t", 'd', kIdName), insert(7, {"1", "a"})});
  static_cast<void>(take());
  decoder_->end_session(batch_);
  decoder_->begin_session({});
  const Status status = try_feed(begin(50, 2));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, Errc::kSlotGap);
}

TEST_F(TransactionDecoderTest, TruncateMakesAnEventForEachTable) {
  start();
  feed({begin(10, 1),
        relation(7, "t", 'd', kIdName),
        relation(8, "u", 'd', kIdName),
        truncate({7, 8}, 3),
        insert(7, {"1", "a"}),
        commit(10, 20)});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(member(lines[1], "operation"), R"("truncate")");
  EXPECT_EQ(member(lines[1], "cascade"), "true");
  EXPECT_EQ(member(lines[1], "restart_identity"), "true");
  EXPECT_EQ(headers_[0].flags, model::EventHeader::kBarrier);
  EXPECT_EQ(member(lines[2], "seq"), "2");
}

TEST_F(TransactionDecoderTest, MessagesAreCapturedWhenAskedFor) {
  config::Config config;
  config.all_tables = true;
  config.postgres.message_prefixes = {"outbox*"};
  start(config);
  feed({begin(10, 1),
        message(true, 8, "outbox.order", "{\"a\":1}"),
        message(true, 9, "no", "x"),
        commit(10, 20),
        message(false, 25, "outbox", std::string("\xff\x00", 2)),
        message(false, 25, "outbox", "repeated after a reconnect")});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(member(lines[0], "content"), R"("{\"a\":1}")");
  EXPECT_EQ(member(lines[0], "transactional"), "true");
  EXPECT_EQ(member(lines[1], "content_hex"), R"("\\xff00")");
  EXPECT_EQ(decoder_->done(), Lsn{26});
}

TEST_F(TransactionDecoderTest, ShapeChangeIsAnnouncedOnceAndBeforeItsFirstRow) {
  start();
  const std::vector<TestColumn> wider = {{"id", 23, true}, {"name", 25, false}, {"x", 23, false}};
  feed({begin(10, 1), relation(7, "t", 'd', kIdName), insert(7, {"1", "a"}), commit(10, 20)});
  EXPECT_EQ(take().size(), 1U);
  feed({begin(30, 2),
        relation(7, "t", 'd', kIdName),
        insert(7, {"2", "a"}),
        relation(7, "t", 'd', wider),
        insert(7, {"3", "a", "1"}),
        commit(30, 40)});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(member(lines[1], "control_type"), R"("schema_changed")");
  EXPECT_EQ(member(lines[2], "seq"), "1");
  EXPECT_NE(member(lines[1], "id"), member(lines[2], "id"));

  decoder_->end_session(batch_);
  decoder_->begin_session({});
  feed({begin(50, 3), relation(7, "t", 'd', wider), insert(7, {"4", "a", "1"}), commit(50, 60)});
  EXPECT_EQ(take().size(), 1U) << "a reconnect is not a change";
}

TEST_F(TransactionDecoderTest, ShapeChangeThatWasLostIsAnnouncedAgain) {
  start();
  const std::vector<TestColumn> wider = {{"id", 23, true}, {"name", 25, false}, {"x", 23, false}};
  const std::vector<std::string> change = {
      begin(30, 2), relation(7, "t", 'd', wider), insert(7, {"3", "a", "1"}), commit(30, 40)};
  feed({begin(10, 1), relation(7, "t", 'd', kIdName), insert(7, {"1", "a"}), commit(10, 20)});
  static_cast<void>(take());
  feed(change);
  EXPECT_EQ(take().size(), 2U);
  restart(Lsn{20});  // the journal ends before the change
  feed(change);
  EXPECT_EQ(take().size(), 2U);
  restart(Lsn{40});  // the journal has it
  feed({begin(50, 3), relation(7, "t", 'd', wider), insert(7, {"4", "a", "1"}), commit(50, 60)});
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(TransactionDecoderTest, KeepaliveMovesThePositionBetweenTransactions) {
  start();
  feed({begin(10, 1)});
  decoder_->keepalive(Lsn{100});
  EXPECT_EQ(decoder_->done(), Lsn{0});
  feed({commit(10, 20)});
  decoder_->keepalive(Lsn{100});
  EXPECT_EQ(decoder_->done(), Lsn{100});
}

TEST_F(TransactionDecoderTest, ImpossibleMessagesAreProtocolErrors) {
  const std::string described = relation(7, "t", 'd', kIdName);
  const std::vector<std::vector<std::string>> sequences = {
      {insert(7, {"1", "a"})},
      {begin(10, 1), insert(9, {"1", "a"})},
      {begin(10, 1), begin(20, 2)},
      {commit(10, 20)},
      {begin(10, 1), commit(11, 20)},
      {begin(10, 1), described, insert(7, {"1"})},
      {begin(10, 1), described, update(7, 'K', {"1"}, {"1", "a"})},
      {begin(10, 1), stream_start(5, true)},
      {"?"},
      {""},
  };
  for (const auto& sequence : sequences) {
    start();
    Status status;
    for (const std::string& bytes : sequence) {
      status = try_feed(bytes);
    }
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, Errc::kProtocol);
  }
}

// ---- transactions that arrive before they commit ------------------------------------------------

class StreamedTransactionTest : public DecoderFixture {};

TEST_F(StreamedTransactionTest, InterleavedStreamsCommitWholeAndInOrder) {
  start();
  feed({stream_start(1, true),
        relation(7, "t", 'd', kIdName, 1),
        insert(7, {"1", "a"}, 1),
        stream_stop(),
        stream_start(2, true),
        relation(7, "t", 'd', kIdName, 2),
        insert(7, {"2", "b"}, 2),
        stream_stop(),
        // A small transaction commits in between.
        begin(10, 3),
        relation(7, "t", 'd', kIdName),
        insert(7, {"3", "c"}),
        commit(10, 20),
        stream_start(1, false),
        insert(7, {"4", "d"}, 1),
        stream_stop(),
        stream_commit(2, 30, 40),
        stream_commit(1, 50, 60)});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(member(lines[0], "key"), R"({"id":3})");
  EXPECT_EQ(member(lines[1], "key"), R"({"id":2})");
  EXPECT_EQ(member(lines[1], "lsn"), R"("0/1E")");
  EXPECT_EQ(member(lines[2], "key"), R"({"id":1})");
  EXPECT_EQ(member(lines[3], "key"), R"({"id":4})");
  EXPECT_EQ(member(lines[3], "seq"), "1");
  EXPECT_EQ(decoder_->done(), Lsn{60});
}

TEST_F(StreamedTransactionTest, SavepointRollbackRemovesItsRowsAlone) {
  start();
  feed({stream_start(1, true),
        relation(7, "t", 'd', kIdName, 1),
        insert(7, {"1", "a"}, 1),
        insert(7, {"2", "b"}, 2),
        relation(8, "u", 'd', kIdName, 2),
        insert(8, {"3", "c"}, 2),
        insert(7, {"4", "d"}, 3),
        stream_stop(),
        stream_abort(1, 2),
        stream_start(1, false),
        insert(8, {"5", "e"}, 1),
        stream_stop(),
        stream_commit(1, 50, 60)});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(member(lines[0], "key"), R"({"id":1})");
  EXPECT_EQ(member(lines[1], "key"), R"({"id":4})");
  EXPECT_EQ(member(lines[2], "key"), R"({"id":5})");
  EXPECT_EQ(member(lines[2], "seq"), "2") << "as if the rows had never been sent";
}

TEST_F(StreamedTransactionTest, AbortRemovesOneAndLeavesTheOthers) {
  start();
  feed({stream_start(1, true),
        relation(7, "t", 'd', kIdName, 1),
        insert(7, {"1", "a"}, 1),
        stream_stop(),
        stream_start(2, true),
        relation(7, "t", 'd', kIdName, 2),
        insert(7, {"2", "b"}, 2),
        stream_stop(),
        stream_abort(1, 1),
        stream_abort(9, 9),
        stream_commit(2, 30, 40)});
  const auto lines = take();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(member(lines[0], "key"), R"({"id":2})");
}

TEST_F(StreamedTransactionTest, GivesTheSameEventsAsAnOrdinaryTransaction) {
  config::Config config;
  config.all_tables = true;
  config.postgres.spill_memory_bytes = 0;  // everything through the file
  start(config);
  std::vector<std::string> plain = {begin(50, 1), relation(7, "t", 'd', kIdName)};
  std::vector<std::string> streamed = {stream_start(1, true), relation(7, "t", 'd', kIdName, 1)};
  for (int i = 0; i < 1'000; ++i) {
    const TestRow row = {std::to_string(i), "value"};
    plain.push_back(insert(7, row));
    streamed.push_back(insert(7, row, 1));
  }
  plain.push_back(commit(50, 60));
  streamed.push_back(stream_stop());
  streamed.push_back(stream_commit(1, 50, 60));
  feed(plain);
  const auto expected = take();
  restart(Lsn{0});
  feed(streamed);
  EXPECT_EQ(take(), expected);
}

TEST_F(StreamedTransactionTest, SkipsOneThatIsDone) {
  start({.all_tables = true}, Lsn{60});
  feed({stream_start(1, true),
        relation(7, "t", 'd', kIdName, 1),
        insert(7, {"1", "a"}, 1),
        stream_stop(),
        stream_commit(1, 50, 60)});
  EXPECT_TRUE(batch_.empty());
  EXPECT_FALSE(decoder_->in_transaction());
}

}  // namespace
}  // namespace cdc::postgres
