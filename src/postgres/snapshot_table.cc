#include "postgres/snapshot_table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/format.h"
#include "expr/table_pattern.h"
#include "postgres/internal/snapshot_sql.h"

namespace cdc::postgres {

namespace {

constexpr int kVersionWithColumnLists = 150'000;
constexpr int kVersionWithGeneratedColumns = 180'000;

std::uint32_t oid_at(const QueryResult& result, int row, int column) {
  return static_cast<std::uint32_t>(result.integer(row, column).value_or(0));
}

// How the publication publishes the table.
struct Publishing {
  std::optional<std::vector<std::string>> columns;  // nothing: all
  std::string row_filter;
  bool generated = false;  // stored generated columns too
};

// Of the table's own entry. A publication of all tables or of the table's schema has no filter.
constexpr std::string_view kListAndFilter =
    "(SELECT pg_catalog.array_agg(a.attname ORDER BY a.attnum)::text"
    " FROM pg_catalog.pg_attribute a WHERE a.attrelid = r.prrelid"
    " AND a.attnum = ANY (r.prattrs::int2[])),"
    " CASE WHEN NOT p.puballtables AND NOT EXISTS (SELECT FROM pg_catalog.pg_publication_namespace "
    "s"
    " JOIN pg_catalog.pg_class c ON c.relnamespace = s.pnnspid"
    " WHERE s.pnpubid = p.oid AND c.oid = r.prrelid)"
    " THEN pg_catalog.pg_get_expr(r.prqual, r.prrelid) END";

Result<Publishing> load_publishing(Connection& connection,
                                   const PublishedTable& table,
                                   const SnapshotSource& source) {
  const int version = connection.server_version();
  const std::string sql = format(
      "SELECT {}, {} FROM pg_catalog.pg_publication p"
      " LEFT JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = {}"
      " WHERE p.pubname = $1",
      version >= kVersionWithColumnLists ? kListAndFilter : "NULL, NULL",
      version >= kVersionWithGeneratedColumns ? "p.pubgencols = 's'" : "false",
      table.oid);
  const std::array<std::string, 1> parameters{source.publication};
  CDC_ASSIGN(const QueryResult found, connection.query(sql, parameters));
  if (found.rows() == 0) {
    return fail(Errc::kNotFound, format("there is no publication {}", source.publication));
  }
  Publishing publishing{.columns = std::nullopt,
                        .row_filter = std::string(found.text(0, 1)),
                        .generated = found.boolean(0, 2)};
  if (!found.is_null(0, 0)) {
    publishing.columns = parse_name_array(found.text(0, 0));
  }
  return publishing;
}

Result<TableInfo> load_info(Connection& connection, const PublishedTable& table) {
  CDC_ASSIGN(const QueryResult found, connection.query(table_sql(table.oid)));
  std::vector<TableInfo> infos = parse_tables(found);
  if (infos.empty()) {
    return fail(Errc::kNotFound,
                format("there is no table {} with OID {} any more", table.name(), table.oid));
  }
  if (infos[0].schema != table.schema || infos[0].table != table.table) {
    return fail(
        Errc::kNotFound,
        format("table {} is now named {}.{}", table.name(), infos[0].schema, infos[0].table));
  }
  return std::move(infos[0]);
}

// What the relation message of the table says.
Result<RelationShape> load_shape(Connection& connection,
                                 const TableInfo& info,
                                 const Publishing& publishing) {
  // A list names what it means.
  const bool generated = publishing.columns || publishing.generated;
  CDC_ASSIGN(
      const QueryResult columns,
      connection.query(format("SELECT attname, atttypid, atttypmod"
                              " FROM pg_catalog.pg_attribute WHERE attrelid = {}"
                              " AND attnum > 0 AND NOT attisdropped{} ORDER BY attnum",
                              info.oid,
                              generated ? " AND attgenerated <> 'v'" : " AND attgenerated = ''")));
  RelationShape shape{.oid = info.oid,
                      .schema = info.schema,
                      .table = info.table,
                      .replica_identity = info.replica_identity,
                      .columns = {}};
  const std::vector<std::string> none;
  const std::vector<std::string>& identity = info.replica_identity == 'd'   ? info.primary_key
                                             : info.replica_identity == 'i' ? info.identity_index
                                                                            : none;
  for (int row = 0; row < columns.rows(); ++row) {
    std::string name{columns.text(row, 0)};
    if (publishing.columns &&
        std::ranges::find(*publishing.columns, name) == publishing.columns->end()) {
      continue;
    }
    const bool identifies =
        info.replica_identity == 'f' || std::ranges::find(identity, name) != identity.end();
    shape.columns.push_back(
        {.name = std::move(name),
         .type_oid = oid_at(columns, row, 1),
         .type_modifier = static_cast<std::int32_t>(columns.integer(row, 2).value_or(-1)),
         .identity = identifies});
  }
  return shape;
}

Status complete_types(Connection& connection, const RelationShape& shape, TypeCatalog& types) {
  const bool known = std::ranges::all_of(
      shape.columns, [&](const auto& column) { return types.knows(column.type_oid); });
  if (!known) {
    CDC_ASSIGN(const QueryResult rows, connection.query(types_sql()));
    types.load(parse_types(rows));
  }
  return {};
}

// The columns of the index that the key is of, with what it takes to read in its order: a btree
// index in the order that ORDER BY gives its columns, over all rows, all in one direction.
constexpr std::string_view kKeyColumns = R"(
WITH RECURSIVE
  place AS (
    SELECT i.*, k.attnum, k.opclass, k.collation_oid, k.option, k.place
      FROM pg_catalog.pg_index i
     CROSS JOIN ROWS FROM (pg_catalog.unnest(i.indkey::int2[]),
                           pg_catalog.unnest(i.indclass::oid[]),
                           pg_catalog.unnest(i.indcollation::oid[]),
                           pg_catalog.unnest(i.indoption::int2[]))
           WITH ORDINALITY k(attnum, opclass, collation_oid, option, place)
     WHERE i.indrelid = {0} AND i.{1} AND k.place <= i.indnkeyatts),
  base(place, type, modifier) AS (
    SELECT p.place, a.atttypid, a.atttypmod
      FROM place p JOIN pg_catalog.pg_attribute a ON a.attrelid = {0} AND a.attnum = p.attnum
     UNION ALL
    SELECT b.place, t.typbasetype, t.typtypmod
      FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.type WHERE t.typtype = 'd')
SELECT a.attname, pg_catalog.format_type(b.type, b.modifier), pg_catalog.quote_ident(n.nspname),
       COALESCE(a.attnotnull AND p.indisvalid AND p.indisready AND p.indisunique
                AND p.indpred IS NULL AND p.indexprs IS NULL AND o.opcdefault AND g.oprname = '>'
                AND p.collation_oid = a.attcollation
                AND p.option & 1 = pg_catalog.min(p.option & 1) OVER ()
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_opclass d
                                 WHERE d.opcmethod = o.opcmethod AND d.opcdefault
                                   AND d.opcintype = b.type AND d.oid <> o.oid), false)
  FROM place p
  JOIN base b ON b.place = p.place
  JOIN pg_catalog.pg_type t ON t.oid = b.type AND t.typtype <> 'd'
  JOIN pg_catalog.pg_attribute a ON a.attrelid = {0} AND a.attnum = p.attnum
  LEFT JOIN (pg_catalog.pg_opclass o
             JOIN pg_catalog.pg_am m ON m.oid = o.opcmethod AND m.amname = 'btree'
             JOIN pg_catalog.pg_amop x ON x.amopfamily = o.opcfamily AND x.amopstrategy = 5
                  AND x.amoplefttype = o.opcintype AND x.amoprighttype = o.opcintype
             JOIN pg_catalog.pg_operator g ON g.oid = x.amopopr
             JOIN pg_catalog.pg_namespace n ON n.oid = g.oprnamespace) ON o.oid = p.opclass
 ORDER BY p.place)";

