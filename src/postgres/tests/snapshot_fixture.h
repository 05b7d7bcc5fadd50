#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/snapshot_reader.h"
#include "postgres/snapshot_table.h"
#include "postgres/tests/test_cluster.h"

namespace cdc::postgres::testing {

// A server for all tests of a file, and what they do again and again: describe a table, read it
// chunk by chunk, look at the lines.
class SnapshotFixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster = std::make_unique<TestCluster>(); }

  static void TearDownTestSuite() { cluster.reset(); }

  void SetUp() override {
    cluster->run({"DROP SCHEMA IF EXISTS public CASCADE",
                  "CREATE SCHEMA public",
                  "GRANT ALL ON SCHEMA public TO public",
                  "DROP PUBLICATION IF EXISTS p",
                  "CREATE PUBLICATION p FOR ALL TABLES WITH (publish_via_partition_root = true)"});
    set_rules({});
    reader = open_reader("postgres");
  }

  void set_rules(config::TableRule rule) {
    config::Config config;
    config.all_tables = rule.name.empty();
    if (!rule.name.empty()) {
      config.tables.push_back(std::move(rule));
    }
    rules = std::make_unique<TableRules>(TableRules::create(config).value());
  }

  std::unique_ptr<SnapshotReader> open_reader(std::string_view user, int lock_timeout_ms = 5'000) {
    auto opened = SnapshotReader::open({.dsn = cluster->dsn(user),
                                        .source_id = "default",
                                        .lock_timeout = std::chrono::milliseconds{lock_timeout_ms}},
                                       cluster->no_stop());
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return *std::move(opened);
  }

  PublishedTable published(std::string_view table) {
    return {.oid = static_cast<std::uint32_t>(std::stoul(cluster->ask(
                "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
                " WHERE nspname = 'public' AND relname = $$" +
                std::string(table) + "$$"))),
            .schema = "public",
            .table = std::string(table)};
  }

  Result<SnapshotTable> try_describe(const PublishedTable& table) {
    return describe_snapshot_table(
        reader->connection(),
        table,
        {.publication = "p", .source_id = "default", .rules = rules.get(), .types = &types});
  }

  SnapshotTable describe(std::string_view table) {
    auto described = try_describe(published(table));
    EXPECT_TRUE(described.has_value()) << described.error().to_string();
    return *std::move(described);
  }

  static ChunkRequest request_of(const SnapshotTable& table, std::size_t part = 0) {
    ChunkRequest request;
    request.table = &table;
    request.range.part_oid = table.parts.at(part).oid;
    request.snapshot_id = "snap";
    request.snapshot_time = UnixMicros{1'700'000'000'000'000};
    request.rows_max = 3;
    return request;
  }

  // All of a range, and how many chunks that took. Each chunk is checked for what all have.
  std::vector<std::string> read_range(ChunkRequest request, std::size_t* chunks = nullptr) {
    std::vector<std::string> lines;
    for (std::size_t count = 1; count < 10'000; ++count) {
      const auto chunk = reader->read(request);
      EXPECT_TRUE(chunk.has_value()) << chunk.error().to_string();
      if (!chunk) {
        return lines;
      }
      EXPECT_FALSE(chunk->changed);
      for (std::string& line : lines_of(*chunk)) {
        lines.push_back(std::move(line));
      }
      if (!request.table->by_key()) {
        EXPECT_EQ(chunk->writers.size(), chunk->rows.events().size());
      }
      if (chunk->last) {
        if (chunks != nullptr) {
          *chunks = count;
        }
        return lines;
      }
      EXPECT_NE(chunk->next, request.range.lower);
      request.range.lower = chunk->next;
      request.rows_done += chunk->rows_read;
      ++request.chunk;
    }
    ADD_FAILURE() << "the range has no end";
    return lines;
  }

  static std::vector<std::string> lines_of(const SnapshotChunk& chunk) {
    std::vector<std::string> lines;
    for (const model::EventHeader& event : chunk.rows.events()) {
      lines.emplace_back(chunk.rows.text().view().substr(event.text_offset, event.text_size));
    }
    return lines;
  }

  // The text of a member whose value is followed by `next`.
  static std::string between(std::string_view line, std::string_view open, std::string_view next) {
    const std::size_t begin = line.find(open);
    const std::size_t end =
        begin == std::string_view::npos ? begin : line.find(next, begin + open.size());
    if (end == std::string_view::npos) {
      return "no such member";
    }
    return std::string(line.substr(begin + open.size(), end - begin - open.size()));
  }

  static std::string after_of(std::string_view line) {
    return between(line, R"("before":null,"after":)", R"(,"metadata":)");
  }

  static std::vector<std::string> afters(const std::vector<std::string>& lines) {
    std::vector<std::string> taken;
    for (const std::string& line : lines) {
      taken.push_back(after_of(line));
    }
    return taken;
  }

  // The first column of each row, as the server gives them.
  static std::vector<std::string> column(const std::string& sql) {
    Connection connection = cluster->connect();
    const auto result = connection.query(sql);
    std::vector<std::string> values;
    EXPECT_TRUE(result.has_value()) << sql << result.error().message;
    for (int row = 0; result && row < result->rows(); ++row) {
      values.emplace_back(result->text(row, 0));
    }
    return values;
  }

  static inline std::unique_ptr<TestCluster> cluster;
  std::unique_ptr<TableRules> rules;
  TypeCatalog types{config::ValueOptions{}};
  std::unique_ptr<SnapshotReader> reader;
};

}  // namespace cdc::postgres::testing
