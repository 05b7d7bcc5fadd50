#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/expansion.h"
#include "config/fault.h"
#include "config/internal/yaml_tree.h"

namespace cdc::config {

// What a reader of a part of the file needs. Lifetime: for one call.
struct FileView {
  std::string_view name;
  const Environment& environment;
  std::vector<Fault>& faults;

  void add_fault(const YamlNode& node, std::string_view key, Error error) const;
  // The expanded text of a scalar; on a fault, reports it and gives nothing.
  [[nodiscard]] std::optional<std::string> expand(const YamlNode& node, std::string_view key) const;
  // A list of texts, each expanded; reports faults item by item.
  [[nodiscard]] std::vector<std::string> expand_list(const YamlNode& node,
                                                     std::string_view key) const;
};

// Reads the `tables` key: a map, a list of names, or a ${VAR} of names separated by commas.
[[nodiscard]] std::vector<TableRule> read_tables(const YamlNode& node, const FileView& file);

// The name itself as a key: two spellings of one table have the same.
[[nodiscard]] Result<std::string> table_identity(std::string_view name);

// The rules for `names`: those of `rules` with the same identity, plain ones for the others.
// Reports malformed and repeated names at `place`.
[[nodiscard]] std::vector<TableRule> select_tables(const std::vector<std::string>& names,
                                                   const std::vector<TableRule>& rules,
                                                   std::string_view place,
                                                   std::vector<Fault>& faults);

}  // namespace cdc::config
