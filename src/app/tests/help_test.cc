// Proves that the help names every command and every flag with its default and variable, on lines
// of a terminal's width.
#include "app/help.h"

#include <sstream>

#include <gtest/gtest.h>

namespace cdc::app {
namespace {

// The text with every run of blanks and line ends as one blank.
std::string flattened(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  for (std::string word; words >> word;) {
    result += word + " ";
  }
  return result;
}

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(Help, NamesEverything) {
  const std::string help = program_help();
  const std::string flat = flattened(help);
  expect_narrow(help);
  for (const Flag& flag : global_flags()) {
    EXPECT_TRUE(flat.contains("--" + flag.name + " ")) << flag.name;
    if (!flag.environment.empty()) {
      EXPECT_TRUE(flat.contains("[" + flag.environment + "]")) << flag.environment;
    }
    if (!flag.default_text.empty()) {
      EXPECT_TRUE(flat.contains("Default: " + flag.default_text + ".")) << flag.name;
    }
  }
  for (const Command& command : commands()) {
    EXPECT_TRUE(is_group(command) || help.contains("  " + std::string(command.path) + " "))
        << command.path;
  }
}

TEST(Help, OfACommandShowsItsUsage) {
  for (const Command& command : commands()) {
    const std::string help = command_help(command);
    expect_narrow(help);
    EXPECT_TRUE(help.contains("  kaptanto " + std::string(command.path))) << command.path;
    EXPECT_EQ(help.contains("--source TEXT"), command.uses_configuration) << command.path;
    for (const Flag& flag : command.flags) {
      EXPECT_TRUE(help.contains("--" + flag.name)) << flag.name;
    }
  }
}

}  // namespace
}  // namespace cdc::app