// Empty when the table cannot be read by key.
Result<std::vector<SnapshotTable::KeyColumn>> load_key(Connection& connection,
                                                       const Relation& relation,
                                                       const TableInfo& info) {
  std::vector<SnapshotTable::KeyColumn> key;
  const bool by_identity = info.replica_identity == 'i' && !info.identity_index.empty();
  const std::vector<std::string>& names = by_identity ? info.identity_index : info.primary_key;
  if (relation.row_hash_key || names.size() != relation.key.size()) {
    return key;
  }
  CDC_ASSIGN(const QueryResult columns,
             connection.query(
                 format(kKeyColumns, info.oid, by_identity ? "indisreplident" : "indisprimary")));
  if (static_cast<std::size_t>(columns.rows()) != names.size()) {
    return key;
  }
  for (int row = 0; row < columns.rows(); ++row) {
    const std::uint16_t index = relation.key[static_cast<std::size_t>(row)];
    const std::string& name = relation.shape.columns[index].name;
    if (columns.text(row, 0) != name || !columns.boolean(row, 3)) {
      return std::vector<SnapshotTable::KeyColumn>{};
    }
    key.push_back({.index = index,
                   .quoted = expr::quote_identifier(name),
                   .type = std::string(columns.text(row, 1)),
                   .operator_schema = std::string(columns.text(row, 2))});
  }
  return key;
}

// A relation whose rows belong to the published table, and what may keep us from reading them.
constexpr std::string_view kParts = R"(
SELECT c.oid, n.nspname, c.relname, pg_catalog.pg_relation_size(c.oid) / b.size,
       c.reltuples::float8, c.relpages, pg_catalog.pg_table_size(c.oid), {1},
       pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
       pg_catalog.has_table_privilege(c.oid, 'SELECT'), pg_catalog.row_security_active(c.oid)
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 CROSS JOIN (SELECT pg_catalog.current_setting('block_size')::int8 AS size) b
 WHERE c.oid IN ({0}) AND c.relkind = 'r' AND c.relpersistence = 'p'
 ORDER BY c.oid)";

