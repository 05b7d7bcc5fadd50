#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "postgres/connection.h"
#include "postgres/value_kind.h"

namespace cdc::postgres {

// What the catalog says of a table, beyond what pgoutput sends.
struct TableInfo {
  std::uint32_t oid = 0;
  std::string schema;
  std::string table;
  char replica_identity = 'd';              // d default, f full, i index, n nothing
  std::vector<std::string> primary_key;     // column names in index order; empty: none
  std::vector<std::string> identity_index;  // columns of the replica identity index, in index order
  bool partitioned = false;                 // relkind p
  bool is_partition = false;
};

// One query each, whatever the number of tables. SQL texts, for callers that must not wait, and
// the parsers of their results.
[[nodiscard]] std::string tables_sql();                  // all ordinary and partitioned user tables
[[nodiscard]] std::string table_sql(std::uint32_t oid);  // one
[[nodiscard]] std::vector<TableInfo> parse_tables(const QueryResult& result);
[[nodiscard]] std::string types_sql();  // domains and true arrays
[[nodiscard]] std::vector<TypeRow> parse_types(const QueryResult& result);

// The text of a one-dimensional array of names, as in {id,"a, \"b\""}.
[[nodiscard]] std::vector<std::string> parse_name_array(std::string_view text);

}  // namespace cdc::postgres
