#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option.h"
#include "config/reference.h"
#include "json/escape.h"

namespace cdc::config {
namespace {

// A JSON value as text, ready to be put into another.
using Members = std::vector<std::pair<std::string, std::string>>;

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c;
    if (c == '\n') {
      result += "  ";
    }
  }
  return result;
}

std::string object(const Members& members) {
  std::string text = "{";
  for (const auto& [name, value] : members) {
    text += text.size() == 1 ? "\n  " : ",\n  ";
    text += json::quote(name) + ": " + indented(value);
  }
  return text + (members.empty() ? "}" : "\n}");
}

std::string array(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    text += text.size() == 1 ? "" : ", ";
    text += item;
  }
  return text + "]";
}

std::string string_array(std::span<const std::string_view> items) {
  std::vector<std::string> quoted;
  for (const std::string_view item : items) {
    quoted.push_back(json::quote(item));
  }
  return array(quoted);
}

// Any text with a ${VAR} in it: what it expands to is checked at start.
std::string reference_schema() {
  return object({{"type", "\"string\""}, {"pattern", json::quote("\\$\\{")}});
}

std::string or_reference(const Members& schema) {
  return array({object(schema), reference_schema()});
}

std::string string_list_schema() {
  return object({{"type", "\"array\""}, {"items", object({{"type", "\"string\""}})}});
}

Members integer_schema(const OptionSpec& option) {
  Members members{{"type", "\"integer\""}, {"minimum", std::to_string(option.minimum)}};
  if (option.maximum != 0) {
    members.emplace_back("maximum", std::to_string(option.maximum));
  }
  return members;
}

std::string rule_schema() {
  constexpr std::string_view kOperations[] = {"insert", "update", "delete", "truncate", "read"};
  constexpr std::string_view kModes[] = {name_of(SnapshotMode::kInitial),
                                         name_of(SnapshotMode::kNever),
                                         name_of(SnapshotMode::kAlways),
                                         name_of(SnapshotMode::kInitialOnly)};
  return object(
      {{"type", R"(["object", "null"])"},
       {"additionalProperties", "false"},
       {"properties",
        object({{"columns",
                 object({{"description", json::quote("Columns to keep; all when empty.")},
                         {"type", R"(["array", "null"])"},
                         {"items", object({{"type", "\"string\""}})}})},
                {"where",
                 object({{"description",
                          json::quote("Condition a row must meet: docs/operating/where.md.")},
                         {"type", R"(["string", "null"])"}})},
                {"operations",
                 object({{"description", json::quote("Operations to keep; all when empty.")},
                         {"type", R"(["array", "null"])"},
                         {"items", object({{"enum", string_array(kOperations)}})}})},
                {"snapshot",
                 object({{"description", json::quote("Instead of snapshot.mode.")},
                         {"anyOf",
                          array({object({{"enum", string_array(kModes)}}),
                                 object({{"type", "\"null\""}}),
                                 reference_schema()})}})}})}});
}

std::string tables_alternatives() {
  return array({object({{"type", "\"null\""}}),
                reference_schema(),
                string_list_schema(),
                object({{"type", "\"object\""}, {"additionalProperties", rule_schema()}})});
}

std::string duration_alternatives(const OptionSpec& option) {
  std::vector<std::string> alternatives{
      object({{"type", "\"string\""},
              {"pattern", json::quote("^(0|([0-9]+(\\.[0-9]+)?(d|h|m|s|ms))+)?$|\\$\\{")}})};
  if (option.minimum == 0) {
    alternatives.push_back(object({{"const", "0"}}));
  }
  return array(alternatives);
}

std::string default_value(const OptionSpec& option) {
  const bool is_bare = option.kind == OptionKind::kBoolean || option.kind == OptionKind::kInteger;
  return is_bare ? std::string(option.default_text) : json::quote(option.default_text);
}

void add_shape(const OptionSpec& option, Members& members) {
  switch (option.kind) {
    case OptionKind::kText:
    case OptionKind::kPath:
      members.emplace_back("type", "\"string\"");
      break;
    case OptionKind::kBoolean:
      members.emplace_back("anyOf", or_reference({{"type", "\"boolean\""}}));
      break;
    case OptionKind::kInteger:
      members.emplace_back("anyOf", or_reference(integer_schema(option)));
      break;
    case OptionKind::kDuration:
      members.emplace_back("anyOf", duration_alternatives(option));
      break;
    case OptionKind::kSize:
      members.emplace_back(
          "anyOf",
          array({object({{"type", "\"integer\""}, {"minimum", std::to_string(option.minimum)}}),
                 object({{"type", "\"string\""},
                         {"pattern",
                          json::quote("^([0-9]+(\\.[0-9]+)? ?([kKmMgGtT]?i?[bB])?)?$|\\$\\{")}})}));
      break;
    case OptionKind::kChoice:
      members.emplace_back("anyOf", or_reference({{"enum", string_array(option.choices)}}));
      break;
    case OptionKind::kList:
      members.emplace_back("anyOf",
                           array({string_list_schema(), object({{"type", "\"string\""}})}));
      break;
    case OptionKind::kTables:
      members.emplace_back("anyOf", tables_alternatives());
      break;
    case OptionKind::kBlock:
      break;
  }
}

std::string option_schema(const OptionSpec& option) {
  Members members;
  const bool is_later = option.support != Support::kFull;
  members.emplace_back(
      "description",
      json::quote(std::string(option.doc) + (is_later ? " Not in this version." : "")));
  if (is_later) {
    members.emplace_back("deprecated", "true");
  }
  if (!option.default_text.empty()) {
    members.emplace_back("default", default_value(option));
  }
  add_shape(option, members);
  return object(members);
}

std::string section_schema(std::string_view section) {
  Members properties;
  for (const OptionSpec& option : options()) {
    if (option.path.starts_with(section) && option.path.substr(section.size()).starts_with('.')) {
      properties.emplace_back(option.path.substr(section.size() + 1), option_schema(option));
    }
  }
  return object({{"type", R"(["object", "null"])"},
                 {"additionalProperties", "false"},
                 {"properties", object(properties)}});
}

}  // namespace

std::string json_schema() {
  Members properties;
  std::string_view last_section;
  for (const OptionSpec& option : options()) {
    const std::size_t dot = option.path.find('.');
    if (dot == std::string_view::npos) {
      properties.emplace_back(option.path, option_schema(option));
    } else if (option.path.substr(0, dot) != last_section) {
      last_section = option.path.substr(0, dot);
      properties.emplace_back(last_section, section_schema(last_section));
    }
  }
  return object({{"$schema", json::quote("https://json-schema.org/draft/2020-12/schema")},
                 {"title", json::quote("kaptanto configuration")},
                 {"type", R"(["object", "null"])"},
                 {"additionalProperties", "false"},
                 {"properties", object(properties)}}) +
         "\n";
}

}  // namespace cdc::config
