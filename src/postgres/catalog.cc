#include "postgres/catalog.h"

#include <cstddef>
#include <utility>

#include "base/format.h"

namespace cdc::postgres {

namespace {

// Index columns in index order, without INCLUDE columns, as the text of an array of names. The
// subqueries aggregate once over all indexes; for one table the planner pushes its OID down.
constexpr std::string_view kTables = R"(
SELECT c.oid, n.nspname, c.relname, c.relreplident, c.relkind = 'p', c.relispartition,
       primary_key.columns, identity_index.columns
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN (
       SELECT i.indrelid, pg_catalog.array_agg(a.attname ORDER BY k.place)::text AS columns
         FROM pg_catalog.pg_index i
        CROSS JOIN pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)
         JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
        WHERE i.indisprimary AND i.indisvalid AND k.place <= i.indnkeyatts
        GROUP BY i.indrelid) primary_key ON primary_key.indrelid = c.oid
  LEFT JOIN (
       SELECT i.indrelid, pg_catalog.array_agg(a.attname ORDER BY k.place)::text AS columns
         FROM pg_catalog.pg_index i
        CROSS JOIN pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)
         JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
        WHERE i.indisreplident AND i.indisvalid AND k.place <= i.indnkeyatts
        GROUP BY i.indrelid) identity_index ON identity_index.indrelid = c.oid
 WHERE c.relkind IN ('r', 'p'))";

// The newest type comes along whatever it is, so that TypeCatalog::knows() covers all types of now.
constexpr std::string_view kTypes = R"(
SELECT t.oid,
       CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE 0 END,
       CASE WHEN t.typtype <> 'd' AND t.typoutput = 'pg_catalog.array_out'::pg_catalog.regproc
            THEN t.typelem ELSE 0 END,
       COALESCE(e.typdelim, ',')
  FROM pg_catalog.pg_type t
  LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem
 WHERE t.typtype = 'd' OR t.typoutput = 'pg_catalog.array_out'::pg_catalog.regproc
    OR t.oid = (SELECT pg_catalog.max(oid) FROM pg_catalog.pg_type))";

std::uint32_t oid_at(const QueryResult& result, int row, int column) {
  return static_cast<std::uint32_t>(result.integer(row, column).value_or(0));
}

char letter_at(const QueryResult& result, int row, int column) {
  const std::string_view text = result.text(row, column);
  return text.empty() ? '\0' : text.front();
}

}  // namespace

std::vector<std::string> parse_name_array(std::string_view text) {
  std::vector<std::string> names;
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    return names;
  }
  text = text.substr(1, text.size() - 2);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (names.empty()) {
      names.emplace_back();
    }
    if (text[i] == '\\' && i + 1 < text.size()) {
      names.back().push_back(text[++i]);
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      names.emplace_back();
    } else {
      names.back().push_back(text[i]);
    }
  }
  return names;
}

std::string tables_sql() {
  return std::string{kTables} +
         " AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' ORDER BY c.oid";
}

std::string table_sql(std::uint32_t oid) {
  return cdc::format("{} AND c.oid = {}", kTables, oid);
}

std::vector<TableInfo> parse_tables(const QueryResult& result) {
  std::vector<TableInfo> tables;
  tables.reserve(static_cast<std::size_t>(result.rows()));
  for (int row = 0; row < result.rows(); ++row) {
    tables.push_back(TableInfo{
        .oid = oid_at(result, row, 0),
        .schema = std::string{result.text(row, 1)},
        .table = std::string{result.text(row, 2)},
        .replica_identity = letter_at(result, row, 3),
        .primary_key = parse_name_array(result.text(row, 6)),
        .identity_index = parse_name_array(result.text(row, 7)),
        .partitioned = result.boolean(row, 4),
        .is_partition = result.boolean(row, 5),
    });
  }
  return tables;
}

std::string types_sql() {
  return std::string{kTypes};
}

std::vector<TypeRow> parse_types(const QueryResult& result) {
  std::vector<TypeRow> types;
  types.reserve(static_cast<std::size_t>(result.rows()));
  for (int row = 0; row < result.rows(); ++row) {
    types.push_back(TypeRow{
        .oid = oid_at(result, row, 0),
        .base_oid = oid_at(result, row, 1),
        .element_oid = oid_at(result, row, 2),
        .delimiter = letter_at(result, row, 3),
    });
  }
  return types;
}

}  // namespace cdc::postgres
