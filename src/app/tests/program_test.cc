// Proves what each command prints, where, and with which exit status, through the same entry that
// main() uses. Commands that need a server are tested as whole programs elsewhere.
#include "app/program.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "app/doctor_command.h"
#include "app/version.h"

namespace cdc::app {
namespace {

struct Finished {
  int status = -1;
  std::string out;
  std::string error;
};

Finished run_words(const std::vector<std::string>& words,
                   const config::Environment& environment = {}) {
  char* texts[2] = {nullptr, nullptr};
  std::size_t sizes[2] = {0, 0};
  std::FILE* streams[2] = {::open_memstream(&texts[0], &sizes[0]),
                           ::open_memstream(&texts[1], &sizes[1])};
  Console console(streams[0], streams[1]);
  Finished finished;
  finished.status = run_program(words, environment, console);
  std::fclose(streams[0]);
  std::fclose(streams[1]);
  finished.out.assign(texts[0], sizes[0]);
  finished.error.assign(texts[1], sizes[1]);
  std::free(texts[0]);
  std::free(texts[1]);
  return finished;
}

TEST(Program, ShowsItsVersion) {
  EXPECT_EQ(run_words({"--version"}).out, "kaptanto version " + std::string(kVersion) + "\n");
  EXPECT_TRUE(
      run_words({"version"}).out.starts_with("kaptanto " + std::string(kVersion) + " (commit "));
  EXPECT_TRUE(run_words({"version", "--json"})
                  .out.starts_with("{\"version\":\"" + std::string(kVersion) + "\",\"commit\":\""));
}

TEST(Program, HelpIsTheSameOnBothSides) {
  EXPECT_EQ(run_words({"help", "doctor"}).out, run_words({"doctor", "--help"}).out);
  EXPECT_EQ(run_words({"help"}).out, run_words({"-h"}).out);
  EXPECT_NE(run_words({"run", "--help"}).out, run_words({"--help"}).out);
}

TEST(Program, ReportsAFaultOnceOnStandardError) {
  const Finished plain = run_words({"--tabels", "x"});
  EXPECT_EQ(plain.status, 2);
  EXPECT_EQ(plain.out, "");
  EXPECT_EQ(plain.error, "kaptanto: unknown flag --tabels (did you mean --tables?)\n");
  const Finished json = run_words({"--tabels", "x", "--json"});
  EXPECT_EQ(json.status, 2);
  EXPECT_EQ(json.error,
            "{\"error\":{\"code\":\"invalid_argument\",\"message\":\"unknown flag --tabels\","
            "\"hint\":\"did you mean --tables?\",\"exit_status\":2}}\n");
}

TEST(Program, RefusesToRunWithoutAConfiguration) {
  const Finished finished = run_words({});
  EXPECT_EQ(finished.status, 3);
  EXPECT_TRUE(finished.error.contains("--source or --config is required")) << finished.error;
  const Finished doctor = run_words({"doctor", "--source", "host=h", "--output", "kafka"});
  EXPECT_EQ(doctor.status, 3);
  EXPECT_EQ(doctor.error,
            "kaptanto: --output: \"kafka\" is not in this version (choose one of: stdout, sse, "
            "none; `kaptanto validate` names 1 more)\n");
}

TEST(Program, ValidateNamesEveryFault) {
  const Finished good = run_words({"validate", "--source", "host=h", "--tables", "a,b"});
  EXPECT_EQ(good.status, 0);
  EXPECT_EQ(good.out, "the configuration is valid: 2 tables, data in ./data\n");
  EXPECT_EQ(run_words({"validate", "--source", "host=h", "--all-tables", "--json"}).out,
            "{\"valid\":true,\"faults\":[]}\n");

  const Finished bad = run_words({"validate", "--source", "host=h", "--port", "x"});
  EXPECT_EQ(bad.status, 3);
  EXPECT_TRUE(
      bad.out.starts_with("--port: \"x\" is not a whole number\ntables: no table is named"));
  const Finished json =
      run_words({"validate", "--source", "host=h", "--port", "x", "--tables", "a", "--json"});
  EXPECT_EQ(json.status, 3);
  EXPECT_EQ(json.out,
            "{\"valid\":false,\"faults\":[{\"place\":\"--port\",\"key\":\"\",\"message\":"
            "\"\\\"x\\\" is not "
            "a whole number\",\"hint\":\"\",\"code\":\"config_invalid\"}]}\n");
}

TEST(Program, TheEnvironmentMayNameTheFile) {
  std::string name = (std::filesystem::temp_directory_path() / "program-XXXXXX").string();
  const std::filesystem::path directory = ::mkdtemp(name.data());
  std::ofstream(directory / "c.yaml") << "source: host=h\nall-tables: true\nzebra: 1\n";
  const std::string path = (directory / "c.yaml").string();
  const Finished finished = run_words({"validate"}, {{"KAPTANTO_CONFIG", path}});
  EXPECT_EQ(finished.out, path + ":3:1: zebra: unknown key\n");
  std::filesystem::remove_all(directory);
}

TEST(Program, ExampleOfTheRepositoryIsValid) {
  const Finished finished =
      run_words({"validate", "--config", CDC_SOURCE_DIR "/examples/kaptanto.yaml"});
  EXPECT_EQ(finished.status, 0) << finished.out;
}

TEST(Program, JournalInspectOfNothingIsWrongUse) {
  const Finished finished = run_words({"journal", "inspect", "/nonexistent/events"});
  EXPECT_EQ(finished.status, 2);
  EXPECT_TRUE(finished.error.contains("/nonexistent/events")) << finished.error;
}

TEST(Program, UnwritableOutputIsReported) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* errors = ::open_memstream(&text, &size);
  Console console(full, errors);
  EXPECT_EQ(run_program({"schema"}, {}, console), 8);
  std::fclose(errors);
  EXPECT_TRUE(
      std::string_view(text, size).starts_with("kaptanto: standard output: cannot be written"));
  std::free(text);
  std::fclose(full);
}

TEST(DoctorReport, ShowsEachCheckAndItsFix) {
  const std::vector<postgres::Check> checks{
      {.name = "wal_level", .verdict = postgres::Verdict::kPass, .detail = "logical", .fix = ""},
      {.name = "role",
       .verdict = postgres::Verdict::kFail,
       .detail = "\"u\" may not",
       .fix = "ALTER ROLE u;\nand again"},
      {.name = "slots", .verdict = postgres::Verdict::kWarn, .detail = "one left", .fix = "more"}};
  EXPECT_EQ(doctor_report(checks),
            "ok    wal_level: logical\n"
            "FAIL  role: \"u\" may not\n"
            "      ALTER ROLE u;\n"
            "      and again\n"
            "warn  slots: one left\n"
            "      more\n"
            "\n3 checks: 1 failed, 1 with a warning\n");
  EXPECT_EQ(
      doctor_report_json(checks),
      "{\"ok\":false,\"checks\":["
      "{\"name\":\"wal_level\",\"verdict\":\"pass\",\"detail\":\"logical\",\"fix\":\"\"},"
      "{\"name\":\"role\",\"verdict\":\"fail\",\"detail\":\"\\\"u\\\" may not\","
      "\"fix\":\"ALTER ROLE u;\\nand again\"},"
      "{\"name\":\"slots\",\"verdict\":\"warn\",\"detail\":\"one left\",\"fix\":\"more\"}]}\n");
}

}  // namespace
}  // namespace cdc::app
