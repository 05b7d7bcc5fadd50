// Proves that the option table is sound: names are unique and well-formed, and the defaults of the
// table are the defaults of Config.
#include "config/option.h"

#include <set>

#include <gtest/gtest.h>

#include "config/load.h"

namespace cdc::config {
namespace {

TEST(OptionTable, NamesAreUniqueAndWellFormed) {
  std::set<std::string_view> paths;
  std::set<std::string_view> flags;
  std::set<std::string> variables;
  for (const OptionSpec& option : options()) {
    EXPECT_TRUE(paths.insert(option.path).second) << option.path;
    EXPECT_TRUE(option.flag.empty() || flags.insert(option.flag).second) << option.flag;
    EXPECT_TRUE(variables.insert(environment_name(option)).second) << option.path;
    EXPECT_EQ(option.path.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."),
              std::string_view::npos)
        << option.path;
    EXPECT_TRUE(option.doc.ends_with('.')) << option.path;
    EXPECT_FALSE(option.doc.contains('|')) << option.path;
    EXPECT_EQ(find_option(option.path), &option);
    const bool stores = option.kind != OptionKind::kTables && option.kind != OptionKind::kBlock;
    EXPECT_EQ(option.store != nullptr, stores) << option.path;
  }
  EXPECT_EQ(environment_name(*find_option("postgres.slot-failover")),
            "KAPTANTO_POSTGRES_SLOT_FAILOVER");
  EXPECT_EQ(find_option("nothing"), nullptr);
}

TEST(OptionTable, HasEveryFlagOfTheFirstSystem) {
  std::set<std::string_view> flags;
  for (const OptionSpec& option : options()) {
    flags.insert(option.flag);
  }
  for (const char* flag : {"source",      "tables",      "output",        "port",
                           "cors-origin", "data-dir",    "retention",     "log-level",
                           "ha",          "node-id",     "source-id",     "all-tables",
                           "cluster",     "cluster-dsn", "cluster-peers", "nats-cluster-port",
                           "tls-cert",    "tls-key",     "tls-client-ca", "auth-token",
                           "insecure",    "dlq-enabled", "dlq-path",      "dlq-retention"}) {
    EXPECT_TRUE(flags.contains(flag)) << flag;
  }
}

TEST(OptionTable, DefaultsAreThoseOfConfig) {
  const Loaded loaded = load({.flags = {{"source", {"host=h"}}, {"all-tables", {"true"}}},
                              .environment = {},
                              .file = std::nullopt});
  ASSERT_TRUE(loaded.ok()) << loaded.faults.front().to_string();
  const Config expected;
  const Config& config = loaded.config;
  EXPECT_EQ(config.output, expected.output);
  EXPECT_EQ(config.port, expected.port);
  EXPECT_EQ(config.data_dir, expected.data_dir);
  EXPECT_EQ(config.retention, expected.retention);
  EXPECT_EQ(config.log_level, expected.log_level);
  EXPECT_EQ(config.source_id, expected.source_id);
  EXPECT_EQ(config.values.int8, expected.values.int8);
  EXPECT_EQ(config.values.numeric, expected.values.numeric);
  EXPECT_EQ(config.values.mode, expected.values.mode);
  EXPECT_EQ(config.journal.segment_bytes, expected.journal.segment_bytes);
  EXPECT_EQ(config.journal.bytes_max, expected.journal.bytes_max);
  EXPECT_EQ(config.postgres.publication, expected.postgres.publication);
  EXPECT_EQ(config.postgres.publication_existing, expected.postgres.publication_existing);
  EXPECT_EQ(config.postgres.slot, expected.postgres.slot);
  EXPECT_EQ(config.postgres.slot_failover, expected.postgres.slot_failover);
  EXPECT_EQ(config.postgres.accept_gap, expected.postgres.accept_gap);
  EXPECT_EQ(config.postgres.streaming, expected.postgres.streaming);
  EXPECT_EQ(config.postgres.spill_memory_bytes, expected.postgres.spill_memory_bytes);
  EXPECT_EQ(config.postgres.message_prefixes, expected.postgres.message_prefixes);
  EXPECT_EQ(config.postgres.status_interval, expected.postgres.status_interval);
}

TEST(SplitList, RespectsDoubleQuotes) {
  using List = std::vector<std::string>;
  EXPECT_EQ(split_list(""), List{});
  EXPECT_EQ(split_list("  "), List{});
  EXPECT_EQ(split_list("a"), List{"a"});
  EXPECT_EQ(split_list(" a , b "), (List{"a", "b"}));
  EXPECT_EQ(split_list(R"(public."We,ird",b)"), (List{R"(public."We,ird")", "b"}));
  EXPECT_EQ(split_list(R"("a""b,c",d)"), (List{R"("a""b,c")", "d"}));
  EXPECT_EQ(split_list("a,,b"), (List{"a", "", "b"}));
  EXPECT_EQ(split_list("a,"), (List{"a", ""}));
}

}  // namespace
}  // namespace cdc::config
