// Proves on a real server that chunks together give each row exactly once, in whatever way the
// table is read and cut, and what happens when the table is not what it was.
#include "postgres/snapshot_reader.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/format.h"
#include "json/tests/json_checker.h"
#include "postgres/tests/snapshot_fixture.h"

namespace cdc::postgres {
namespace {

using Lines = std::vector<std::string>;

class SnapshotReaderTest : public testing::SnapshotFixture {};

TEST_F(SnapshotReaderTest, GoldenEvent) {
  cluster->run({"CREATE TABLE t (id int PRIMARY KEY, name text, total numeric)",
                R"(INSERT INTO t VALUES (1, E'a\tb\\"', 1.50), (2, NULL, NULL))"});
  const SnapshotTable table = describe("t");
  ChunkRequest request = request_of(table);
  request.chunk = 4;
  request.rows_total = 20;
  request.rows_done = 10;
  const auto chunk = reader->read(request);
  ASSERT_TRUE(chunk.has_value()) << chunk.error().to_string();
  EXPECT_TRUE(chunk->last);
  EXPECT_EQ(chunk->rows_read, 2U);
  EXPECT_FALSE(chunk->view.standby);
  const auto lines = lines_of(*chunk);
  ASSERT_EQ(lines.size(), 2U);
  const std::string time = between(lines[0], R"("timestamp":")", "\"");
  EXPECT_TRUE(lines[0].starts_with(R"({"id":"01HF7YAT00)")) << lines[0];
  EXPECT_EQ(lines[0].substr(33),
            format(R"(","idempotency_key":"default:public.t:{{\"id\":1}}:read:snap",)"
                   R"("timestamp":"{}","source":"default","operation":"read",)"
                   R"("schema":"public","table":"t","key":{{"id":1}},"before":null,)"
                   R"("after":{{"id":1,"name":"a\tb\\\"","total":1.50}},)"
                   R"("metadata":{{"lsn":"{}","snapshot":true,"snapshot_id":"snap","chunk":4,)"
                   R"("snapshot_progress":{{"total":20,"completed":11}}}}}})"
                   "\n",
                   time,
                   to_string(chunk->view.high)));
  EXPECT_EQ(after_of(lines[1]), R"({"id":2,"name":null,"total":null})");
  EXPECT_NE(lines[0].substr(7, 26), lines[1].substr(7, 26));
  const model::EventHeader& header = chunk->rows.events()[0];
  EXPECT_EQ(header.operation, model::Operation::kRead);
  EXPECT_EQ(header.flags, model::EventHeader::kSnapshot);
  EXPECT_EQ(chunk->rows.tables().at(header.table), "public.t");
  EXPECT_EQ(header.key_hash, header.old_key_hash);
  // The same read again has the same ids.
  EXPECT_EQ(lines_of(*reader->read(request))[0].substr(0, 80), lines[0].substr(0, 80));
}

TEST_F(SnapshotReaderTest, HashesAreThoseOfTheStream) {
  cluster->run({"CREATE TABLE t (id int PRIMARY KEY, name text)",
                "CREATE TABLE w (a int, b text)",
                "INSERT INTO t VALUES (1, 'x')",
                "INSERT INTO w VALUES (1, 'x')"});
  for (const char* const name : {"t", "w"}) {
    SnapshotTable table = describe(name);
    const auto chunk = reader->read(request_of(table));
    ASSERT_TRUE(chunk.has_value());
    EventEncoder encoder{"default"};
    encoder.begin_transaction({.commit_lsn = Lsn{10}});
    model::EventBatch batch;
    RowMessage row;
    row.new_row = {{.state = ColumnData::State::kText, .text = "1"},
                   {.state = ColumnData::State::kText, .text = "x"}};
    ASSERT_TRUE(encoder.encode_row(table.relation, row, 0, batch));
    const model::EventHeader& stream = batch.events()[0];
    EXPECT_EQ(chunk->rows.events()[0].key_hash, stream.key_hash);
    EXPECT_EQ(encoder.key_hashes(table.relation, row).key, stream.key_hash);
    EXPECT_EQ(encoder.key_hashes(table.relation, row).old_key, stream.old_key_hash);
    EXPECT_EQ(after_of(lines_of(*chunk)[0]), after_of(batch.text().view()));
  }
}

