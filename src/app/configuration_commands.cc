#include "app/configuration_commands.h"

#include "app/completion.h"
#include "app/version.h"
#include "base/format.h"
#include "config/reference.h"

namespace cdc::app {
namespace {

std::string fault_as_json(const config::Fault& fault) {
  return cdc::format(R"({{"place":{},"key":{},"message":{},"hint":{},"code":{}}})",
                     json_text(fault.place),
                     json_text(fault.key),
                     json_text(fault.message),
                     json_text(fault.hint),
                     json_text(name_of(fault.code)));
}

std::string verdict_as_json(const config::Loaded& loaded) {
  std::string text = cdc::format(R"({{"valid":{},"faults":[)", loaded.ok());
  for (const config::Fault& fault : loaded.faults) {
    text += (&fault == &loaded.faults.front() ? "" : ",") + fault_as_json(fault);
  }
  return text + "]}\n";
}

std::string verdict_as_text(const config::Loaded& loaded) {
  std::string text;
  for (const config::Fault& fault : loaded.faults) {
    text += fault.to_string() + "\n";
  }
  if (!loaded.ok()) {
    return text;
  }
  const std::size_t tables = loaded.config.tables.size();
  const std::string what = loaded.config.all_tables && tables == 0
                               ? "all tables"
                               : cdc::format("{} table{}", tables, tables == 1 ? "" : "s");
  return cdc::format(
      "the configuration is valid: {}, data in {}\n", what, loaded.config.data_dir.string());
}

}  // namespace

Result<int> validate_command(const CommandLine& line,
                             const config::LoadInputs& inputs,
                             Console& console) {
  const config::Loaded loaded = config::load(inputs);
  CDC_TRY(console.print(line.json ? verdict_as_json(loaded) : verdict_as_text(loaded)));
  return loaded.ok() ? 0 : exit_status(Errc::kConfigInvalid);
}

Result<int> schema_command(const CommandLine& line, Console& console) {
  CDC_TRY(console.print(line.has("markdown") ? config::configuration_markdown()
                                             : config::json_schema()));
  return 0;
}

Result<int> completion_command(const CommandLine& line, Console& console) {
  const std::string script = line.argument == "bash"  ? bash_completion()
                             : line.argument == "zsh" ? zsh_completion()
                                                      : fish_completion();
  CDC_TRY(console.print(script));
  return 0;
}

Result<int> version_command(const CommandLine& line, Console& console) {
  CDC_TRY(console.print(
      line.json ? cdc::format("{{\"version\":{},\"commit\":{},\"compiler\":{}}}\n",
                              json_text(kVersion),
                              json_text(kCommit),
                              json_text(kCompiler))
                : cdc::format("kaptanto {} (commit {}, {})\n", kVersion, kCommit, kCompiler)));
  return 0;
}

}  // namespace cdc::app
