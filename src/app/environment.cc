#include "app/environment.h"

#include <cstring>
#include <string_view>

#include <unistd.h>

#include "app/command_table.h"

namespace cdc::app {
namespace {

void blank_out(char* text) {
  std::memset(text, 'x', std::strlen(text));
}

}  // namespace

config::Environment read_environment() {
  config::Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) {
      environment.try_emplace(std::string(text.substr(0, equals)), text.substr(equals + 1));
    }
  }
  return environment;
}

void hide_secret_arguments(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    for (const Flag& flag : global_flags()) {
      const std::string name = "--" + flag.name;
      if (!flag.is_secret) {
        continue;
      }
      if (word == name && i + 1 < count) {
        blank_out(arguments[i + 1]);
      } else if (word.starts_with(name + "=")) {
        blank_out(arguments[i] + name.size() + 1);
      }
    }
  }
}

}  // namespace cdc::app
