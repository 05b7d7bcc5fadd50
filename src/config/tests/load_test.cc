// Proves how a configuration is put together: layers, expansion, every kind of fault with its
// place, all of them at once, and none of them with a secret.
#include "config/load.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace cdc::config {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kBase = "source: host=h\nall-tables: true\n";

std::string faults_of(const Loaded& loaded) {
  std::string text;
  for (const Fault& fault : loaded.faults) {
    text += fault.to_string() + "\n";
  }
  return text;
}

Loaded load_yaml(const std::string& text, const LoadInputs& inputs = {}) {
  return load_text(text, inputs, "c.yaml");
}

std::string faults_with_base(const std::string& text, const LoadInputs& inputs = {}) {
  return faults_of(load_yaml(std::string(kBase) + text, inputs));
}

// A directory that is gone when the test ends.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "config-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  std::filesystem::path write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(Load, ReadsEveryOption) {
  const Loaded loaded = load_yaml(R"(# yaml-language-server: $schema=./schemas/kaptanto.schema.json
source: "postgres://u:p@localhost:5432/mydb"
output: none
port: 8000
data-dir: /var/lib/kaptanto
retention: 7d
log-level: WARNING
source-id: shop_1
all-tables: true
values: {int8: string, numeric: string, mode: text}
journal: {segment-bytes: 1MiB, max-bytes: 1GB}
postgres:
  publication: my_pub
  publication-mode: existing
  slot: my_slot
  slot-failover: true
  accept-gap: yes
  streaming: false
  spill-memory: 1048576
  messages: [outbox, "app.*"]
  status-interval: 500ms
snapshot: {mode: initial_only, workers: 16, chunk-time: 10ms, lock-timeout: 100ms}
admin: {enabled: false, address: "::1"}
)");
  ASSERT_TRUE(loaded.ok()) << faults_of(loaded);
  const Config& config = loaded.config;
  EXPECT_EQ(config.source, "postgres://u:p@localhost:5432/mydb");
  EXPECT_EQ(config.output, Output::kNone);
  EXPECT_EQ(config.port, 8000);
  EXPECT_EQ(config.data_dir, "/var/lib/kaptanto");
  EXPECT_EQ(config.retention, 168h);
  EXPECT_EQ(config.log_level, log::Level::kWarn);
  EXPECT_EQ(config.source_id, "shop_1");
  EXPECT_TRUE(config.all_tables);
  EXPECT_EQ(config.values.int8, NumberFormat::kString);
  EXPECT_EQ(config.values.numeric, NumberFormat::kString);
  EXPECT_EQ(config.values.mode, ValueMode::kText);
  EXPECT_EQ(config.journal.segment_bytes, 1ULL << 20U);
  EXPECT_EQ(config.journal.bytes_max, 1'000'000'000ULL);
  EXPECT_EQ(config.postgres.publication, "my_pub");
  EXPECT_TRUE(config.postgres.publication_existing);
  EXPECT_EQ(config.postgres.slot, "my_slot");
  EXPECT_TRUE(config.postgres.slot_failover);
  EXPECT_TRUE(config.postgres.accept_gap);
  EXPECT_FALSE(config.postgres.streaming);
  EXPECT_EQ(config.postgres.spill_memory_bytes, 1'048'576ULL);
  EXPECT_EQ(config.postgres.message_prefixes, (std::vector<std::string>{"outbox", "app.*"}));
  EXPECT_EQ(config.postgres.status_interval, 500ms);
  EXPECT_EQ(config.snapshot.mode, SnapshotMode::kInitialOnly);
  EXPECT_EQ(config.snapshot.workers, 16U);
  EXPECT_EQ(config.snapshot.chunk_time, 10ms);
  EXPECT_EQ(config.snapshot.lock_timeout, 100ms);
  EXPECT_FALSE(config.admin.enabled);
  EXPECT_EQ(config.admin.address, "::1");
}

