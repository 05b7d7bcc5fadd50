#include "postgres/table_selection.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/format.h"
#include "config/suggestion.h"
#include "expr/table_pattern.h"

namespace cdc::postgres {

namespace {

// An index can tell rows apart for the stream when it is valid and checked at once; with identity
// FULL no index is needed.
constexpr std::string_view kCatalogTables = R"(
SELECT c.oid, COALESCE(i.inhparent, 0), n.nspname, c.relname,
       pg_catalog.pg_get_userbyid(c.relowner), c.relkind, c.relpersistence, c.relreplident,
       COALESCE(k.has_primary_key, false),
       CASE c.relreplident WHEN 'f' THEN true
                           WHEN 'd' THEN COALESCE(k.usable_primary_key, false)
                           WHEN 'i' THEN COALESCE(k.usable_identity_index, false)
                           ELSE false END,
       pg_catalog.pg_has_role(c.relowner, 'USAGE'),
       pg_catalog.has_table_privilege(c.oid, 'SELECT'),
       pg_catalog.has_schema_privilege(n.oid, 'USAGE')
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid AND c.relispartition
  LEFT JOIN (
       SELECT indrelid,
              pg_catalog.bool_or(indisprimary) AS has_primary_key,
              pg_catalog.bool_or(indisprimary AND indisvalid AND indimmediate)
                AS usable_primary_key,
              pg_catalog.bool_or(indisreplident AND indisvalid AND indimmediate)
                AS usable_identity_index
         FROM pg_catalog.pg_index GROUP BY indrelid) k ON k.indrelid = c.oid
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
   AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
 ORDER BY n.nspname, c.relname)";

char letter_at(const QueryResult& result, int row, int column) {
  const std::string_view text = result.text(row, column);
  return text.empty() ? '\0' : text.front();
}

std::uint32_t oid_at(const QueryResult& result, int row, int column) {
  return static_cast<std::uint32_t>(result.integer(row, column).value_or(0));
}

// Why a relation cannot be captured; empty when it can.
std::string_view unfit_reason(const CatalogTable& table) noexcept {
  switch (table.kind) {
    case 'r':
    case 'p':
      return table.persistence == 'u' ? "is unlogged, so its changes are not in the WAL" : "";
    case 'v':
      return "is a view; name the tables behind it";
    case 'm':
      return "is a materialized view; name the tables behind it";
    case 'f':
      return "is a foreign table; capture it at its own server";
    default:
      return "is not a table";
  }
}

bool is_system_schema(std::string_view schema) noexcept {
  return schema.starts_with("pg_") || schema == "information_schema";
}

std::string why_missing(const std::vector<CatalogTable>& catalog,
                        std::string_view schema,
                        std::string_view table) {
  if (is_system_schema(schema)) {
    return "is in a system schema; only user tables can be captured";
  }
  std::vector<std::string> names;
  std::string elsewhere;
  for (const CatalogTable& candidate : catalog) {
    if (candidate.table == table && elsewhere.empty()) {
      elsewhere = candidate.name();
    }
    if (candidate.schema == schema) {
      names.push_back(candidate.table);
    }
  }
  if (!elsewhere.empty()) {
    return cdc::format("does not exist (did you mean {}?)", elsewhere);
  }
  const std::vector<std::string_view> candidates{names.begin(), names.end()};
  if (const auto near = config::nearest(table, candidates)) {
    return cdc::format("does not exist (did you mean {}.{}?)", schema, *near);
  }
  return "does not exist";
}

// Looks every exact name up; says which cannot be taken.
void check_named_tables(const std::vector<CatalogTable>& catalog,
                        const std::vector<expr::TablePattern>& patterns,
                        Selection& selection) {
  std::unordered_map<std::string, const CatalogTable*> by_name;
  for (const CatalogTable& table : catalog) {
    by_name.emplace(table.quoted(), &table);
  }
  for (const expr::TablePattern& pattern : patterns) {
    if (!pattern.is_exact()) {
      continue;
    }
    const std::string_view schema =
        pattern.has_schema() ? std::string_view{pattern.schema()} : std::string_view{"public"};
    const auto found = by_name.find(expr::quote_table(schema, pattern.table()));
    const std::string reason = found == by_name.end()
                                   ? why_missing(catalog, schema, pattern.table())
                                   : std::string{unfit_reason(*found->second)};
    if (!reason.empty()) {
      selection.refusals.push_back(cdc::format("{}.{} {}", schema, pattern.table(), reason));
    }
  }
}

void warn_of_idle_globs(const std::vector<CatalogTable>& catalog,
                        const config::Config& config,
                        const std::vector<expr::TablePattern>& patterns,
                        Selection& selection) {
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const bool fits = std::ranges::any_of(catalog, [&](const CatalogTable& table) {
      return patterns[i].matches(table.schema, table.table) && unfit_reason(table).empty();
    });
    if (!patterns[i].is_exact() && !fits) {
      selection.warnings.push_back(
          cdc::format("tables: {} fits no table; one made later is taken at the next start",
                      config.tables[i].name));
    }
  }
}

using ParentMap = std::unordered_map<std::uint32_t, std::uint32_t>;  // OID to parent's OID

ParentMap map_parents(const std::vector<CatalogTable>& catalog) {
  ParentMap parents;
  for (const CatalogTable& table : catalog) {
    if (table.parent_oid != 0) {
      parents.emplace(table.oid, table.parent_oid);
    }
  }
  return parents;
}