// Columns and values of keys: each is read three rows at a time.
struct KeyCase {
  std::string columns;  // of the key
  std::string types;
  std::string values;  // of a VALUES list
};

std::vector<KeyCase> key_cases() {
  const std::string words =
      "('b'), ('a'), ('B'), ('A'), (''), (' '), ('é'), ('''; DROP TABLE k; --'), (E'\\\\'),"
      " (E'a\\tb'), (E'a\\nb'), ('\\N'), ('ab'), ('a b'), ('😀')";
  return {
      {"a", "int2", "(-32768), (0), (1), (7), (32767)"},
      {"a", "int8", "(-9223372036854775808), (-1), (0), (5), (9223372036854775807)"},
      {"a", "numeric", "('NaN'), (1.50), (-1e30), (0.0001), ('Infinity'), ('-Infinity'), (1.6)"},
      {"a", "float8", "('NaN'), ('-0'), ('Infinity'), ('-Infinity'), (0.1), (5e-324), (1e300)"},
      {"a", "float4", "('NaN'), ('-0'), (0.1), (0.2), (16777216), (1e-45)"},
      {"a", "text", words},
      {"a", "text COLLATE \"C\"", words},
      {"a", "text COLLATE \"und-x-icu\"", words},
      {"a", "varchar(30)", words},
      {"a", "char(30)", "('b'), ('a'), ('B'), (''), ('a b'), ('é'), ('''')"},
      {"a", "bytea", "(''), ('\\x00'), ('\\x5c'), ('\\xff00'), ('\\x27'), ('abc')"},
      {"a",
       "uuid",
       "(gen_random_uuid()), (gen_random_uuid()), (gen_random_uuid()),"
       " (gen_random_uuid()), (gen_random_uuid())"},
      {"a",
       "timestamptz",
       "('infinity'), ('-infinity'), ('2024-01-01 00:00:00.000001+02'),"
       " ('0044-03-15 BC'), ('2024-01-01'), (now())"},
      {"a",
       "timestamp(3)",
       "('2024-01-01 00:00:00.0014'), ('2024-01-01'), ('2025-01-01'),"
       " ('2026-01-01')"},
      {"a", "interval", "('1 day'), ('-1 mon'), ('3 years 00:00:01'), ('1 sec'), ('0')"},
      {"a", "date", "('2024-01-01'), ('infinity'), ('0001-01-01 BC'), ('2023-01-01')"},
      {"a", "boolean", "(true), (false)"},
      {"a", "mood", "('sad'), ('it''s \"ok\"'), ('with space'), ('a\\b'), ('')"},
      {"a", "\"we\"\"ird\".\"T y\"", "('z'), ('a')"},
      {"a", "code", "('x'), ('y'), (''), ('it''s'), ('Y')"},
      {"a", "code2", "('x'), ('y'), (''), ('it''s'), ('Y')"},
      {"a",
       "pair",
       "(ROW(1,'b')), (ROW(1,'a')), (ROW(0,'''\",(')), (ROW(2,NULL)), (ROW(NULL,'x'))"},
      {"a", "citext", "('b'), ('A'), ('c'), ('D'), ('e'), ('F'), ('z'), ('Y')"},
      {"a", "inet", "('10.0.0.1'), ('10.0.0.0/8'), ('::1'), ('192.168.0.1/24')"},
      {"a", "int4[]", "('{}'), ('{1,2}'), ('{1,NULL}'), ('{3}'), ('{-1}')"},
      {"a", "jsonb", "('{}'), ('[1]'), ('\"a''b\"'), ('null'), ('1.5'), ('{\"a\": \"\\\\\"}')"},
      {"a", "\"char\"", "('a'), ('B'), (''), ('\\'), ('''')"},
      {"a", "name", "('a'), ('B'), (''), ('c')"},
      {"a", "bit(4)", "(b'0000'), (b'1010'), (b'1111'), (b'0001')"},
      {"a", "int4range", "('[1,3)'), ('empty'), ('(,)'), ('[2,)')"},
      {"a, b", "int, text", "(1,'a'), (1,'b'), (1,''), (2,'a'), (0,'z'), (2,'A'), (3,'''')"},
      {"a, b, c",
       "citext, int, citext",
       "('a',1,'x'), ('A',2,'x'), ('a',2,'Y'), ('B',0,'x'),"
       " ('b',0,'z'), ('c',1,'q'), ('a',1,'y')"},
  };
}