TEST(Load, SnapshotAndAdminHaveDefaults) {
  const Config config = load_yaml(std::string(kBase)).config;
  EXPECT_EQ(config.snapshot.mode, SnapshotMode::kInitial);
  EXPECT_EQ(config.snapshot.workers, 2U);
  EXPECT_EQ(config.snapshot.chunk_time, 500ms);
  EXPECT_EQ(config.snapshot.lock_timeout, 5s);
  EXPECT_TRUE(config.admin.enabled);
  EXPECT_EQ(config.admin.address, "127.0.0.1");
  const Config flagged =
      load_yaml(std::string(kBase),
                {.flags = {{"snapshot-mode", {"never"}}, {"admin-address", {"0.0.0.0"}}},
                 .environment = {{"KAPTANTO_SNAPSHOT_WORKERS", "3"}},
                 .file = {}})
          .config;
  EXPECT_EQ(flagged.snapshot.mode, SnapshotMode::kNever);
  EXPECT_EQ(flagged.snapshot.workers, 3U);
  EXPECT_EQ(flagged.admin.address, "0.0.0.0");
}

TEST(Load, HealthHasDefaultsAndBounds) {
  const Config config = load_yaml(std::string(kBase)).config;
  EXPECT_EQ(config.health.lag_bytes_max, 1ULL << 30U);
  EXPECT_EQ(config.health.stall_time, 5min);
  const Config set =
      load_yaml(std::string(kBase) + "health: {max-lag: 64MiB, stall-time: 30s}\n").config;
  EXPECT_EQ(set.health.lag_bytes_max, 64ULL << 20U);
  EXPECT_EQ(set.health.stall_time, 30s);
  EXPECT_EQ(faults_with_base("health: {stall-time: 1500ms}"),
            "c.yaml:3:22: health.stall-time: must be whole seconds (write 30s or 5m)\n");
}

TEST(Load, SnapshotAndAdminHaveBounds) {
  EXPECT_EQ(faults_with_base("snapshot: {mode: initial-only, workers: 17, chunk-time: 9ms}"),
            "c.yaml:3:18: snapshot.mode: \"initial-only\" is not one of: initial, never, always, "
            "initial_only (did you mean \"initial_only\"?)\n"
            "c.yaml:3:41: snapshot.workers: \"17\" is not within 1 and 16\n"
            "c.yaml:3:57: snapshot.chunk-time: \"9ms\" is not within 10ms and 1m\n");
  EXPECT_EQ(faults_with_base("snapshot: {workers: 0, chunk-time: 61s, lock-timeout: 99ms}"),
            "c.yaml:3:21: snapshot.workers: \"0\" is not within 1 and 16\n"
            "c.yaml:3:36: snapshot.chunk-time: \"61s\" is not within 10ms and 1m\n"
            "c.yaml:3:55: snapshot.lock-timeout: \"99ms\" is not within 100ms and 1h\n");
  EXPECT_EQ(faults_with_base("admin: {address: localhost}"),
            "c.yaml:3:18: admin.address: is not an IP address (write 127.0.0.1 for this machine "
            "alone, 0.0.0.0 or :: for every network)\n");
  // The admin API needs the port after it.
  EXPECT_EQ(faults_with_base("port: 65535"),
            "c.yaml:3:7: port: \"65535\" is not within 1 and 65534\n");
}

TEST(Load, AcceptsAFileOfTheFirstSystem) {
  const Loaded loaded = load_yaml(R"(source: "postgres://kaptanto:secret@localhost:5432/mydb"
output: stdout
port: 7654
cors-origin: ""
data-dir: /var/lib/kaptanto
retention: 24h
ha: false
node-id: ""
source-id: default
all-tables: false
cluster: false
cluster-dsn: ""
cluster-peers: []
nats-cluster-port: 6222
insecure: true
tables:
  public.orders:
    columns: [id, status, total]
    where: "status != 'archived'"
  public.payments: {}
sinks:
  kafka:
    bootstrap-servers: ["localhost:9092"]
    topic-template: "cdc.{{.Schema}}.{{.Table}}"
  webhook:
    url: ${UNSET_BUT_UNUSED}
server-tls: {}
actions: []
mcp: {enabled: false, port: 7655}
enrichment:
  url: ""
dlq:
  enabled: false
)");
  EXPECT_TRUE(loaded.ok()) << faults_of(loaded);
  EXPECT_EQ(loaded.config.tables.size(), 2U);
}