Status check_readable(const QueryResult& result,
                      int row,
                      const SnapshotPart& part,
                      const std::string& role) {
  if (!result.boolean(row, 8)) {
    return fail(Errc::kPermission,
                format("the role may not use the schema of table {}", part.quoted),
                format("run GRANT USAGE ON SCHEMA {} TO {}",
                       expr::quote_identifier(result.text(row, 1)),
                       role));
  }
  if (!result.boolean(row, 9)) {
    return fail(Errc::kPermission,
                format("the role may not read table {}", part.quoted),
                format("run GRANT SELECT ON {} TO {}", part.quoted, role));
  }
  if (result.boolean(row, 10)) {
    return fail(Errc::kPermission,
                format("row-level security hides rows of table {} from the role", part.quoted),
                format("run ALTER ROLE {} BYPASSRLS", role));
  }
  return {};
}

// The planner's way: the density at the last VACUUM or ANALYZE, and the size of now.
std::int64_t estimate_rows(double rows, std::int64_t old_pages, std::uint64_t pages) {
  if (pages == 0) {
    return 0;
  }
  if (rows < 0 || old_pages <= 0) {
    return -1;
  }
  return static_cast<std::int64_t>(rows / static_cast<double>(old_pages) *
                                   static_cast<double>(pages));
}

double number_of(std::string_view text) {
  return std::strtod(std::string(text).c_str(), nullptr);
}

Result<std::vector<SnapshotPart>> load_parts(Connection& connection,
                                             const TableInfo& info,
                                             bool by_key) {
  const std::string oids = info.partitioned
                               ? format(
                                     "SELECT p.relid::pg_catalog.oid"
                                     " FROM pg_catalog.pg_partition_tree({}) p WHERE p.isleaf",
                                     info.oid)
                               : format("{}", info.oid);
  CDC_ASSIGN(const QueryResult found,
             connection.query(format(kParts, oids, internal::signature_sql("c.oid", by_key))));
  std::vector<SnapshotPart> parts;
  for (int row = 0; row < found.rows(); ++row) {
    SnapshotPart part{.oid = oid_at(found, row, 0),
                      .quoted = expr::quote_table(found.text(row, 1), found.text(row, 2)),
                      .pages = static_cast<std::uint64_t>(found.integer(row, 3).value_or(0)),
                      .rows = -1,
                      .row_bytes = 0,
                      .signature = std::string(found.text(row, 7))};
    CDC_TRY(check_readable(found, row, part, expr::quote_identifier(connection.user())));
    part.rows =
        estimate_rows(number_of(found.text(row, 4)), found.integer(row, 5).value_or(0), part.pages);
    if (part.rows > 0) {
      part.row_bytes = found.integer(row, 6).value_or(0) / part.rows;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string select_list_of(const RelationShape& shape) {
  std::string list;
  for (const RelationShape::Column& column : shape.columns) {
    list += (list.empty() ? "" : ", ") + expr::quote_identifier(column.name);
  }
  return list;
}

std::string filter_of(const Relation& relation, const std::string& row_filter) {
  const std::string condition = internal::condition_sql(relation);
  const std::string published = row_filter.empty() ? "" : "(" + row_filter + ")";
  return published + (published.empty() || condition.empty() ? "" : " AND ") + condition;
}

}  // namespace

Result<std::vector<PublishedTable>> list_published_tables(Connection& connection,
                                                          std::string_view publication,
                                                          const TableRules& rules) {
  CDC_ASSIGN(auto tables, load_published_tables(connection, publication));
  std::erase_if(tables, [&rules](const PublishedTable& table) {
    return !rules.find(table.schema, table.table).captured;
  });
  return tables;
}

Result<SnapshotTable> describe_snapshot_table(Connection& connection,
                                              const PublishedTable& table,
                                              const SnapshotSource& source) {
  CDC_ASSIGN(const TableInfo info, load_info(connection, table));
  CDC_ASSIGN(const Publishing publishing, load_publishing(connection, table, source));
  CDC_ASSIGN(RelationShape shape, load_shape(connection, info, publishing));
  CDC_TRY(complete_types(connection, shape, *source.types));
  SnapshotTable described{.published = table,
                          .relation = make_relation(std::move(shape),
                                                    &info,
                                                    RelationContext{.source_id = source.source_id,
                                                                    .types = source.types,
                                                                    .rules = source.rules}),
                          .key = {},
                          .parts = {},
                          .select_list = {},
                          .filter = {}};
  CDC_ASSIGN(described.key, load_key(connection, described.relation, info));
  CDC_ASSIGN(described.parts, load_parts(connection, info, described.by_key()));
  if (described.parts.empty() && !info.partitioned) {
    return fail(Errc::kSourceSetup,
                format("table {} is not a permanent, ordinary table", table.name()));
  }
  described.select_list = select_list_of(described.relation.shape);
  described.filter = filter_of(described.relation, publishing.row_filter);
  return described;
}

}  // namespace cdc::postgres