TEST_F(SnapshotReaderTest, KeysOfEveryTypeGoOnExactly) {
  cluster->run({"CREATE EXTENSION citext",
                "CREATE TYPE mood AS ENUM ('sad', 'it''s \"ok\"', 'with space', 'a\\b', '')",
                "CREATE DOMAIN code AS varchar(9) CHECK (VALUE <> 'no')",
                "CREATE DOMAIN code2 AS code",
                "CREATE TYPE pair AS (a int, \"B c\" text)",
                "CREATE SCHEMA IF NOT EXISTS \"we\"\"ird\"",
                "DROP TYPE IF EXISTS \"we\"\"ird\".\"T y\"",
                "CREATE TYPE \"we\"\"ird\".\"T y\" AS ENUM ('z', 'a')"});
  for (const KeyCase& one : key_cases()) {
    SCOPED_TRACE(one.types + " " + one.values);
    std::string definition;
    const auto names = parse_name_array("{" + one.columns + "}");
    const auto kinds = parse_name_array("{" + (names.size() > 1 ? one.types : "x") + "}");
    for (std::size_t i = 0; i < names.size(); ++i) {
      definition += names[i] + " " + (names.size() > 1 ? kinds[i] : one.types) + " NOT NULL, ";
    }
    cluster->run({"DROP TABLE IF EXISTS k",
                  format("CREATE TABLE k ({} n serial, PRIMARY KEY ({}))", definition, one.columns),
                  format("INSERT INTO k ({}) VALUES {}", one.columns, one.values)});
    const SnapshotTable table = describe("k");
    EXPECT_TRUE(table.by_key());
    std::size_t chunks = 0;
    Lines order;
    for (const std::string& line : read_range(request_of(table), &chunks)) {
      EXPECT_TRUE(json::JsonChecker::is_value(line.substr(0, line.size() - 1))) << line;
      order.push_back(between(after_of(line), "\"n\":", "}"));
    }
    EXPECT_EQ(order, column(format("SELECT n FROM k ORDER BY {}", one.columns)));
    EXPECT_EQ(chunks, order.size() / 3 + 1);
    // And in two ranges that meet in the middle.
    ChunkRequest half = request_of(table);
    half.rows_max = 2;
    const auto first = reader->read(half);
    ASSERT_TRUE(first.has_value()) << first.error().to_string();
    half.range.upper = first->next;
    EXPECT_EQ(read_range(half).size(), 2U);
  }
}