TEST(Load, RefusesWhatThisVersionLacks) {
  EXPECT_EQ(faults_with_base(R"(output: kafka
ha: true
cluster: true
cluster-dsn: host=x
cluster-peers: ["node2:6222"]
server-tls: {cert-file: a, key-file: b, client-ca-file: c}
dlq: {enabled: true, path: x, retention: 1h}
actions: [{name: a}]
mcp: {enabled: true}
enrichment: {url: "http://localhost", tables: [a]}
sinks: {kafkaa: {}}
)"),
            R"(c.yaml:3:9: output: "kafka" is not in this version (choose one of: stdout, sse, none)
c.yaml:4:5: ha: is not in this version (remove it)
c.yaml:5:10: cluster: is not in this version (remove it)
c.yaml:6:14: cluster-dsn: is not in this version (remove it)
c.yaml:7:16: cluster-peers: is not in this version (remove it)
c.yaml:8:25: server-tls.cert-file: is not in this version (remove it)
c.yaml:8:38: server-tls.key-file: is not in this version (remove it)
c.yaml:8:57: server-tls.client-ca-file: is not in this version (remove it)
c.yaml:9:16: dlq.enabled: is not in this version (remove it)
c.yaml:9:28: dlq.path: is not in this version (remove it)
c.yaml:9:42: dlq.retention: is not in this version (remove it)
c.yaml:10:1: actions: is not in this version (remove it)
c.yaml:11:1: mcp: is not in this version (remove it)
c.yaml:12:1: enrichment: is not in this version (remove it)
c.yaml:13:9: sinks.kafkaa: unknown key (did you mean "kafka"?)
)");
  EXPECT_EQ(
      faults_of(load_yaml("source: mongodb://u:hush@h/db\n")),
      "c.yaml:1:9: source: MongoDB sources are not in this version (use a PostgreSQL source)\n"
      "tables: no table is named (name some with --tables or the key tables, or ask for every "
      "table with --all-tables)\n");
}

TEST(Load, FlagsWinOverEnvironmentOverFileOverDefaults) {
  const LoadInputs inputs{.flags = {{"port", {"1", "2"}}},
                          .environment = {{"KAPTANTO_PORT", "3"},
                                          {"KAPTANTO_RETENTION", "3h"},
                                          {"KAPTANTO_POSTGRES_SLOT", "from_env"},
                                          {"KAPTANTO_SOURCE_ID", ""}},
                          .file = std::nullopt};
  const Loaded loaded = load_yaml(std::string(kBase) +
                                      "port: 4\nretention: 4h\nsource-id: file\n"
                                      "postgres: {slot: from_file, messages: a}\n",
                                  inputs);
  ASSERT_TRUE(loaded.ok()) << faults_of(loaded);
  EXPECT_EQ(loaded.config.port, 2);
  EXPECT_EQ(loaded.config.retention, 3h);
  EXPECT_EQ(loaded.config.postgres.slot, "from_env");
  EXPECT_EQ(loaded.config.source_id, "file");
  EXPECT_EQ(loaded.config.log_level, log::Level::kInfo);
  EXPECT_EQ(loaded.config.postgres.message_prefixes, std::vector<std::string>{"a"});
}

TEST(Load, EmptyFlagTakesBackOptionalText) {
  const LoadInputs inputs{.flags = {{"postgres-slot", {""}}, {"source-id", {""}}, {"port", {""}}},
                          .environment = {},
                          .file = std::nullopt};
  const Loaded loaded = load_yaml(std::string(kBase) + "postgres: {slot: x}\n", inputs);
  EXPECT_EQ(loaded.config.postgres.slot, "");
  EXPECT_EQ(faults_of(loaded),
            "--port: the value is empty (leave the flag out for the default, 7654)\n"
            "--source-id: the value is empty (leave the flag out for the default, default)\n");
}