// The topmost of `oid` and its ancestors that is in `among`; zero when none is.
template <class Set>
std::uint32_t topmost(const ParentMap& parents, std::uint32_t oid, const Set& among) {
  std::uint32_t found = 0;
  while (true) {
    if (among.contains(oid)) {
      found = oid;
    }
    const auto parent = parents.find(oid);
    if (parent == parents.end()) {
      return found;
    }
    oid = parent->second;
  }
}

std::string identity_fix(const CatalogTable& relation) {
  const std::string quoted = relation.quoted();
  if (relation.has_primary_key && relation.replica_identity == 'n') {
    return cdc::format("ALTER TABLE {} REPLICA IDENTITY DEFAULT", quoted);
  }
  return cdc::format("ALTER TABLE {} REPLICA IDENTITY FULL", quoted);
}

}  // namespace

std::string CatalogTable::quoted() const {
  return expr::quote_table(schema, table);
}

bool is_named(const config::Config& config, const CatalogTable& table) {
  return std::ranges::any_of(config.tables, [&](const config::TableRule& rule) {
    const auto pattern = expr::TablePattern::parse(rule.name);
    return pattern && pattern->is_exact() && pattern->matches(table.schema, table.table) &&
           (pattern->has_schema() || table.schema == "public");
  });
}

Result<std::vector<CatalogTable>> list_catalog_tables(Connection& connection) {
  auto result = connection.query(kCatalogTables);
  if (!result) {
    return fail(with_context(std::move(result).error(), "list the tables"));
  }
  std::vector<CatalogTable> tables;
  tables.reserve(static_cast<std::size_t>(result->rows()));
  for (int row = 0; row < result->rows(); ++row) {
    tables.push_back(CatalogTable{
        .oid = oid_at(*result, row, 0),
        .parent_oid = oid_at(*result, row, 1),
        .schema = std::string{result->text(row, 2)},
        .table = std::string{result->text(row, 3)},
        .owner = std::string{result->text(row, 4)},
        .kind = letter_at(*result, row, 5),
        .persistence = letter_at(*result, row, 6),
        .replica_identity = letter_at(*result, row, 7),
        .has_primary_key = result->boolean(row, 8),
        .identifies_rows = result->boolean(row, 9),
        .owned = result->boolean(row, 10),
        .may_select = result->boolean(row, 11),
        .may_use_schema = result->boolean(row, 12),
    });
  }
  return tables;
}

Result<Selection> select_tables(const std::vector<CatalogTable>& catalog,
                                const TableRules& rules,
                                const config::Config& config) {
  std::vector<expr::TablePattern> patterns;
  for (const config::TableRule& rule : config.tables) {
    CDC_ASSIGN(auto pattern, expr::TablePattern::parse(rule.name));
    patterns.push_back(std::move(pattern));
  }
  Selection selection;
  check_named_tables(catalog, patterns, selection);
  warn_of_idle_globs(catalog, config, patterns, selection);

  std::unordered_set<std::uint32_t> captured;
  std::vector<std::string> unfit;
  for (const CatalogTable& table : catalog) {
    if (!rules.find(table.schema, table.table).captured) {
      continue;
    }
    if (unfit_reason(table).empty()) {
      captured.insert(table.oid);
    } else if (table.persistence == 'u' && !is_named(config, table)) {
      unfit.push_back(table.name());
    }
  }
  if (!unfit.empty()) {
    selection.warnings.push_back(
        "left out, since the changes of unlogged tables are not in the WAL: " + join_names(unfit));
  }
  const ParentMap parents = map_parents(catalog);
  for (std::size_t i = 0; i < catalog.size(); ++i) {
    const std::uint32_t top = topmost(parents, catalog[i].oid, captured);
    if (top == catalog[i].oid) {
      selection.tables.push_back(i);
    } else if (top != 0 && captured.contains(catalog[i].oid) && is_named(config, catalog[i])) {
      selection.warnings.push_back(cdc::format(
          "{} is a partition of a table that is captured too: its changes come under that name",
          catalog[i].name()));
    }
  }
  return selection;
}

std::vector<IdentityFault> find_identity_faults(const std::vector<CatalogTable>& catalog,
                                                const Selection& selection,
                                                const TableRules& rules) {
  std::unordered_map<std::uint32_t, std::size_t> selected;  // OID to index
  for (const std::size_t i : selection.tables) {
    selected.emplace(catalog[i].oid, i);
  }
  const ParentMap parents = map_parents(catalog);
  std::vector<IdentityFault> faults;
  for (std::size_t i = 0; i < catalog.size(); ++i) {
    // A partitioned table holds no rows: its partitions decide.
    if (catalog[i].kind != 'r' || catalog[i].identifies_rows) {
      continue;
    }
    const std::uint32_t top = topmost(parents, catalog[i].oid, selected);
    if (top == 0) {
      continue;
    }
    const CatalogTable& published = catalog[selected.at(top)];
    const TableRule& rule = rules.find(published.schema, published.table);
    faults.push_back(IdentityFault{
        .table = selected.at(top),
        .relation = i,
        .fix = identity_fix(catalog[i]),
        .accepted =
            !rule.takes(model::Operation::kUpdate) && !rule.takes(model::Operation::kDelete),
    });
  }
  return faults;
}

std::string join_names(const std::vector<std::string>& names, std::size_t names_max) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i >= names_max) {
      return out + cdc::format(" and {} more", names.size() - i);
    }
    out.append(i == 0 ? "" : ", ").append(names[i]);
  }
  return out;
}

}  // namespace cdc::postgres
