// Proves that a row read from a table has the bytes that the stream's encoder makes of the same
// row: each type's values are taken from the server as text, which is what replication sends, and
// encoded as an insert. Facts about snapshots are here too, byte for byte.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "postgres/tests/snapshot_fixture.h"
#include "postgres/tests/value_samples.h"

namespace cdc::postgres {
namespace {

class SnapshotValuesTest : public testing::SnapshotFixture {
 protected:
  void SetUp() override {
    SnapshotFixture::SetUp();
    for (const std::string_view name : kExtensions) {
      cluster->run({format("CREATE EXTENSION {}", name)});
    }
    for (const std::string_view statement : kTypeStatements) {
      cluster->run({std::string(statement)});
    }
  }

  // What the stream makes of the texts of a row.
  std::string as_insert(SnapshotTable& table, const QueryResult& texts, int row) {
    RowMessage message;
    for (int column = 0; column < texts.columns(); ++column) {
      message.new_row.push_back(
          texts.is_null(row, column)
              ? ColumnData{}
              : ColumnData{.state = ColumnData::State::kText, .text = texts.text(row, column)});
    }
    EventEncoder encoder{"default"};
    encoder.begin_transaction({.commit_lsn = Lsn{10}});
    model::EventBatch batch;
    EXPECT_TRUE(encoder.encode_row(table.relation, message, 0, batch));
    hash = batch.events()[0].key_hash;
    return after_of(batch.text().view());
  }

  std::uint64_t hash = 0;
};

TEST_F(SnapshotValuesTest, EqualTheStreamsOfEachType) {
  constexpr int kValues = 24;
  std::string columns;
  std::string expressions;
  int count = 0;
  for (const Sample& sample : kSamples) {
    const std::string specials = sample.specials.empty()
                                     ? std::string("NULL")
                                     : format("(ARRAY[{}])[n + 1]", sample.specials);
    columns += format(", v{} {}", count, sample.type);
    expressions +=
        format(", coalesce({}::text, ({})::text)::{}", specials, sample.random, sample.type);
    ++count;
  }
  cluster->run(
      {format("CREATE TABLE v (n int PRIMARY KEY{})", columns),
       "CREATE TABLE w (LIKE v)",
       format("INSERT INTO v SELECT n{} FROM generate_series(0, {}) n", expressions, kValues - 1),
       "INSERT INTO w SELECT * FROM v"});
  for (const char* const name : {"v", "w"}) {
    SnapshotTable table = describe(name);
    ChunkRequest request = request_of(table);
    request.rows_max = 100'000;
    const auto chunk = reader->read(request);
    ASSERT_TRUE(chunk.has_value()) << chunk.error().to_string();
    const auto rows = afters(lines_of(*chunk));
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(kValues));
    const auto texts = reader->connection().query(
        format("SELECT * FROM public.{} ORDER BY {}", name, *name == 'v' ? "n" : "ctid"));
    ASSERT_TRUE(texts.has_value());
    for (int row = 0; row < kValues; ++row) {
      EXPECT_EQ(rows[static_cast<std::size_t>(row)], as_insert(table, *texts, row));
      EXPECT_EQ(chunk->rows.events()[static_cast<std::size_t>(row)].key_hash, hash);
    }
  }
}

TEST_F(SnapshotValuesTest, FactsAreControlEvents) {
  const SnapshotFacts facts{.source_id = "default",
                            .schema = "public",
                            .table = "o\"rders",
                            .snapshot_id = "S1",
                            .time = UnixMicros{1'700'000'000'000'000},
                            .rows_read = 9,
                            .rows_emitted = 7,
                            .rows_dropped = 2,
                            .from = Lsn{16},
                            .to = Lsn{32}};
  model::EventBatch batch;
  encode_snapshot_started(facts, batch);
  encode_snapshot_complete(facts, batch);
  SnapshotFacts all{.source_id = "default", .snapshot_id = "S1", .time = facts.time, .to = Lsn{32}};
  encode_snapshot_all_complete(all, batch);
  ASSERT_EQ(batch.events().size(), 3U);
  std::vector<std::string> lines;
  for (const model::EventHeader& event : batch.events()) {
    EXPECT_EQ(event.operation, model::Operation::kControl);
    EXPECT_EQ(event.flags, model::EventHeader::kBarrier);
    lines.emplace_back(batch.text().view().substr(event.text_offset, event.text_size));
    EXPECT_TRUE(lines.back().starts_with(R"({"id":"01HF7YAT00)"));
    lines.back().erase(0, 33);
  }
  EXPECT_EQ(batch.tables(), (std::vector<std::string>{"public.o\"rders", "public.o\"rders", ""}));
  EXPECT_EQ(
      lines[1],
      R"(","idempotency_key":"default:public.o\"rders:snapshot_complete:S1:{}:control:0/20:0",)"
      R"("timestamp":"2023-11-14T22:13:20.000000Z","source":"default","operation":"control",)"
      R"("schema":"public","table":"o\"rders","key":{},"before":null,"after":null,)"
      R"("metadata":{"lsn":"0/20","tx_id":0,"commit_ts":"2023-11-14T22:13:20.000000Z","seq":0,)"
      R"("snapshot":false,"control_type":"snapshot_complete","snapshot_id":"S1","rows_read":9,)"
      R"("rows_emitted":7,"rows_dropped":2,"from_lsn":"0/10","to_lsn":"0/20"}})"
      "\n");
  EXPECT_NE(lines[0].find(R"("control_type":"snapshot_started","snapshot_id":"S1"}})"),
            std::string::npos);
  EXPECT_NE(lines[2].find(R"(":"default:snapshot_all_complete:S1:{}:control:0/20:0")"),
            std::string::npos);
  EXPECT_NE(lines[2].find(R"("schema":"","table":"","key":{})"), std::string::npos);
  model::EventBatch again;
  encode_snapshot_started(facts, again);
  EXPECT_EQ(again.text().view(), batch.text().view().substr(0, again.text().size()));
}

}  // namespace
}  // namespace cdc::postgres