TEST(Load, ExplicitZeroRetentionKeepsNothing) {
  EXPECT_EQ(load_yaml(std::string(kBase) + "retention: 0\n").config.retention, 0s);
  EXPECT_EQ(load_yaml(std::string(kBase) + "retention: \"\"\n").config.retention, 1h);
  EXPECT_EQ(load_yaml(std::string(kBase) + "retention:\n").config.retention, 1h);
}

TEST(Load, IgnoresTheServiceAddressOfKubernetes) {
  const LoadInputs inputs{.flags = {},
                          .environment = {{"KAPTANTO_PORT", "tcp://10.43.0.1:7654"},
                                          {"KAPTANTO_SERVICE_HOST", "10.43.0.1"}},
                          .file = std::nullopt};
  EXPECT_EQ(faults_with_base("", inputs), "");
}

TEST(Load, ExpandsEveryValueOfTheFile) {
  const LoadInputs inputs{.flags = {},
                          .environment = {{"PW", "p: #\"x"}, {"PORT", "99"}, {"COL", "a: b"}},
                          .file = std::nullopt};
  const Loaded loaded = load_yaml(R"(source: host=h password='${PW}'
port: ${PORT}
ha: "${HA:-false}"
data-dir: /x/$$y/${NONE:-z}
tables:
  t: {columns: ["${COL}"], where: "a = '${COL}'"}
postgres: {messages: ["${COL}", "$x"]}
)",
                                  inputs);
  ASSERT_TRUE(loaded.ok()) << faults_of(loaded);
  EXPECT_EQ(loaded.config.source, "host=h password='p: #\"x'");
  EXPECT_EQ(loaded.config.port, 99);
  EXPECT_EQ(loaded.config.data_dir, "/x/$y/z");
  EXPECT_EQ(loaded.config.tables[0].columns, std::vector<std::string>{"a: b"});
  EXPECT_EQ(loaded.config.tables[0].where, "a = 'a: b'");
  EXPECT_EQ(loaded.config.postgres.message_prefixes, (std::vector<std::string>{"a: b", "$x"}));
}

TEST(Load, UnsetVariableNamesKeyAndVariable) {
  EXPECT_EQ(
      faults_of(load_yaml("source: host=h password=${DB_PASSWORD}\nall-tables: true\n")),
      "c.yaml:1:9: source: the environment variable DB_PASSWORD is not set (set it, or give a "
      "default as in ${DB_PASSWORD:-value})\n");
}

TEST(Load, UnknownKeysAreFaultsWithSuggestions) {
  EXPECT_EQ(faults_with_base("outptu: none\nretenton: 1h\nslot: x\nzebra: 1\npostgres: {slots: x}\n"
                             "tabels: []\nvalues: {int: x}\npostgress: {}\n"),
            R"(c.yaml:3:1: outptu: unknown key (did you mean "output"?)
c.yaml:4:1: retenton: unknown key (did you mean "retention"?)
c.yaml:5:1: slot: unknown key (did you mean "postgres.slot"?)
c.yaml:6:1: zebra: unknown key
c.yaml:7:12: postgres.slots: unknown key (did you mean "slot"?)
c.yaml:8:1: tabels: unknown key (did you mean "tables"?)
c.yaml:9:10: values.int: unknown key (did you mean "int8"?)
c.yaml:10:1: postgress: unknown key (did you mean "postgres"?)
)");
}

TEST(Load, KeysGivenTwiceAreFaults) {
  EXPECT_EQ(faults_with_base("port: 1\nvalues: {mode: text, mode: native}\nport: 2\n"),
            "c.yaml:4:22: values.mode: this key is given twice (keep one of them)\n"
            "c.yaml:5:1: port: this key is given twice (keep one of them)\n");
}

