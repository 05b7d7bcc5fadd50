#include "config/internal/table_section.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "base/format.h"
#include "config/option.h"
#include "config/suggestion.h"
#include "expr/condition.h"
#include "expr/table_pattern.h"

namespace cdc::config {
namespace {

constexpr std::size_t kColumnsMax = 1600;  // PostgreSQL's limit for a table
constexpr std::array<std::string_view, 4> kRuleKeys{"columns", "where", "operations", "snapshot"};
// What can happen to a row; messages and control events belong to no table.
constexpr std::array<std::string_view, 5> kOperations{
    "insert", "update", "delete", "truncate", "read"};

std::string table_key(std::string_view name) {
  return "tables." + std::string(name);
}

std::vector<std::string> read_columns(const YamlNode& node,
                                      const std::string& key,
                                      const FileView& file) {
  std::vector<std::string> columns = file.expand_list(node, key);
  if (columns.size() > kColumnsMax) {
    file.add_fault(
        node,
        key,
        make_error(Errc::kConfigInvalid, cdc::format("more than {} columns", kColumnsMax)));
  }
  std::set<std::string_view> seen;
  for (const std::string& column : columns) {
    if (!seen.insert(column).second) {
      file.add_fault(node,
                     key,
                     make_error(Errc::kConfigInvalid,
                                cdc::format("the column \"{}\" is listed twice", column)));
    }
  }
  return columns;
}

std::string read_where(const YamlNode& node, const std::string& key, const FileView& file) {
  if (node.is_null()) {
    return {};
  }
  std::optional<std::string> where = file.expand(node, key);
  if (!where) {
    return {};
  }
  if (const auto condition = expr::Condition::parse(*where); !condition) {
    file.add_fault(node, key, condition.error());
  }
  return std::move(*where);
}

std::vector<model::Operation> read_operations(const YamlNode& node,
                                              const std::string& key,
                                              const FileView& file) {
  std::vector<model::Operation> operations;
  for (const std::string& word : file.expand_list(node, key)) {
    const auto operation = model::parse_operation(word);
    if (!operation || std::ranges::find(kOperations, word) == kOperations.end()) {
      const std::string meant = did_you_mean(word, kOperations);
      file.add_fault(node,
                     key,
                     make_error(Errc::kConfigInvalid,
                                cdc::format("\"{}\" is not an operation of a table", word),
                                (meant.empty() ? "" : meant + " ") +
                                    "insert, update, delete, truncate and read are"));
    } else if (std::ranges::find(operations, *operation) == operations.end()) {
      operations.push_back(*operation);
    }
  }
  return operations;
}

std::optional<SnapshotMode> read_snapshot(const YamlNode& node,
                                          const std::string& key,
                                          const FileView& file) {
  if (node.is_empty()) {
    return std::nullopt;
  }
  const std::optional<std::string> word = file.expand(node, key);
  if (!word || word->empty()) {
    return std::nullopt;
  }
  const auto mode = parse_snapshot_mode(*word);
  if (!mode) {
    constexpr std::array<std::string_view, 4> kModes{name_of(SnapshotMode::kInitial),
                                                     name_of(SnapshotMode::kNever),
                                                     name_of(SnapshotMode::kAlways),
                                                     name_of(SnapshotMode::kInitialOnly)};
    const std::string meant = did_you_mean(*word, kModes);
    file.add_fault(node,
                   key,
                   make_error(Errc::kConfigInvalid,
                              cdc::format("\"{}\" is not a snapshot mode", *word),
                              (meant.empty() ? "" : meant + " ") +
                                  "initial, never, always and initial_only are"));
  }
  return mode;
}

TableRule read_rule(const YamlNode::Entry& table, const FileView& file) {
  TableRule rule{.name = table.key, .columns = {}, .where = {}, .operations = {}};
  const std::string key = table_key(table.key);
  if (table.value.is_null()) {
    return rule;
  }
  if (table.value.kind != YamlNode::Kind::kMap) {
    file.add_fault(
        table.value,
        key,
        make_error(Errc::kConfigInvalid,
                   "must be empty, or a map of columns, where, operations and snapshot"));
    return rule;
  }
  for (const YamlNode::Entry& entry : table.value.entries) {
    const std::string entry_key = key + "." + entry.key;
    if (entry.key == "columns") {
      rule.columns = read_columns(entry.value, entry_key, file);
    } else if (entry.key == "where") {
      rule.where = read_where(entry.value, entry_key, file);
    } else if (entry.key == "operations") {
      rule.operations = read_operations(entry.value, entry_key, file);
    } else if (entry.key == "snapshot") {
      rule.snapshot = read_snapshot(entry.value, entry_key, file);
    } else {
      file.faults.push_back({.place = place_of(file.name, entry.line, entry.column),
                             .key = entry_key,
                             .message = "unknown key",
                             .hint = did_you_mean(entry.key, kRuleKeys)});
    }
  }
  return rule;
}

// Checks the name and that no earlier entry means the same; the place is that of the name.
void check_name(std::string_view name,
                std::string_view place,
                std::set<std::string, std::less<>>& seen,
                std::vector<Fault>& faults) {
  auto identity = table_identity(name);
  Fault fault{.place = std::string(place), .key = table_key(name), .message = {}, .hint = {}};
  if (!identity) {
    fault.message = identity.error().message;
    fault.hint = identity.error().hint;
    faults.push_back(std::move(fault));
  } else if (!seen.insert(std::move(*identity)).second) {
    fault.message = "this table is named twice";
    fault.hint = "keep one of them";
    faults.push_back(std::move(fault));
  }
}

}  // namespace

void FileView::add_fault(const YamlNode& node, std::string_view key, Error error) const {
  faults.push_back({.place = place_of(name, node.line, node.column),
                    .key = std::string(key),
                    .message = std::move(error.message),
                    .hint = std::move(error.hint),
                    .code = error.code});
}

std::optional<std::string> FileView::expand(const YamlNode& node, std::string_view key) const {
  if (node.kind != YamlNode::Kind::kScalar) {
    add_fault(node, key, make_error(Errc::kConfigInvalid, "must be a single value"));
    return std::nullopt;
  }
  auto expanded = expand_variables(node.text, environment);
  if (!expanded) {
    add_fault(node, key, std::move(expanded.error()));
    return std::nullopt;
  }
  return std::move(*expanded);
}

std::vector<std::string> FileView::expand_list(const YamlNode& node, std::string_view key) const {
  std::vector<std::string> texts;
  if (node.is_null()) {
    return texts;
  }
  if (node.kind != YamlNode::Kind::kSequence) {
    add_fault(node, key, make_error(Errc::kConfigInvalid, "must be a list", "write [a, b]"));
    return texts;
  }
  for (const YamlNode& item : node.items) {
    auto text = expand(item, key);
    if (text && text->empty()) {
      add_fault(item, key, make_error(Errc::kConfigInvalid, "an item of the list is empty"));
    } else if (text) {
      texts.push_back(std::move(*text));
    }
  }
  return texts;
}

Result<std::string> table_identity(std::string_view name) {
  CDC_ASSIGN(const expr::TablePattern pattern, expr::TablePattern::parse(name));
  // Quoting keeps `a.b` in one part and in two apart; a wildcard is a NUL byte in both.
  return (pattern.has_schema() ? expr::quote_identifier(pattern.schema()) + "." : std::string()) +
         expr::quote_identifier(pattern.table());
}

std::vector<TableRule> read_tables(const YamlNode& node, const FileView& file) {
  std::vector<TableRule> rules;
  std::set<std::string, std::less<>> seen;
  const auto add_name = [&](std::string name, const YamlNode& at) {
    check_name(name, place_of(file.name, at.line, at.column), seen, file.faults);
    rules.push_back({.name = std::move(name), .columns = {}, .where = {}, .operations = {}});
  };
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      break;
    case YamlNode::Kind::kMap:
      for (const YamlNode::Entry& table : node.entries) {
        check_name(table.key, place_of(file.name, table.line, table.column), seen, file.faults);
        rules.push_back(read_rule(table, file));
      }
      break;
    case YamlNode::Kind::kSequence:
      for (const YamlNode& item : node.items) {
        if (auto name = file.expand(item, "tables")) {
          add_name(std::move(*name), item);
        }
      }
      break;
    case YamlNode::Kind::kScalar:
      // One name is a list too; a bare text is more likely a map that lost its colon.
      if (!node.text.contains("${")) {
        file.add_fault(
            node,
            "tables",
            make_error(Errc::kConfigInvalid, "must be a map or a list of names", "write [a, b]"));
      } else if (const auto names = file.expand(node, "tables")) {
        for (std::string& name : split_list(*names)) {
          add_name(std::move(name), node);
        }
      }
      break;
  }
  return rules;
}

std::vector<TableRule> select_tables(const std::vector<std::string>& names,
                                     const std::vector<TableRule>& rules,
                                     std::string_view place,
                                     std::vector<Fault>& faults) {
  std::vector<TableRule> selected;
  std::set<std::string, std::less<>> seen;
  for (const std::string& name : names) {
    check_name(name, place, seen, faults);
    const auto identity = table_identity(name);
    const auto rule = std::ranges::find_if(rules, [&](const TableRule& known) {
      const auto known_identity = table_identity(known.name);
      return identity && known_identity && *identity == *known_identity;
    });
    selected.push_back(rule != rules.end()
                           ? *rule
                           : TableRule{.name = name, .columns = {}, .where = {}, .operations = {}});
  }
  return selected;
}

}  // namespace cdc::config
