// Proves the pgoutput parser: golden bytes of a real server, every truncation of every message,
// bytes behind the end, and hostile counts.
#include "postgres/pgoutput_protocol.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/tests/message_builder.h"

namespace cdc::postgres {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders read as a grammar

std::string unhex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

TEST(PgoutputProtocol, GoldenBegin) {
  BeginMessage begin_message;
  ASSERT_TRUE(parse_begin(unhex("4200000000017793180002A1B2C3D4E5F6000002DB"), begin_message));
  EXPECT_EQ(begin_message.commit_lsn, Lsn{0x1779318});
  EXPECT_EQ(begin_message.xid, 731U);
  EXPECT_EQ(begin_message.commit_time.value, 0x0002A1B2C3D4E5F6 + 946'684'800'000'000);
}

TEST(PgoutputProtocol, GoldenInsert) {
  // I, relation 16385, N, two columns: text "1", null.
  const std::string bytes = unhex("49000040014E00027400000001316E");
  RowMessage row;
  ASSERT_TRUE(parse_row(bytes, false, row));
  EXPECT_EQ(row.relation_oid, 16385U);
  ASSERT_EQ(row.new_row.size(), 2U);
  EXPECT_EQ(row.new_row[0].text, "1");
  EXPECT_EQ(row.new_row[1].state, ColumnData::State::kNull);
  EXPECT_FALSE(row.has_old);
}

TEST(PgoutputProtocol, ReadsAllFourColumnStates) {
  RowMessage row;
  const std::string bytes = update(7, 'K', {"1", std::nullopt}, {kUnchanged, ""});
  ASSERT_TRUE(parse_row(bytes, false, row));
  EXPECT_TRUE(row.has_old);
  EXPECT_TRUE(row.old_is_key);
  EXPECT_EQ(row.new_row[0].state, ColumnData::State::kUnchanged);
  EXPECT_EQ(row.new_row[1].state, ColumnData::State::kText);
  EXPECT_EQ(row.new_row[1].text, "");
}

TEST(PgoutputProtocol, ReadsTheXidOfStreamedMessages) {
  RowMessage row;
  const std::string bytes = insert(7, {"1"}, 99);
  ASSERT_TRUE(parse_row(bytes, true, row));
  EXPECT_EQ(row.xid, 99U);
  EXPECT_EQ(stream_xid(bytes), 99U);
}

TEST(PgoutputProtocol, RelationNamesItsColumns) {
  RelationMessage message;
  const std::string bytes = relation(5, "We\"ird.1", 'f', {{"Ä", 23, true}, {"b", 1700, false}});
  ASSERT_TRUE(parse_relation(bytes, false, message));
  EXPECT_EQ(message.table, "We\"ird.1");
  EXPECT_EQ(message.replica_identity, 'f');
  ASSERT_EQ(message.columns.size(), 2U);
  EXPECT_TRUE(message.columns[0].identity);
  EXPECT_EQ(message.columns[1].type_modifier, -1);
}

struct Sample {
  std::string bytes;
  std::function<bool(std::string_view)> parse;
};

std::vector<Sample> samples() {
  static RowMessage row;
  static RelationMessage relation_message;
  static TruncateMessage truncate_message;
  static BeginMessage begin_message;
  static CommitMessage commit_message;
  static LogicalMessage logical;
  static StreamStartMessage start;
  static StreamCommitMessage stream_committed;
  static StreamAbortMessage aborted;
  const auto as_row = [](std::string_view bytes) {
    return parse_row(bytes, false, row);
  };
  return {
      {begin(1, 2),
       [](std::string_view b) {
         return parse_begin(b, begin_message);
       }},
      {commit(1, 2),
       [](std::string_view b) {
         return parse_commit(b, commit_message);
       }},
      {relation(1, "t", 'd', {{"a", 23, true}, {"b", 25, false}}),
       [](std::string_view b) {
         return parse_relation(b, false, relation_message);
       }},
      {insert(1, {"abc", std::nullopt, kUnchanged}), as_row},
      {update(1, 'O', {"1", "2"}, {"3", "4"}), as_row},
      {update(1, 0, {}, {"3", "4"}), as_row},
      {remove(1, 'K', {"1", std::nullopt}), as_row},
      {truncate({1, 2, 3}, 3),
       [](std::string_view b) {
         return parse_truncate(b, false, truncate_message);
       }},
      {message(true, 9, "prefix", "content"),
       [](std::string_view b) {
         return parse_message(b, false, logical);
       }},
      {stream_start(7, true),
       [](std::string_view b) {
         return parse_stream_start(b, start);
       }},
      {stream_commit(7, 1, 2),
       [](std::string_view b) {
         return parse_stream_commit(b, stream_committed);
       }},
      {stream_abort(7, 8),
       [](std::string_view b) {
         return parse_stream_abort(b, aborted);
       }},
  };
}

TEST(PgoutputProtocol, RefusesEveryTruncationAndTrailingBytes) {
  for (const Sample& sample : samples()) {
    EXPECT_TRUE(sample.parse(sample.bytes)) << sample.bytes.front();
    for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
      // A copy of the exact size, so that AddressSanitizer sees a read past the end.
      const std::vector<char> cut(sample.bytes.begin(),
                                  sample.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(sample.parse({cut.data(), cut.size()})) << sample.bytes.front() << size;
    }
    EXPECT_FALSE(sample.parse(sample.bytes + '\0')) << sample.bytes.front();
  }
}

TEST(PgoutputProtocol, HostileCountsTakeNoMemory) {
  RowMessage row;
  EXPECT_FALSE(
      parse_row(Wire{}.text("I").u32(1).text("N").u16(65535).text("n").take(), false, row));
  EXPECT_FALSE(parse_row(
      Wire{}.text("I").u32(1).text("N").u16(1).text("t").u32(0xFFFFFFFF).take(), false, row));
  TruncateMessage truncate_message;
  EXPECT_FALSE(parse_truncate(
      Wire{}.text("T").u32(0xFFFFFFFF).u8(0).u32(1).take(), false, truncate_message));
}

TEST(PgoutputProtocol, RefusesTheBinaryFormat) {
  RowMessage row;
  EXPECT_FALSE(parse_row(
      Wire{}.text("I").u32(1).text("N").u16(1).text("b").u32(1).text("x").take(), false, row));
}

}  // namespace
}  // namespace cdc::postgres