TEST(Load, WrongValuesAreFaults) {
  EXPECT_EQ(
      faults_with_base(R"(output: stdot
port: 70000
data-dir: [a]
retention: 5
log-level: loud
source-id: Shop-1
values: {int8: text}
journal: {segment-bytes: 64M, max-bytes: 1MiB}
postgres: {publication-mode: existing, slot: "My Slot", streaming: maybe,
  status-interval: 1ms, spill-memory: 1}
)"),
      "c.yaml:3:9: output: \"stdot\" is not one of: stdout, sse, none (did you mean \"stdout\"?)\n"
      "c.yaml:4:7: port: \"70000\" is not within 1 and 65534\n"
      "c.yaml:5:11: data-dir: must be a single value\n"
      "c.yaml:6:12: retention: \"5\": this is not a duration (write a number with a unit, "
      "such as 150ms, 2s, 5m, 24h, 7d or 1h30m)\n"
      "c.yaml:7:12: log-level: \"loud\" is not one of: debug, info, warn, warning, error\n"
      "c.yaml:8:12: source-id: must be 1 to 40 characters out of a-z, 0-9 and _ (it becomes "
      "part of the names of the slot and the publication)\n"
      "c.yaml:9:16: values.int8: \"text\" is not one of: number, string\n"
      "c.yaml:10:26: journal.segment-bytes: \"64M\": this is not a size (write bytes, or a "
      "number with kB, MB, GB, KiB, MiB or GiB, such as 64MiB)\n"
      "c.yaml:10:42: journal.max-bytes: \"1MiB\" is not within 2MiB and 1024TiB\n"
      "c.yaml:11:46: postgres.slot: must be 1 to 63 characters out of a-z, 0-9 and _ "
      "(PostgreSQL allows no others in the name of a slot)\n"
      "c.yaml:11:68: postgres.streaming: \"maybe\" is not true or false\n"
      "c.yaml:12:20: postgres.status-interval: \"1ms\" is not within 100ms and 1h\n"
      "c.yaml:12:39: postgres.spill-memory: \"1\" is not within 64KiB and 64GiB\n"
      "c.yaml:11:30: postgres.publication: an existing publication has no name (set "
      "postgres.publication)\n");
  EXPECT_EQ(faults_with_base("journal: {segment-bytes: 1GiB, max-bytes: 1GiB}\n"),
            "c.yaml:3:43: journal.max-bytes: must be at least twice journal.segment-bytes\n");
  EXPECT_EQ(faults_with_base("retention: 1500ms\n"),
            "c.yaml:3:12: retention: must be whole seconds (write 0 to keep nothing)\n");
}

TEST(Load, FaultsOfEveryLayerAreCollected) {
  const LoadInputs inputs{.flags = {{"port", {"x"}}, {"no-such", {"1"}}, {"ha", {"true"}}},
                          .environment = {{"KAPTANTO_LOG_LEVEL", "loud"}},
                          .file = std::nullopt};
  EXPECT_EQ(faults_with_base("zebra: 1\n", inputs),
            "c.yaml:3:1: zebra: unknown key\n"
            "KAPTANTO_LOG_LEVEL: \"loud\" is not one of: debug, info, warn, warning, error\n"
            "--ha: is not in this version (remove it)\n"
            "--no-such: unknown flag\n"
            "--port: \"x\" is not a whole number\n");
}

TEST(Load, MalformedYamlIsOneFault) {
  EXPECT_EQ(faults_of(load_yaml("source: [a\nb: c\n")),
            "c.yaml:2:2: not valid YAML: end of sequence flow not found\n");
  EXPECT_EQ(faults_of(load_yaml("- a\n")),
            "c.yaml:1:1: the file must be a map of keys to values\n");
  EXPECT_TRUE(faults_of(load_yaml("a: b\n---\nc: d\n"))
                  .starts_with("c.yaml:2:1: a second document begins here"));
  EXPECT_TRUE(faults_of(load_yaml(",tables:\nport: 2\n"))
                  .starts_with("c.yaml:1:1: a second document begins here, or text that belongs to "
                               "no key"));
  EXPECT_EQ(faults_of(load_yaml(std::string("a: \0b", 5))),
            "c.yaml: the file holds a NUL byte, so it is not a text\n");
  EXPECT_EQ(
      faults_of(load_yaml("source: *hush\n")),
      "c.yaml:1:9: not valid YAML: the referenced anchor is not defined; put a text that begins "
      "with * in quotes\n");
}

