#include "postgres/table_rules.h"

#include <utility>

namespace cdc::postgres {

namespace {

Result<TableRule> make_rule(const config::TableRule& configured) {
  CDC_ASSIGN(auto condition, expr::Condition::parse(configured.where));
  TableRule rule{.captured = true,
                 .columns = configured.columns,
                 .operations = ~0U,
                 .condition = std::move(condition),
                 .snapshot = configured.snapshot};
  if (!configured.operations.empty()) {
    rule.operations = 1U << static_cast<unsigned>(model::Operation::kControl);
    for (const model::Operation operation : configured.operations) {
      rule.operations |= 1U << static_cast<unsigned>(operation);
    }
  }
  return rule;
}

}  // namespace

Result<TableRules> TableRules::create(const config::Config& config) {
  CDC_ASSIGN(auto everything, make_rule(config::TableRule{}));
  TableRule nothing = everything;
  nothing.captured = false;
  TableRules rules{std::move(everything), std::move(nothing)};
  rules.all_tables_ = config.all_tables;
  for (const config::TableRule& configured : config.tables) {
    CDC_ASSIGN(auto pattern, expr::TablePattern::parse(configured.name));
    CDC_ASSIGN(auto rule, make_rule(configured));
    rules.entries_.push_back(Entry{std::move(pattern), std::move(rule)});
  }
  return rules;
}

const TableRule& TableRules::find(std::string_view schema, std::string_view table) const {
  const TableRule* first_glob = nullptr;
  for (const Entry& entry : entries_) {
    // An exact name without a schema means `public`, as it does for the publication.
    const bool other_schema =
        entry.pattern.is_exact() && !entry.pattern.has_schema() && schema != "public";
    if (other_schema || !entry.pattern.matches(schema, table)) {
      continue;
    }
    if (entry.pattern.is_exact()) {
      return entry.rule;
    }
    if (first_glob == nullptr) {
      first_glob = &entry.rule;
    }
  }
  if (first_glob != nullptr) {
    return *first_glob;
  }
  return all_tables_ ? everything_ : nothing_;
}

}  // namespace cdc::postgres
