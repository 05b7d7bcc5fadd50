#include "app/completion.h"

#include <string_view>

#include "app/command_table.h"
#include "base/format.h"

namespace cdc::app {
namespace {

// The first sentence of a flag's summary: completion menus have one line.
std::string_view first_sentence(std::string_view summary) {
  const std::size_t end = summary.find(". ");
  summary = summary.substr(0, end);
  return summary.ends_with('.') ? summary.substr(0, summary.size() - 1) : summary;
}

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : separator;
    text += word;
  }
  return text;
}

// Flags of every command, and those of single ones.
std::vector<Flag> all_flags() {
  std::vector<Flag> flags = global_flags();
  for (const Command& command : commands()) {
    flags.insert(flags.end(), command.flags.begin(), command.flags.end());
  }
  return flags;
}

// Flags of this version that take a value, as patterns or words of the shell.
std::vector<std::string> flags_with(ValueKind kind) {
  std::vector<std::string> names;
  for (const Flag& flag : all_flags()) {
    if (flag.value == kind && !flag.is_later) {
      names.push_back("--" + flag.name);
    }
  }
  return names;
}

std::vector<std::string> value_flags() {
  std::vector<std::string> names;
  for (const Flag& flag : all_flags()) {
    if (flag.value != ValueKind::kNone) {
      names.push_back("--" + flag.name);
    }
  }
  return names;
}

std::vector<std::string> usable_flags() {
  std::vector<std::string> names;
  for (const Flag& flag : global_flags()) {
    if (!flag.is_later) {
      names.push_back("--" + flag.name);
    }
  }
  return names;
}

// Last words of the commands directly below `path`.
std::vector<const Command*> members_of(std::string_view path) {
  std::vector<const Command*> members;
  for (const Command& command : commands()) {
    const std::size_t space = command.path.rfind(' ');
    const std::string_view parent =
        space == std::string_view::npos ? "" : command.path.substr(0, space);
    if (parent == path) {
      members.push_back(&command);
    }
  }
  return members;
}

std::string_view last_word(std::string_view path) {
  return path.substr(path.rfind(' ') + 1);
}

std::vector<std::string> member_names(std::string_view path) {
  std::vector<std::string> names;
  for (const Command* member : members_of(path)) {
    names.emplace_back(last_word(member->path));
  }
  return names;
}

std::string replaced(std::string_view text, std::string_view special, std::string_view escape) {
  std::string result;
  for (const char c : text) {
    if (special.contains(c)) {
      result += escape;
    }
    result += c;
  }
  return result;
}

// -- bash -----------------------------------------------------------------------------------------

// Sets `command` to the words before the cursor that are neither flags nor their values.
std::string bash_command_so_far() {
  return "  local command= index=1 words=\n"
         "  while ((index < COMP_CWORD)); do\n"
         "    case ${COMP_WORDS[index]} in\n"
         "      " +
         joined(value_flags(), "|") +
         ")\n"
         "        [[ ${COMP_WORDS[index+1]} == = ]] && ((index++))\n"
         "        ((index++)) ;;\n"
         "      -*|=) ;;\n"
         "      *) command+=${command:+ }${COMP_WORDS[index]} ;;\n"
         "    esac\n"
         "    ((index++))\n"
         "  done\n";
}

// Files or directories as the only answer of a case branch.
std::string bash_paths(std::string_view pattern, char kind) {
  return cdc::format(
      "    {}) compopt -o filenames 2>/dev/null\n"
      "      mapfile -t COMPREPLY < <(compgen -{} -- \"$current\"); return ;;\n",
      pattern,
      kind);
}

// Completes the value of the flag before the cursor.
std::string bash_values() {
  std::string text = "  case $previous in\n";
  for (const Flag& flag : global_flags()) {
    if (flag.value == ValueKind::kChoice && !flag.is_later) {
      text += cdc::format(
          "    --{}) mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\"); return ;;\n",
          flag.name,
          joined(flag.choices, " "));
    }
  }
  return text + bash_paths(joined(flags_with(ValueKind::kFile), "|"), 'f') +
         bash_paths(joined(flags_with(ValueKind::kDirectory), "|"), 'd') +
         cdc::format("    {}) COMPREPLY=(); return ;;\n  esac\n",
                     joined(flags_with(ValueKind::kText), "|"));
}