TEST(Load, ReferenceInsideBracesNeedsQuotes) {
  EXPECT_EQ(
      faults_of(load_yaml("values: {mode: ${MODE}}\n")),
      "c.yaml:1:17: not valid YAML: end of map flow not found (put ${...} in quotes inside { } and "
      "[ ])\n");
}

TEST(Load, AliasesAreFineButBounded) {
  EXPECT_EQ(faults_with_base("tables: {a: &r {columns: [x]}, b: *r}\n"), "");
  std::string bomb = "sinks:\n  kafka: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    bomb += "  k" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous;
    for (int j = 0; j < 9; ++j) {
      bomb += ", " + previous;
    }
    bomb += "]\n";
  }
  EXPECT_TRUE(faults_with_base(bomb).contains("more than 100000 values"));
  EXPECT_EQ(faults_with_base("sinks: {kafka: &a {x: *a}}\n"),
            "c.yaml:3:23: sinks.kafka.x: an alias stands inside what it refers to\n");
  EXPECT_TRUE(
      faults_with_base("sinks: {kafka: " + std::string(40, '[') + std::string(40, ']') + "}\n")
          .contains("nests deeper than 32 levels"));
}

TEST(Load, SecretsAreNeverShown) {
  const LoadInputs inputs{
      .flags = {{"source", {"hush"}}, {"cluster-dsn", {"hush"}}, {"auth-token", {"hush"}}},
      .environment = {{"KAPTANTO_SOURCE", "hush"},
                      {"HUSH", "hush"},
                      {"KAPTANTO_AUTH_TOKEN", "hush"}},
      .file = std::nullopt};
  const std::string faults =
      faults_of(load_yaml("source: hush\nport: ${HUSH}\noutput: ${HUSH}\n"
                          "retention: ${HUSH}\npostgres: {streaming: '${HUSH}'}\n"
                          "auth-token: hush\njournal: {max-bytes: '${HUSH}'}\n",
                          inputs));
  EXPECT_EQ(faults.find("hush"), std::string::npos) << faults;
  EXPECT_TRUE(faults.contains("port: the value is not a whole number")) << faults;
}

TEST(Load, SourceIsRequired) {
  EXPECT_EQ(faults_of(load(
                {.flags = {{"all-tables", {"true"}}}, .environment = {}, .file = std::nullopt})),
            "source: --source or --config is required (for example --source "
            "postgres://user@localhost/database)\n");
  EXPECT_EQ(load({.flags = {}, .environment = {}, .file = std::nullopt}).faults.size(), 1U);
  const TemporaryDirectory directory;
  const auto file = directory.write("c.yaml", "all-tables: true\n");
  EXPECT_EQ(faults_of(load({.flags = {}, .environment = {}, .file = file})),
            "source: no database is named (set source or source-file, or use --source)\n");
}

TEST(Load, TokenMayComeFromAFile) {
  const TemporaryDirectory directory;
  const std::string secret = directory.write("token", "abc\n").string();
  const std::string base = std::string(kBase) + "output: sse\naddress: 0.0.0.0\n";
  EXPECT_EQ(load_yaml(base + "auth-token-file: " + secret + "\n").config.auth_token, "abc");
  const LoadInputs with_flag{
      .flags = {{"auth-token", {"def"}}}, .environment = {}, .file = std::nullopt};
  EXPECT_EQ(load_yaml(base + "auth-token-file: " + secret + "\n", with_flag).config.auth_token,
            "def");
  EXPECT_TRUE(faults_of(load_yaml(base + "auth-token: x\nauth-token-file: " + secret + "\n"))
                  .contains("auth-token-file: auth-token is given as well (keep one of the two)"));
  const std::string bad = directory.write("bad", "a b\n").string();
  const std::string faults = faults_of(load_yaml(base + "auth-token-file: " + bad + "\n"));
  EXPECT_TRUE(faults.contains("must be printable ASCII without blanks")) << faults;
  EXPECT_FALSE(faults.contains("address")) << faults;
}