TEST_F(SnapshotReaderTest, ByBlockEachRowOnceWithItsWriter) {
  cluster->run({"CREATE TABLE w (a int, b text)",
                "ALTER TABLE w REPLICA IDENTITY FULL",
                "INSERT INTO w SELECT n / 2, repeat('x', 300) FROM generate_series(1, 500) n",
                "DELETE FROM w WHERE a % 7 = 0",
                "UPDATE w SET a = a + 1000 WHERE a % 5 = 0",
                "ANALYZE w"});
  const SnapshotTable table = describe("w");
  EXPECT_FALSE(table.by_key());
  std::size_t chunks = 0;
  const Lines lines = read_range(request_of(table), &chunks);
  EXPECT_GT(chunks, 10U);
  EXPECT_EQ(lines.size(), std::stoul(cluster->ask("SELECT count(*) FROM w")));
  std::set<std::string> names;
  for (const std::string& line : lines) {
    names.insert(between(line, R"("idempotency_key":")", R"(","timestamp")"));
    EXPECT_NE(line.find(R"("key":{"$row":")"), std::string::npos);
  }
  EXPECT_EQ(names.size(), lines.size());
  ChunkRequest all = request_of(table);
  all.rows_max = 100'000;
  const auto chunk = reader->read(all);
  ASSERT_TRUE(chunk.has_value());
  EXPECT_TRUE(chunk->last);
  Lines writers;
  for (const std::uint32_t writer : chunk->writers) {
    writers.push_back(std::to_string(writer));
  }
  EXPECT_EQ(writers, column("SELECT xmin FROM w ORDER BY ctid"));
}

TEST_F(SnapshotReaderTest, BytesCutChunksAndTheConnectionGoesOn) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY, b text)",
                "CREATE TABLE w (id int, b text)",
                "ALTER TABLE w REPLICA IDENTITY FULL",
                "INSERT INTO k SELECT n, repeat('x', n % 3000) FROM generate_series(1, 2000) n",
                "INSERT INTO w SELECT * FROM k"});
  for (const char* const name : {"k", "w"}) {
    const SnapshotTable table = describe(name);
    ChunkRequest request = request_of(table);
    request.rows_max = 100'000;
    request.bytes_max = 50'000;
    const auto first = reader->read(request);
    ASSERT_TRUE(first.has_value()) << first.error().to_string();
    EXPECT_FALSE(first->last);
    EXPECT_GE(first->rows.text().size(), 50'000U);
    EXPECT_LT(first->rows.text().size(), 80'000U);
    std::size_t chunks = 0;
    std::set<std::string> ids;
    for (const std::string& line : read_range(request, &chunks)) {
      ids.insert(between(after_of(line), "\"id\":", ","));
    }
    EXPECT_EQ(ids.size(), 2'000U);
    EXPECT_GT(chunks, 30U);
  }
  EXPECT_FALSE(reader->is_broken());
}

TEST_F(SnapshotReaderTest, SaysWhenThePartIsAnother) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY, b text)",
                "CREATE TABLE w (a int)",
                "INSERT INTO k VALUES (1, 'x')",
                "INSERT INTO w VALUES (1)"});
  const SnapshotTable by_key = describe("k");
  const SnapshotTable by_block = describe("w");
  cluster->run({"VACUUM FULL k", "VACUUM FULL w"});
  EXPECT_FALSE(reader->read(request_of(by_key))->changed);
  EXPECT_TRUE(reader->read(request_of(by_block))->changed);
  cluster->run({"ALTER TABLE k ADD COLUMN c int"});
  EXPECT_TRUE(reader->read(request_of(by_key))->changed);
  // The columns of the request are not there any more: no failure, but the same answer.
  cluster->run({"ALTER TABLE k DROP COLUMN b"});
  const auto chunk = reader->read(request_of(by_key));
  ASSERT_TRUE(chunk.has_value()) << chunk.error().to_string();
  EXPECT_TRUE(chunk->changed);
  EXPECT_TRUE(chunk->rows.events().empty());
  EXPECT_FALSE(reader->read(request_of(describe("k")))->changed);
  cluster->run({"DROP TABLE k", "CREATE TABLE k (id int PRIMARY KEY, b text)"});
  EXPECT_TRUE(reader->read(request_of(by_key))->changed);
}