// Sets `words` to the flags, commands or arguments that may come next.
std::string bash_words() {
  std::string flags;
  std::string arguments;
  for (const Command& command : commands()) {
    for (const Flag& flag : command.flags) {
      flags += cdc::format("      '{}'*) words+=' --{}' ;;\n", command.path, flag.name);
    }
    if (is_group(command)) {
      arguments += cdc::format(
          "    '{}') words='{}' ;;\n", command.path, joined(member_names(command.path), " "));
    } else if (command.argument.value == ValueKind::kDirectory) {
      arguments += bash_paths(cdc::format("'{}'", command.path), 'd');
    } else if (!command.argument.choices.empty()) {
      arguments += cdc::format(
          "    '{}') words='{}' ;;\n", command.path, joined(command.argument.choices, " "));
    }
  }
  return "  if [[ $current == -* ]]; then\n"
         "    words='" +
         joined(usable_flags(), " ") +
         "'\n"
         "    case $command in\n" +
         flags +
         "    esac\n"
         "  else\n"
         "    case $command in\n"
         "    '') words='" +
         joined(member_names(""), " ") + "' ;;\n" + arguments +
         "    esac\n"
         "  fi\n";
}

// -- zsh ------------------------------------------------------------------------------------------

// The inside of single quotes.
std::string zsh_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

std::string zsh_action(ValueKind kind, const std::vector<std::string>& choices) {
  switch (kind) {
    case ValueKind::kChoice:
      return "(" + joined(choices, " ") + ")";
    case ValueKind::kFile:
      return "_files";
    case ValueKind::kDirectory:
      return "_files -/";
    case ValueKind::kText:
    case ValueKind::kNone:
      break;
  }
  return " ";
}

std::string zsh_flag(const Flag& flag) {
  const std::string summary = replaced(first_sentence(flag.summary), "[]:\\", "\\");
  if (flag.value == ValueKind::kNone) {
    return zsh_quoted(cdc::format("--{}[{}]", flag.name, summary));
  }
  return zsh_quoted(cdc::format("*--{}=[{}]:{}:{}",
                                flag.name,
                                summary,
                                replaced(flag.value_name, ":", "\\"),
                                zsh_action(flag.value, flag.choices)));
}

// The case branch that completes what follows a command; `indent` is that of the branch.
std::string zsh_branch(const Command& command) {
  std::string own;
  for (const Flag& flag : command.flags) {
    own += " " + zsh_flag(flag);
  }
  const Argument& argument = command.argument;
  if (!argument.name.empty()) {
    own += " " + zsh_quoted(cdc::format(
                     "1:{}:{}", argument.name, zsh_action(argument.value, argument.choices)));
  }
  if (!is_group(command)) {
    return cdc::format("    {}) _arguments $flags{} ;;\n", last_word(command.path), own);
  }
  std::string text = cdc::format(
      "    {})\n"
      "      _arguments -C $flags '1: :({})' '*:: :->rest'\n"
      "      [[ $state == rest ]] && case $words[1] in\n",
      command.path,
      joined(member_names(command.path), " "));
  for (const Command* member : members_of(command.path)) {
    text += "    " + zsh_branch(*member);
  }
  return text + "      esac ;;\n";
}

// -- fish -----------------------------------------------------------------------------------------

std::string fish_quoted(std::string_view text) {
  return "'" + replaced(text, "\\'", "\\") + "'";
}

std::string fish_value(ValueKind kind, const std::vector<std::string>& choices) {
  switch (kind) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kChoice:
      return " -x -a " + fish_quoted(joined(choices, " "));
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kDirectory:
      return " -x -a '(__fish_complete_directories)'";
    case ValueKind::kText:
      break;
  }
  return " -x";
}

std::string fish_flag(const Flag& flag, const std::string& condition) {
  std::string text = "complete -c kaptanto" + condition;
  if (flag.letter != '\0') {
    text += cdc::format(" -s {}", flag.letter);
  }
  return text + cdc::format(" -l {}{} -d {}\n",
                            flag.name,
                            fish_value(flag.value, flag.choices),
                            fish_quoted(first_sentence(flag.summary)));
}