TEST(Load, AListenerForAllNeedsATokenOrToBeTold) {
  EXPECT_EQ(faults_with_base("output: sse\naddress: 0.0.0.0\n"),
            "c.yaml:4:10: address: 0.0.0.0 can be reached from elsewhere, and there is no token "
            "(set auth-token or auth-token-file, or set insecure to let everybody read)\n");
  EXPECT_EQ(faults_with_base("output: sse\naddress: 0.0.0.0\ninsecure: true\n"), "");
  EXPECT_EQ(faults_with_base("output: sse\naddress: '::'\nauth-token: abc\n"), "");
  EXPECT_EQ(faults_with_base("output: sse\naddress: 127.1.2.3\n"), "");
  EXPECT_EQ(faults_with_base("output: stdout\naddress: 0.0.0.0\n"), "");
}

TEST(Load, SourceMayComeFromAFile) {
  const TemporaryDirectory directory;
  const auto secret = directory.write("dsn", "host=h user=u\n");
  const std::string yaml = "all-tables: true\nsource-file: " + secret.string() + "\n";
  EXPECT_EQ(load_yaml(yaml).config.source, "host=h user=u");

  const LoadInputs with_flag{
      .flags = {{"source", {"host=flag"}}}, .environment = {}, .file = std::nullopt};
  const Loaded flag = load_yaml(yaml, with_flag);
  EXPECT_TRUE(flag.ok()) << faults_of(flag);
  EXPECT_EQ(flag.config.source, "host=flag");

  EXPECT_TRUE(faults_of(load_yaml(yaml + "source: host=x\n"))
                  .contains("source-file: source is given as well (keep one of the two)"));

  const LoadInputs file_flag{.flags = {{"source-file", {secret.string()}}},
                             .environment = {{"KAPTANTO_SOURCE", "host=env"}},
                             .file = std::nullopt};
  EXPECT_EQ(load_yaml("all-tables: true\n", file_flag).config.source, "host=h user=u");
}

TEST(Load, UnusableSourceFileIsAFault) {
  const TemporaryDirectory directory;
  const auto empty = directory.write("empty", " \n");
  const auto wrong = directory.write("wrong", "hush\n");
  const auto missing = directory.path() / "missing";
  const auto faults = [](const std::filesystem::path& path) {
    return faults_of(load_yaml("all-tables: true\nsource-file: " + path.string() + "\n"));
  };
  const std::string place = "c.yaml:2:14: source-file: ";
  EXPECT_EQ(faults(empty), place + empty.string() + ": is empty\n");
  EXPECT_EQ(faults(missing),
            place + missing.string() + ": cannot be read: No such file or directory\n");
  EXPECT_EQ(faults(directory.path()),
            place + directory.path().string() + ": cannot be read: Is a directory\n");
  EXPECT_TRUE(faults(wrong).starts_with(place + wrong.string() + ": this is not a PostgreSQL"));
  EXPECT_FALSE(faults(wrong).contains("hush"));
}

TEST(Load, UnreadableConfigurationIsAFault) {
  const Loaded loaded =
      load({.flags = {{"port", {"x"}}}, .environment = {}, .file = "/nonexistent/c.yaml"});
  EXPECT_EQ(faults_of(loaded),
            "/nonexistent/c.yaml: cannot be read: No such file or directory\n"
            "--port: \"x\" is not a whole number\n");
}

TEST(Load, FaultsMakeOneError) {
  const Loaded one = load_yaml(std::string(kBase) + "output: kafka\n");
  const Error single = to_error(one.faults);
  EXPECT_EQ(single.code, Errc::kUnsupported);
  EXPECT_EQ(single.message, "c.yaml:3:9: output: \"kafka\" is not in this version");
  EXPECT_EQ(single.hint, "choose one of: stdout, sse, none");
  const Error several = to_error(load_yaml("port: 0\n").faults);
  EXPECT_EQ(several.code, Errc::kConfigInvalid);
  EXPECT_EQ(several.to_string(),
            "c.yaml:1:7: port: \"0\" is not within 1 and 65534 (`kaptanto validate` names 1 more)");
}

}  // namespace
}  // namespace cdc::config
