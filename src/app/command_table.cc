#include "app/command_table.h"

#include <algorithm>
#include <iterator>

#include "config/option.h"

namespace cdc::app {
namespace {

using config::OptionKind;
using config::OptionSpec;

ValueKind value_kind_of(const OptionSpec& option) {
  switch (option.kind) {
    case OptionKind::kBoolean:
      return ValueKind::kNone;
    case OptionKind::kChoice:
      return ValueKind::kChoice;
    case OptionKind::kPath:
      return option.path == "data-dir" ? ValueKind::kDirectory : ValueKind::kFile;
    default:
      return ValueKind::kText;
  }
}

std::string value_name_of(const OptionSpec& option) {
  switch (option.kind) {
    case OptionKind::kBoolean:
      return "";
    case OptionKind::kInteger:
      return "NUMBER";
    case OptionKind::kDuration:
      return "DURATION";
    case OptionKind::kSize:
      return "SIZE";
    case OptionKind::kPath:
      return option.path == "data-dir" ? "DIR" : "FILE";
    case OptionKind::kList:
    case OptionKind::kTables:
      return "LIST";
    case OptionKind::kChoice:
      break;
    case OptionKind::kText:
    case OptionKind::kBlock:
      return "TEXT";
  }
  std::string names;
  for (const std::string_view choice : option.choices) {
    names += names.empty() ? "" : "|";
    names += choice;
  }
  return names;
}

Flag flag_of(const OptionSpec& option) {
  return {.name = std::string(option.flag),
          .value = value_kind_of(option),
          .value_name = value_name_of(option),
          .choices = {option.choices.begin(), option.choices.end()},
          .summary = std::string(option.doc),
          .default_text = std::string(option.default_text),
          .environment = config::environment_name(option),
          .is_secret = option.is_secret,
          .is_later = option.support != config::Support::kFull};
}

std::vector<Flag> make_global_flags() {
  std::vector<Flag> flags{
      {.name = "config",
       .value = ValueKind::kFile,
       .value_name = "FILE",
       .summary = "Configuration in YAML. Flags win over the environment, that over the file.",
       .environment = "KAPTANTO_CONFIG"},
      {.name = "json", .summary = "Results and errors as JSON, where a command has a result."},
      {.name = "help", .letter = 'h', .summary = "Show the help of the program or of a command."},
      {.name = "version", .letter = 'v', .summary = "Show the version."},
  };
  for (const OptionSpec& option : config::options()) {
    if (!option.flag.empty()) {
      flags.push_back(flag_of(option));
    }
  }
  return flags;
}

// What works on the source and the data directory.
std::vector<Command> pipeline_commands() {
  return {
      {.path = "run",
       .summary = "Run the pipeline; the same as no command",
       .description =
           "Captures the changes of the source, makes them durable in the event log, and "
           "delivers them to the output, until it is interrupted.",
       .uses_configuration = true},
      {.path = "validate",
       .summary = "Check the configuration without connecting",
       .description =
           "Reads flags, environment and file as a run would, and names every fault with "
           "its place. Exits with status 3 when there is one.",
       .uses_configuration = true},
      {.path = "doctor",
       .summary = "Check everything the source needs",
       .description =
           "Connects to the source once, changes nothing, and checks all that a run needs. "
           "Each failing line comes with the SQL or setting that mends it. Exits with "
           "status 10 when a check fails.",
       .uses_configuration = true},
      {.path = "status",
       .summary = "Show how the running process does",
       .description =
           "Shows source, slot, lag, event log, backfills and consumers of the running process. It "
           "is reached by --port and --admin-address, or the --config it runs with. Exits with "
           "status 4 when nobody answers.",
       .flags = {{.name = "watch", .summary = "Show it again every 2 seconds."}}},
      {.path = "journal",
       .summary = "Look into an event log",
       .description = "Commands for the event log of a data directory."},
      {.path = "journal inspect",
       .summary = "List segments and frames, and check every byte",
       .description =
           "Reads the event log in DIR, usually <data-dir>/events, checks everything and "
           "says where reading would end. It only reads, and may run beside the process.",
       .flags = {{.name = "events", .summary = "Print every event too."}},
       .argument = {.name = "DIR", .value = ValueKind::kDirectory}},
  };
}

std::vector<Command> backfill_commands() {
  return {
      {.path = "backfill",
       .summary = "Show and steer the reading of existing rows",
       .description =
           "Commands for the backfills of a running process. They reach it by --port and "
           "--admin-address, or the --config it runs with."},
      {.path = "backfill start",
       .summary = "Read all rows of a table again",
       .description = "Lets the running process read all rows of TABLE again, or those that meet a "
                      "condition, while its changes go on being streamed.",
       .flags = {{.name = "where",
                  .value = ValueKind::kText,
                  .value_name = "CONDITION",
                  .summary = "Read only rows that meet it: docs/operating/where.md."}},
       .argument = {.name = "TABLE", .value = ValueKind::kText}},
      {.path = "backfill status",
       .summary = "Show how far the backfills are",
       .description = "Shows the backfill of TABLE, or of all tables. Without a running process it "
                      "shows what <data-dir>/backfill.db holds, and says so.",
       .argument = {.name = "TABLE", .value = ValueKind::kText, .is_optional = true}},
      {.path = "backfill pause",
       .summary = "Stop reading a table for now",
       .description = "Pauses the backfill of TABLE. What was read stays.",
       .argument = {.name = "TABLE", .value = ValueKind::kText}},
      {.path = "backfill resume",
       .summary = "Go on with a table that is paused, failed or cancelled",
       .description = "Goes on with the backfill of TABLE where it stands.",
       .argument = {.name = "TABLE", .value = ValueKind::kText}},
      {.path = "backfill cancel",
       .summary = "Give up the backfill of a table",
       .description =
           "Ends the backfill of TABLE for good. Its changes go on being streamed; events "
           "that were written stay.",
       .argument = {.name = "TABLE", .value = ValueKind::kText}},
  };
}

std::vector<Command> consumers_commands() {
  return {
      {.path = "consumers",
       .summary = "Show and steer how far the consumers are",
       .description =
           "Commands for everybody who reads events under a name. They reach the running process "
           "by --port and --admin-address, or the --config it runs with."},
      {.path = "consumers list",
       .summary = "Show all consumers",
       .description = "Shows how far each consumer is. Without a running process it shows what "
                      "<data-dir>/cursors.db holds, and says so."},
      {.path = "consumers show",
       .summary = "Show one consumer",
       .description = "Shows how far CONSUMER is, running or not.",
       .argument = {.name = "CONSUMER", .value = ValueKind::kText}},
      {.path = "consumers reset",
       .summary = "Move a consumer that is not connected",
       .description = "Lets CONSUMER go on elsewhere: at the oldest event unless --to says more.",
       .flags = {{.name = "to",
                  .value = ValueKind::kText,
                  .value_name = "POSITION",
                  .summary = "earliest, latest, or the id of the next event it shall get."}},
       .argument = {.name = "CONSUMER", .value = ValueKind::kText}},
      {.path = "consumers delete",
       .summary = "Forget a consumer that is not connected",
       .description = "Deletes the saved position of CONSUMER. When it comes again it is new.",
       .argument = {.name = "CONSUMER", .value = ValueKind::kText}},
  };
}

// What tells of the program itself.
std::vector<Command> reference_commands() {
  return {
      {.path = "schema",
       .summary = "Print the JSON Schema of the configuration",
       .description = "Prints the JSON Schema of the configuration file, for editors.",
       .flags = {{.name = "markdown", .summary = "Print the reference for people instead."}}},
      {.path = "completion",
       .summary = "Print the completion script of a shell",
       .description =
           "Prints a script that completes commands, flags and values. In bash: "
           "source <(kaptanto completion bash). In zsh: source <(kaptanto completion zsh). "
           "In fish: kaptanto completion fish | source.",
       .argument = {.name = "SHELL",
                    .value = ValueKind::kChoice,
                    .choices = {"bash", "zsh", "fish"}}},
      {.path = "version",
       .summary = "Print the version",
       .description = "Prints version and commit."},
      {.path = "help",
       .summary = "Show the help of a command",
       .description = "Shows the help of the program, or of the command that is named.",
       .argument = {.name = "COMMAND",
                    .value = ValueKind::kChoice,
                    .choices = {"run",
                                "validate",
                                "doctor",
                                "status",
                                "journal",
                                "backfill",
                                "consumers",
                                "schema",
                                "completion",
                                "version"},
                    .is_optional = true}},
  };
}

std::vector<Command> make_commands() {
  std::vector<Command> all = pipeline_commands();
  std::ranges::move(backfill_commands(), std::back_inserter(all));
  std::ranges::move(consumers_commands(), std::back_inserter(all));
  std::ranges::move(reference_commands(), std::back_inserter(all));
  return all;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands = make_commands();
  return kCommands;
}

const Command* find_command(std::string_view path) {
  const auto found = std::ranges::find_if(
      commands(), [&](const Command& command) { return command.path == path; });
  return found == commands().end() ? nullptr : &*found;
}

bool is_group(const Command& command) {
  const std::string prefix = std::string(command.path) + " ";
  return std::ranges::any_of(commands(),
                             [&](const Command& other) { return other.path.starts_with(prefix); });
}

const std::vector<Flag>& global_flags() {
  static const std::vector<Flag> kFlags = make_global_flags();
  return kFlags;
}

}  // namespace cdc::app