TEST_F(SnapshotReaderTest, RefusalsHaveTheirCodesAndTheReaderGoesOn) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY)",
                "CREATE TABLE other (id int PRIMARY KEY)",
                "DROP ROLE IF EXISTS plain",
                "CREATE ROLE plain LOGIN",
                "GRANT SELECT ON k, other TO plain"});
  reader = open_reader("plain", 100);
  const SnapshotTable table = describe("k");
  const SnapshotTable other = describe("other");
  EXPECT_TRUE(reader->read(request_of(table)).has_value());
  const auto code = [&](const SnapshotTable& one) {
    const auto chunk = reader->read(request_of(one));
    EXPECT_FALSE(chunk.has_value());
    EXPECT_FALSE(reader->is_broken());
    EXPECT_TRUE(reader->read(request_of(other)).has_value());
    return chunk ? Error{} : chunk.error();
  };
  cluster->run({"REVOKE SELECT ON k FROM plain"});
  const Error refused = code(table);
  EXPECT_EQ(refused.code, Errc::kPermission);
  EXPECT_EQ(refused.hint, R"(run GRANT SELECT ON "public"."k" TO "plain")");
  cluster->run({"GRANT SELECT ON k TO plain", "ALTER TABLE k ENABLE ROW LEVEL SECURITY"});
  EXPECT_EQ(code(table).hint, R"(run ALTER ROLE "plain" BYPASSRLS)");
  cluster->run({"ALTER TABLE k DISABLE ROW LEVEL SECURITY"});
  {
    Connection holder = cluster->connect();
    ASSERT_TRUE(holder.query("BEGIN; LOCK TABLE k IN ACCESS EXCLUSIVE MODE").has_value());
    EXPECT_EQ(code(table).code, Errc::kUnavailable);
    ASSERT_TRUE(holder.query("ROLLBACK").has_value());
  }
  EXPECT_TRUE(reader->read(request_of(table)).has_value());
  cluster->run({"ALTER TABLE k RENAME TO k2"});
  EXPECT_EQ(code(table).code, Errc::kNotFound);
  cluster->run({"DROP TABLE k2"});
  EXPECT_EQ(code(table).code, Errc::kNotFound);
  ChunkRequest damaged = request_of(other);
  damaged.range.lower = "x";
  EXPECT_EQ(reader->read(damaged).error().code, Errc::kCorrupt);
  cluster->run({"REVOKE ALL ON other FROM plain", "DROP ROLE plain"});
}

TEST_F(SnapshotReaderTest, ViewKnowsWhatTheRowsContain) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY)", "INSERT INTO k VALUES (1)"});
  const SnapshotTable table = describe("k");
  const auto xid_of = [](Connection& connection) {
    const auto result = connection.query("SELECT pg_current_xact_id()::xid");
    return static_cast<std::uint32_t>(std::stoul(std::string(result->text(0, 0))));
  };
  Connection open = cluster->connect();
  ASSERT_TRUE(open.query("BEGIN; INSERT INTO k VALUES (2)").has_value());
  const std::uint32_t in_progress = xid_of(open);
  Connection done = cluster->connect();
  ASSERT_TRUE(done.query("BEGIN; INSERT INTO k VALUES (3)").has_value());
  const std::uint32_t finished = xid_of(done);
  ASSERT_TRUE(done.query("COMMIT").has_value());
  const auto chunk = reader->read(request_of(table));
  ASSERT_TRUE(chunk.has_value());
  ASSERT_TRUE(open.query("COMMIT").has_value());
  ASSERT_TRUE(done.query("BEGIN; INSERT INTO k VALUES (4)").has_value());
  const std::uint32_t later = xid_of(done);
  EXPECT_EQ(afters(lines_of(*chunk)), (Lines{R"({"id":1})", R"({"id":3})"}));
  EXPECT_TRUE(chunk->view.sees(finished, chunk->view.high));
  EXPECT_FALSE(chunk->view.sees(in_progress, chunk->view.high));
  EXPECT_FALSE(chunk->view.sees(later, chunk->view.high));
  EXPECT_EQ(chunk->view.in_progress.size(), 1U);
}

