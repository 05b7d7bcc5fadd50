#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "expr/condition.h"
#include "expr/table_pattern.h"
#include "model/operation.h"

namespace cdc::postgres {

// What the configuration says of one table.
struct TableRule {
  bool captured = true;
  std::vector<std::string> columns;  // empty: all
  std::uint32_t operations = ~0U;    // bit 1 << Operation
  expr::Condition condition;
  std::optional<config::SnapshotMode> snapshot;  // unless the configuration's own applies

  [[nodiscard]] bool takes(model::Operation operation) const noexcept {
    return (operations & (1U << static_cast<unsigned>(operation))) != 0;
  }
};

// The configured tables, ready to match: an exact name wins over a glob, an earlier entry over a
// later one. With all-tables, a table without an entry is taken whole. Immutable.
class TableRules {
 public:
  // Errors: kConfigInvalid; validated configurations do not fail.
  [[nodiscard]] static Result<TableRules> create(const config::Config& config);

  [[nodiscard]] const TableRule& find(std::string_view schema, std::string_view table) const;

 private:
  struct Entry {
    expr::TablePattern pattern;
    TableRule rule;
  };

  explicit TableRules(TableRule everything, TableRule nothing)
      : everything_(std::move(everything)), nothing_(std::move(nothing)) {}

  std::vector<Entry> entries_;
  TableRule everything_;
  TableRule nothing_;
  bool all_tables_ = false;
};

}  // namespace cdc::postgres
