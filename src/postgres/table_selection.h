#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "postgres/connection.h"
#include "postgres/table_rules.h"

namespace cdc::postgres {

// A relation of a user schema as the publication and the preflight see it.
struct CatalogTable {
  std::uint32_t oid = 0;
  std::uint32_t parent_oid = 0;  // of partitions: the table that it is a part of
  std::string schema;
  std::string table;
  std::string owner;
  char kind = 'r';         // pg_class.relkind: r table, p partitioned, v view, m, f
  char persistence = 'p';  // u unlogged
  char replica_identity = 'd';
  bool has_primary_key = false;
  bool identifies_rows = false;  // an UPDATE or DELETE of it may be published
  bool owned = false;            // by the role, or a role that it is a member of
  bool may_select = false;
  bool may_use_schema = false;

  // "schema.table", as filters and messages name it.
  [[nodiscard]] std::string name() const { return schema + "." + table; }

  // "schema"."table", as SQL does.
  [[nodiscard]] std::string quoted() const;
};

// All tables and views of user schemas, in one query, ordered by schema and name.
[[nodiscard]] Result<std::vector<CatalogTable>> list_catalog_tables(Connection& connection);

// Which tables the configuration means. A partition whose parent is meant too is left out: its
// changes come under the parent's name.
struct Selection {
  std::vector<std::size_t> tables;  // indexes into the catalog
  std::vector<std::string>
      refusals;  // named tables that do not exist or cannot be captured, and why
  std::vector<std::string> warnings;
};

[[nodiscard]] Result<Selection> select_tables(const std::vector<CatalogTable>& catalog,
                                              const TableRules& rules,
                                              const config::Config& config);

// Whether the configuration names the table itself, not only by a glob.
[[nodiscard]] bool is_named(const config::Config& config, const CatalogTable& table);

// A table that PostgreSQL refuses updates and deletes of, from everyone, once it is published:
// rows of it cannot be told apart.
struct IdentityFault {
  std::size_t table = 0;     // index into the catalog: what would be published
  std::size_t relation = 0;  // the table itself, or the partition at fault
  std::string fix;           // SQL
  // The configuration takes neither updates nor deletes of it: the user says that there are none.
  bool accepted = false;
};

[[nodiscard]] std::vector<IdentityFault> find_identity_faults(
    const std::vector<CatalogTable>& catalog, const Selection& selection, const TableRules& rules);

// "a, b and 3 more": keeps messages readable when ten thousand tables are concerned.
[[nodiscard]] std::string join_names(const std::vector<std::string>& names,
                                     std::size_t names_max = 10);

}  // namespace cdc::postgres