TEST_F(SnapshotReaderTest, MakesTheWalReachTheViewWhereItMay) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY)",
                "INSERT INTO k VALUES (1)",
                "DROP ROLE IF EXISTS plain",
                "CREATE ROLE plain LOGIN",
                "GRANT SELECT ON k TO plain",
                "ALTER SYSTEM SET wal_writer_delay = '10s'",
                "SELECT pg_reload_conf()"});
  const SnapshotTable table = describe("k");
  Connection unflushed = cluster->connect();
  ASSERT_TRUE(unflushed.query("SET synchronous_commit = off").has_value());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(unflushed.query("INSERT INTO k SELECT max(id) + 1 FROM k").has_value());
    const auto chunk = reader->read(request_of(table));
    ASSERT_TRUE(chunk.has_value());
    EXPECT_EQ(cluster->ask(
                  format("SELECT pg_current_wal_flush_lsn() >= '{}'", to_string(chunk->view.high))),
              "t");
  }
  cluster->run(
      {"REVOKE EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text)"
       " FROM PUBLIC"});
  reader = open_reader("plain");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(unflushed.query("INSERT INTO k SELECT max(id) + 1 FROM k").has_value());
    const auto chunk = reader->read(request_of(table));
    ASSERT_TRUE(chunk.has_value()) << chunk.error().to_string();
    EXPECT_EQ(chunk->rows_read, 3U);
  }
  EXPECT_FALSE(reader->is_broken());
  cluster->run({"GRANT EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) TO PUBLIC",
                "ALTER SYSTEM RESET wal_writer_delay",
                "SELECT pg_reload_conf()",
                "DROP OWNED BY plain",
                "DROP ROLE plain"});
}

TEST_F(SnapshotReaderTest, AStopEndsAWait) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY)"});
  const SnapshotTable table = describe("k");
  StopSignal stop;
  auto stopped = SnapshotReader::open({.dsn = cluster->dsn(), .source_id = "default"}, stop);
  ASSERT_TRUE(stopped.has_value());
  Connection holder = cluster->connect();
  ASSERT_TRUE(holder.query("BEGIN; LOCK TABLE k IN ACCESS EXCLUSIVE MODE").has_value());
  Thread stopper{"stopper", [&] {
                   Connection watcher = cluster->connect();
                   wait_until(watcher, "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)");
                   stop.request();
                 }};
  const auto chunk = (*stopped)->read(request_of(table));
  stopper.join();
  ASSERT_FALSE(chunk.has_value());
  EXPECT_EQ(chunk.error().code, Errc::kClosed);
  EXPECT_TRUE((*stopped)->is_broken());
}

TEST_F(SnapshotReaderTest, AStandbyIsReadByPositions) {
  cluster->run({"CREATE TABLE k (id int PRIMARY KEY)", "INSERT INTO k VALUES (1), (2)"});
  const SnapshotTable table = describe("k");
  TestCluster standby;
  standby.run({"CREATE TABLE k (id int PRIMARY KEY)",
               "INSERT INTO k VALUES (1), (2)",
               "CREATE PUBLICATION p FOR ALL TABLES"});
  const auto oid =
      static_cast<std::uint32_t>(std::stoul(standby.ask("SELECT 'public.k'::regclass::oid")));
  standby.restart_as_standby();
  auto opened =
      SnapshotReader::open({.dsn = standby.dsn(), .source_id = "default"}, standby.no_stop());
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  const auto described = describe_snapshot_table(
      (*opened)->connection(),
      {.oid = oid, .schema = "public", .table = "k"},
      {.publication = "p", .source_id = "default", .rules = rules.get(), .types = &types});
  ASSERT_TRUE(described.has_value()) << described.error().to_string();
  const auto chunk = (*opened)->read(request_of(*described));
  ASSERT_TRUE(chunk.has_value()) << chunk.error().to_string();
  EXPECT_EQ(chunk->rows_read, 2U);
  EXPECT_TRUE(chunk->view.standby);
  EXPECT_NE(chunk->view.low, Lsn{});
  EXPECT_LE(chunk->view.low, chunk->view.high);
}

}  // namespace
}  // namespace cdc::postgres
