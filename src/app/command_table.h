#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cdc::app {

// The commands and flags of the program: what the parser, --help and shell completion are made
// from.

// What a value is, for completion and help.
enum class ValueKind : std::uint8_t {
  kNone,
  kText,
  kChoice,
  kFile,
  kDirectory
};

struct Flag {
  std::string name = {};  // without dashes
  char letter = '\0';
  ValueKind value = ValueKind::kNone;
  std::string value_name = {};            // "DURATION"; of kNone empty
  std::vector<std::string> choices = {};  // of kChoice
  std::string summary = {};               // one or two sentences
  std::string default_text = {};
  std::string environment = {};  // variable; empty: none
  bool is_secret = false;        // its value is blanked out in the process list
  bool is_later = false;         // of a later version
};

struct Argument {
  std::string_view name;  // "DIR"; empty: the command takes none
  ValueKind value = ValueKind::kNone;
  std::vector<std::string> choices = {};
  bool is_optional = false;
};

struct Command {
  std::string_view path;  // "journal inspect"
  std::string_view summary;
  std::string_view description;
  bool uses_configuration = false;  // whether the pipeline's flags mean anything to it
  std::vector<Flag> flags = {};     // its own
  Argument argument = {};
};

// In the order of the help. A group ("journal") stands before its members and does nothing alone.
[[nodiscard]] const std::vector<Command>& commands();
[[nodiscard]] const Command* find_command(std::string_view path);
[[nodiscard]] bool is_group(const Command& command);

// Flags that every command accepts, before and after its name: --config, --json, --help, --version
// and one for each option of the configuration.
[[nodiscard]] const std::vector<Flag>& global_flags();

}  // namespace cdc::app
