// Proves that each completion script is one its shell accepts, and, for bash, that it completes
// what a user would expect at each place. Shells that are not installed are skipped.
#include "app/completion.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

namespace cdc::app {
namespace {

// A file with a text, gone at the end of the test.
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    std::string directory = (std::filesystem::temp_directory_path() / "completion-XXXXXX").string();
    directory_ = ::mkdtemp(directory.data());
    std::ofstream(path()) << text;
  }

  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  ~TextFile() { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return (directory_ / "script").string(); }

 private:
  std::filesystem::path directory_;
};

struct Finished {
  int status = -1;
  std::string output;
};

Finished shell(const std::string& command) {
  Finished finished;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    finished.output += static_cast<char>(c);
  }
  finished.status = ::pclose(pipe);
  return finished;
}

void expect_accepted_by(const std::string& name, const std::string& script) {
  if (shell("command -v " + name).status != 0) {
    GTEST_SKIP() << name << " is not installed";
  }
  const TextFile file(script);
  const Finished finished = shell(name + " -n '" + file.path() + "'");
  EXPECT_EQ(finished.status, 0) << finished.output;
}

TEST(Completion, BashAcceptsItsScript) {
  expect_accepted_by("bash", bash_completion());
}

TEST(Completion, ZshAcceptsItsScript) {
  expect_accepted_by("zsh", zsh_completion());
}

TEST(Completion, FishAcceptsItsScript) {
  expect_accepted_by("fish", fish_completion());
}

// What bash offers when the cursor stands behind the last of these words.
std::string offered(const std::string& words) {
  static const TextFile kScript(bash_completion());
  const TextFile driver("source " + kScript.path() + "\nCOMP_WORDS=(" + words +
                        ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_kaptanto\n"
                        "printf '%s ' \"${COMPREPLY[@]}\"\n");
  return shell("bash --norc " + driver.path()).output;
}

TEST(Completion, BashCompletesEachPlace) {
  EXPECT_EQ(offered("kaptanto val"), "validate ");
  EXPECT_EQ(offered("kaptanto --tab"), "--tables ");
  EXPECT_EQ(offered("kaptanto --output ''"), "stdout sse none ");
  EXPECT_EQ(offered("kaptanto --output = no"), "none ");
  EXPECT_EQ(offered("kaptanto --output ="), "stdout sse none ");
  EXPECT_EQ(offered("kaptanto --log-level d"), "debug ");
  EXPECT_EQ(offered("kaptanto completion ''"), "bash zsh fish ");
  EXPECT_EQ(offered("kaptanto journal ''"), "inspect ");
  EXPECT_EQ(offered("kaptanto journal inspect --ev"), "--events ");
  EXPECT_EQ(offered("kaptanto backfill ''"), "start status pause resume cancel ");
  EXPECT_EQ(offered("kaptanto backfill start --wh"), "--where ");
  EXPECT_EQ(offered("kaptanto backfill --where x sta"), "start status ");
  EXPECT_EQ(offered("kaptanto --source validate doc"), "doctor ");
  EXPECT_EQ(offered("kaptanto --source = x doc"), "doctor ");
  EXPECT_EQ(offered("kaptanto validate --ev"), " ");
  EXPECT_EQ(offered("kaptanto --source ''"), " ");
  EXPECT_EQ(offered("kaptanto --data-dir /et"), "/etc ");
}

TEST(Completion, FishCompletesCommands) {
  if (shell("command -v fish").status != 0) {
    GTEST_SKIP() << "fish is not installed";
  }
  const TextFile script(fish_completion());
  const auto offers = [&](const std::string& line) {
    return shell("fish --no-config -c \"source " + script.path() + "; complete -C '" + line + "'\"")
        .output;
  };
  EXPECT_TRUE(offers("kaptanto val").contains("validate"));
  EXPECT_TRUE(offers("kaptanto journal ").contains("inspect"));
  EXPECT_FALSE(offers("kaptanto journal ").contains("validate"));
  EXPECT_TRUE(offers("kaptanto --output ").contains("none"));
  EXPECT_TRUE(offers("kaptanto journal inspect --ev").contains("--events"));
  EXPECT_TRUE(offers("kaptanto --source x completion ").contains("zsh"));
}

}  // namespace
}  // namespace cdc::app
