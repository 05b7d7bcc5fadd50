#include "app/program.h"

#include <algorithm>

#include "app/backfill_command.h"
#include "app/command_line.h"
#include "app/command_table.h"
#include "app/configuration_commands.h"
#include "app/consumers_command.h"
#include "app/doctor_command.h"
#include "app/help.h"
#include "app/journal_command.h"
#include "app/run.h"
#include "app/status_command.h"
#include "app/version.h"
#include "base/format.h"
#include "config/load.h"

namespace cdc::app {
namespace {

config::LoadInputs inputs_of(const CommandLine& line, const config::Environment& environment) {
  config::LoadInputs inputs{
      .flags = line.configuration_flags, .environment = environment, .file = line.config};
  const auto variable = environment.find("KAPTANTO_CONFIG");
  if (!inputs.file && variable != environment.end() && !variable->second.empty()) {
    inputs.file = variable->second;
  }
  return inputs;
}

// Runs a command that needs a whole configuration.
Result<int> configured_command(const CommandLine& line,
                               const config::LoadInputs& inputs,
                               Console& console) {
  const config::Loaded loaded = config::load(inputs);
  if (!loaded.ok()) {
    return fail(config::to_error(loaded.faults));
  }
  if (line.command == "doctor") {
    return doctor_command(line, loaded.config, console);
  }
  CDC_TRY(run(loaded.config));
  return 0;
}

Result<int> help(std::string_view path, Console& console) {
  const Command* command = path.empty() ? nullptr : find_command(path);
  CDC_TRY(console.print(command == nullptr ? program_help() : command_help(*command)));
  return 0;
}

Result<int> run_command(const CommandLine& line,
                        const config::Environment& environment,
                        Console& console) {
  if (line.version) {
    CDC_TRY(console.print(cdc::format("kaptanto version {}\n", kVersion)));
    return 0;
  }
  if (line.help) {
    return help(line.command_given ? line.command : "", console);
  }
  if (line.command == "help") {
    return help(line.argument, console);
  }
  if (line.command == "validate") {
    return validate_command(line, inputs_of(line, environment), console);
  }
  if (line.command == "schema") {
    return schema_command(line, console);
  }
  if (line.command == "completion") {
    return completion_command(line, console);
  }
  if (line.command == "version") {
    return version_command(line, console);
  }
  if (line.command == "journal inspect") {
    return journal_inspect_command(line, console);
  }
  if (line.command == "status") {
    return status_command(line, inputs_of(line, environment), console);
  }
  if (line.command.starts_with("consumers ")) {
    return consumers_command(line, inputs_of(line, environment), console);
  }
  if (line.command.starts_with("backfill ")) {
    return backfill_command(line, inputs_of(line, environment), console);
  }
  return configured_command(line, inputs_of(line, environment), console);
}

}  // namespace

int run_program(const std::vector<std::string>& arguments,
                const config::Environment& environment,
                Console& console) {
  // Known before the command line is, because that may be what is wrong.
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  const auto line = parse_command_line(arguments);
  if (!line) {
    console.report(line.error(), json);
    return exit_status(line.error().code);
  }
  Result<int> ended = run_command(*line, environment, console);
  if (const Status flushed = console.flush(); ended && !flushed) {
    ended = fail(flushed.error());
  }
  if (!ended) {
    console.report(ended.error(), json);
    return exit_status(ended.error().code);
  }
  return *ended;
}

}  // namespace cdc::app