std::string fish_command(const Command& command) {
  const std::size_t space = command.path.rfind(' ');
  const std::string_view parent =
      space == std::string_view::npos ? "" : command.path.substr(0, space);
  std::string text = cdc::format("complete -c kaptanto -n '__kaptanto_at \"{}\"' -a {} -d {}\n",
                                 parent,
                                 last_word(command.path),
                                 fish_quoted(command.summary));
  for (const Flag& flag : command.flags) {
    text += fish_flag(flag, cdc::format(" -n '__kaptanto_in \"{}\"'", command.path));
  }
  const std::string values = fish_value(command.argument.value, command.argument.choices);
  if (!values.empty()) {
    text += cdc::format("complete -c kaptanto -n '__kaptanto_at \"{}\"'{}\n", command.path, values);
  }
  return text;
}

}  // namespace

std::string bash_completion() {
  return "# Completion of kaptanto for bash. Load it with: source <(kaptanto completion bash)\n"
         "_kaptanto() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  # bash makes three words of --flag=value.\n"
         "  if [[ $current == = ]]; then\n"
         "    current=\n"
         "  elif [[ $previous == = ]]; then\n"
         "    previous=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  fi\n" +
         bash_command_so_far() + bash_values() + bash_words() +
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -F _kaptanto kaptanto\n";
}

std::string zsh_completion() {
  std::string text =
      "#compdef kaptanto\n"
      "# Completion of kaptanto for zsh. Load it with: source <(kaptanto completion zsh)\n"
      "_kaptanto() {\n"
      "  local context state state_descr line\n"
      "  local -a flags names\n"
      "  typeset -A opt_args\n"
      "  flags=(\n";
  for (const Flag& flag : global_flags()) {
    if (!flag.is_later) {
      text += "    " + zsh_flag(flag) + "\n";
    }
  }
  text +=
      "  )\n"
      "  names=(\n";
  for (const Command* command : members_of("")) {
    text += "    " + zsh_quoted(cdc::format("{}:{}", command->path, command->summary)) + "\n";
  }
  text +=
      "  )\n"
      "  _arguments -C $flags '1: :->command' '*:: :->rest'\n"
      "  case $state in\n"
      "  command) _describe -t commands command names ;;\n"
      "  rest)\n"
      "    case $words[1] in\n";
  for (const Command* command : members_of("")) {
    text += zsh_branch(*command);
  }
  text +=
      "    esac ;;\n"
      "  esac\n"
      "}\n"
      "if [[ $funcstack[1] == _kaptanto ]]; then\n"
      "  _kaptanto \"$@\"\n"
      "else\n"
      "  compdef _kaptanto kaptanto\n"
      "fi\n";
  return text;
}

std::string fish_completion() {
  std::string text =
      "# Completion of kaptanto for fish. Load it with: kaptanto completion fish | source\n"
      "function __kaptanto_words\n"
      "  set -l words\n"
      "  set -l skip 0\n"
      "  for token in (commandline -opc)[2..-1]\n"
      "    if test $skip = 1\n"
      "      set skip 0\n"
      "    else if contains -- $token " +
      joined(value_flags(), " ") +
      "\n"
      "      set skip 1\n"
      "    else if not string match -q -- '-*' $token\n"
      "      set -a words $token\n"
      "    end\n"
      "  end\n"
      "  echo \"$words\"\n"
      "end\n"
      "function __kaptanto_at\n"
      "  test (__kaptanto_words) = \"$argv\"\n"
      "end\n"
      "function __kaptanto_in\n"
      "  string match -q -- \"$argv*\" (__kaptanto_words)\n"
      "end\n"
      "complete -c kaptanto -f\n";
  for (const Command& command : commands()) {
    text += fish_command(command);
  }
  for (const Flag& flag : global_flags()) {
    if (!flag.is_later) {
      text += fish_flag(flag, "");
    }
  }
  return text;
}

}  // namespace cdc::app
