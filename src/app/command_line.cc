#include "app/command_line.h"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

#include "app/command_table.h"
#include "base/format.h"
#include "config/suggestion.h"

namespace cdc::app {
namespace {

const Flag* find_flag(const std::vector<Flag>& flags, std::string_view name) {
  const auto found =
      std::ranges::find_if(flags, [&](const Flag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

// Whether any command knows this flag.
bool is_known_flag(std::string_view name) {
  return find_flag(global_flags(), name) != nullptr ||
         std::ranges::any_of(commands(), [&](const Command& command) {
           return find_flag(command.flags, name) != nullptr;
         });
}

// `--source=` alone would make the parser take the next word as the value.
std::vector<std::string> with_empty_values_apart(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& word : arguments) {
    const bool is_empty = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (is_empty && is_known_flag(std::string_view(word).substr(2, word.size() - 3))) {
      words.push_back(word.substr(0, word.size() - 1));
      words.emplace_back();
    } else {
      words.push_back(word);
    }
  }
  return words;
}

// A word as it may be shown: what could be a connection string or a password is not.
bool may_hold_secret(std::string_view word) {
  return word.contains("://") || word.contains('=') || word.contains('@');
}

Error unexpected_flag(std::string_view word, const std::string& command) {
  if (!word.starts_with("--")) {
    return make_error(Errc::kInvalidArgument,
                      cdc::format("unknown flag {}", word.substr(0, 2)),
                      "see `kaptanto --help`");
  }
  const std::string_view name = word.substr(2, word.find('=') - 2);
  std::vector<std::string_view> names;
  for (const Flag& flag : global_flags()) {
    names.emplace_back(flag.name);
  }
  for (const Command& known : commands()) {
    for (const Flag& flag : known.flags) {
      if (flag.name == name) {
        return make_error(Errc::kInvalidArgument,
                          cdc::format("--{} is no flag of `kaptanto {}`", name, command),
                          cdc::format("it belongs to `kaptanto {}`", known.path));
      }
    }
  }
  const auto meant = config::nearest(name, names);
  return make_error(Errc::kInvalidArgument,
                    cdc::format("unknown flag --{}", name),
                    meant ? cdc::format("did you mean --{}?", *meant) : "see `kaptanto --help`");
}

Error unexpected_word(const std::string& word, const std::string& command, bool command_given) {
  if (word.starts_with('-') && word.size() > 1) {
    return unexpected_flag(word, command);
  }
  if (may_hold_secret(word)) {
    return make_error(Errc::kInvalidArgument,
                      "an argument stands alone that looks like a connection string",
                      "write --source before it");
  }
  if (command_given) {
    return make_error(Errc::kInvalidArgument,
                      cdc::format("`kaptanto {}` takes no argument \"{}\"", command, word),
                      cdc::format("see `kaptanto {} --help`", command));
  }
  std::vector<std::string_view> names;
  for (const Command& known : commands()) {
    names.push_back(known.path);
  }
  std::string meant = config::did_you_mean(word, names);
  return make_error(Errc::kInvalidArgument,
                    cdc::format("unknown command \"{}\"", word),
                    meant.empty() ? "see `kaptanto --help`" : std::move(meant));
}

// The parser's own complaint. Only one about a value that is missing can arise.
Error parse_error(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (error.get_name() == "ArgumentMismatch" && text.starts_with("--")) {
    return make_error(Errc::kInvalidArgument,
                      cdc::format("{} needs a value", text.substr(0, text.find(':'))));
  }
  return make_error(Errc::kInvalidArgument, "the command line cannot be read: " + error.get_name());
}

class Parser {
 public:
  Parser() {
    prepare(root_);
    root_.require_subcommand(0, 1);
    add_flags(root_, global_flags());
    for (const Command& command : commands()) {
      add_command(command);
    }
  }

  Result<CommandLine> parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> reversed = with_empty_values_apart(arguments);
    std::ranges::reverse(reversed);
    try {
      root_.parse(reversed);
    } catch (const CLI::ParseError& error) {
      return fail(parse_error(error));
    }
    CommandLine line;
    const CLI::App* innermost = find_command_given(line);
    line.command_given = innermost != &root_;
    if (!line.command_given) {
      line.command = "run";
    }
    const std::vector<std::string> rest = root_.remaining(true);
    if (!rest.empty()) {
      return fail(unexpected_word(rest.front(), line.command, line.command_given));
    }
    take_global_flags(line);
    CDC_TRY(take_own(line, *innermost));
    return line;
  }

 private:
  static void prepare(CLI::App& app) {
    app.set_help_flag();  // ours is an ordinary flag, so that it works on both sides of a command
    app.allow_extras();   // looked at afterwards, to suggest what was meant
    app.fallthrough();
  }

  static void add_flags(CLI::App& app, const std::vector<Flag>& flags) {
    for (const Flag& flag : flags) {
      std::string names = "--" + flag.name;
      if (flag.letter != '\0') {
        names += std::string(",-") + flag.letter;
      }
      if (flag.value == ValueKind::kNone) {
        app.add_flag(names);
      } else {
        app.add_option(names)
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->allow_extra_args(false);
      }
    }
  }

  void add_command(const Command& command) {
    const std::size_t space = command.path.rfind(' ');
    CLI::App* parent = space == std::string_view::npos
                           ? &root_
                           : root_.get_subcommand(std::string(command.path.substr(0, space)));
    CLI::App* app = parent->add_subcommand(std::string(command.path.substr(space + 1)));
    prepare(*app);
    app->require_subcommand(0, 1);
    add_flags(*app, command.flags);
    if (!command.argument.name.empty()) {
      app->add_option(std::string(command.argument.name))->expected(1);
    }
  }

  // Follows the commands that were given inwards and notes their path.
  const CLI::App* find_command_given(CommandLine& line) const {
    const CLI::App* app = &root_;
    while (!app->get_subcommands().empty()) {
      app = app->get_subcommands().front();
      line.command += line.command.empty() ? "" : " ";
      line.command += app->get_name();
    }
    return app;
  }

  void take_global_flags(CommandLine& line) const {
    for (const Flag& flag : global_flags()) {
      const CLI::Option* option = root_.get_option("--" + flag.name);
      if (option->count() == 0) {
        continue;
      }
      const std::vector<std::string>& values = option->results();
      if (flag.name == "config") {
        line.config = values.back();
      } else if (flag.name == "json") {
        line.json = true;
      } else if (flag.name == "help") {
        line.help = true;
      } else if (flag.name == "version") {
        line.version = true;
      } else {
        line.configuration_flags[flag.name] = values;
      }
    }
  }

  static Status take_own(CommandLine& line, const CLI::App& app) {
    const Command* command = find_command(line.command);
    for (const Flag& flag : command->flags) {
      const CLI::Option* option = app.get_option("--" + flag.name);
      if (option->count() == 0) {
        continue;
      }
      line.own_flags.push_back(flag.name);
      if (flag.value != ValueKind::kNone) {
        line.own_values[flag.name] = option->results().back();
      }
    }
    const Argument& argument = command->argument;
    if (argument.name.empty()) {
      return {};
    }
    const CLI::Option* option = app.get_option(std::string(argument.name));
    if (option->count() > 0) {
      line.argument = option->results().front();
    }
    return {};
  }

  CLI::App root_{"", "kaptanto"};
};

// Faults that --help forgives: what is missing, and a choice that does not exist.
Status check_argument(const CommandLine& line) {
  const Command& command = *find_command(line.command);
  const Argument& argument = command.argument;
  if (is_group(command)) {
    std::string members;
    for (const Command& other : commands()) {
      if (other.path.starts_with(std::string(command.path) + " ")) {
        members += cdc::format("{}`kaptanto {}`", members.empty() ? "" : ", ", other.path);
      }
    }
    return fail(Errc::kInvalidArgument,
                cdc::format("`kaptanto {}` needs a command", command.path),
                "there is " + members);
  }
  if (argument.name.empty() || (line.argument.empty() && argument.is_optional)) {
    return {};
  }
  std::string choices;
  for (const std::string& choice : argument.choices) {
    choices += cdc::format("{}{}", choices.empty() ? "" : ", ", choice);
  }
  if (line.argument.empty()) {
    return fail(Errc::kInvalidArgument,
                cdc::format("`kaptanto {}` needs {}", command.path, argument.name),
                choices.empty() ? "" : "one of: " + choices);
  }
  if (!choices.empty() &&
      std::ranges::find(argument.choices, line.argument) == argument.choices.end()) {
    return fail(Errc::kInvalidArgument,
                cdc::format("`kaptanto {}` does not know \"{}\"", command.path, line.argument),
                "one of: " + choices);
  }
  return {};
}

}  // namespace

bool CommandLine::has(std::string_view own_flag) const {
  return std::ranges::find(own_flags, own_flag) != own_flags.end();
}

std::string CommandLine::value_of(std::string_view own_flag) const {
  const auto found = own_values.find(std::string(own_flag));
  return found == own_values.end() ? std::string() : found->second;
}

Result<CommandLine> parse_command_line(const std::vector<std::string>& arguments) {
  CDC_ASSIGN(CommandLine line, Parser().parse(arguments));
  if (!line.help && !line.version) {
    CDC_TRY(check_argument(line));
  }
  return line;
}

}  // namespace cdc::app
