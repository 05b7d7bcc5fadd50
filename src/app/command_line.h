#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cdc::app {

// What the user asked for, as words; what the values of configuration flags mean is not known here.
struct CommandLine {
  std::string command;         // path in the command table; "run" when none was given
  bool command_given = false;  // false for `kaptanto [flags]`
  std::string argument;
  bool help = false;
  bool version = false;
  bool json = false;
  std::vector<std::string> own_flags;             // of the command: "events", "markdown"
  std::map<std::string, std::string> own_values;  // of those that take one: "where"
  std::optional<std::filesystem::path> config;
  std::map<std::string, std::vector<std::string>> configuration_flags;  // as config::LoadInputs

  [[nodiscard]] bool has(std::string_view own_flag) const;
  // Empty when it was not given.
  [[nodiscard]] std::string value_of(std::string_view own_flag) const;
};

// Errors: kInvalidArgument, with a suggestion. Words that may hold a password are not repeated.
[[nodiscard]] Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments);

}  // namespace cdc::app
