#include "app/help.h"

#include <algorithm>
#include <string_view>

#include "app/version.h"
#include "base/format.h"

namespace cdc::app {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kFlagIndent = 32;
constexpr std::size_t kCommandIndent = 20;

// Appends `text`, broken at blanks so that no line passes kWidth; lines after the first are
// indented.
void append_wrapped(std::string& out,
                    std::string_view text,
                    std::size_t column,
                    std::size_t indent) {
  bool first = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!first && column + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    first = false;
    out += word;
    column += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  out += '\n';
}

// A left column that is followed by text at `indent`, on the next line when it is too long.
void append_entry(std::string& out,
                  const std::string& left,
                  std::string_view text,
                  std::size_t indent) {
  out += left;
  std::size_t column = left.size();
  if (column + 2 > indent) {
    out += '\n';
    column = 0;
  }
  out.append(indent - column, ' ');
  append_wrapped(out, text, indent, indent);
}

void append_flag(std::string& out, const Flag& flag) {
  std::string left = flag.letter == '\0' ? "      " : cdc::format("  -{}, ", flag.letter);
  left += "--" + flag.name;
  if (!flag.value_name.empty()) {
    left += " " + flag.value_name;
  }
  std::string text = flag.summary;
  if (!flag.default_text.empty()) {
    text += cdc::format(" Default: {}.", flag.default_text);
  }
  if (!flag.environment.empty()) {
    text += cdc::format(" [{}]", flag.environment);
  }
  append_entry(out, left, text, kFlagIndent);
}

void append_flags(std::string& out, std::string_view title, bool later) {
  out += cdc::format("\n{}:\n", title);
  for (const Flag& flag : global_flags()) {
    if (flag.is_later == later) {
      append_flag(out, flag);
    }
  }
}

void append_commands(std::string& out, std::string_view prefix) {
  out += "\nCommands:\n";
  for (const Command& command : commands()) {
    if (command.path.starts_with(prefix) && command.path != prefix && !is_group(command)) {
      append_entry(out, cdc::format("  {}", command.path), command.summary, kCommandIndent);
    }
  }
}

}  // namespace

std::string program_help() {
  std::string out = cdc::format("kaptanto {}\n\n", kVersion);
  append_wrapped(out,
                 "Captures every change of a PostgreSQL database the moment it commits, makes it "
                 "durable, and delivers it in order.",
                 0,
                 0);
  out +=
      "\nUsage:\n"
      "  kaptanto [flags]             run the pipeline\n"
      "  kaptanto <command> [flags]   flags may stand before and after the command\n"
      "\nExample:\n"
      "  kaptanto --source postgres://user@localhost/shop --tables public.orders\n";
  append_commands(out, "");
  append_flags(out, "Flags", false);
  append_flags(out, "Not in this version (accepted only where they ask for nothing)", true);
  out +=
      "\nEnvironment variables in brackets stand for flags that are not given. The configuration "
      "file\n"
      "has the same options: docs/operating/configuration.md, and `kaptanto schema`.\n";
  return out;
}

std::string command_help(const Command& command) {
  std::string out;
  append_wrapped(out, command.description, 0, 0);
  std::string usage = cdc::format("  kaptanto {}", command.path);
  if (is_group(command)) {
    usage += " <command>";
  }
  if (!command.argument.name.empty()) {
    const std::string name(command.argument.name);
    usage += command.argument.is_optional ? " [" + name + "]" : " " + name;
  }
  out += "\nUsage:\n" + usage + " [flags]\n";
  if (is_group(command)) {
    append_commands(out, command.path);
  }
  if (!command.argument.choices.empty()) {
    std::string choices;
    for (const std::string& choice : command.argument.choices) {
      choices += (choices.empty() ? "" : ", ") + choice;
    }
    out += '\n';
    append_wrapped(out, cdc::format("{} is one of: {}", command.argument.name, choices), 0, 0);
  }
  if (!command.flags.empty()) {
    out += "\nFlags of this command:\n";
    for (const Flag& flag : command.flags) {
      append_flag(out, flag);
    }
  }
  if (command.uses_configuration) {
    append_flags(out, "Flags", false);
  } else {
    out += "\nFlags of every command: see `kaptanto --help`.\n";
  }
  return out;
}

}  // namespace cdc::app
