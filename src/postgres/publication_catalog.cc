#include "postgres/publication_catalog.h"

#include <array>

#include "base/format.h"

namespace cdc::postgres {

namespace {

constexpr int kVersionWithSchemasAndFilters = 150'000;
constexpr int kVersionWithGeneratedColumns = 180'000;

// What can be published at all, as the server has it: permanent tables that no system owns.
constexpr std::string_view kPublishable =
    "c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND c.oid >= 16384";

// {0}: publishable; {1}: tables of published schemas.
constexpr std::string_view kPublished = R"(
WITH RECURSIVE
  publication AS (
    SELECT oid, puballtables, pubviaroot FROM pg_catalog.pg_publication WHERE pubname = $1),
  named AS (
    SELECT c.oid FROM publication p JOIN pg_catalog.pg_class c ON p.puballtables WHERE {0}
    UNION
    SELECT r.prrelid FROM publication p
      JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid{1}),
  tree AS (
    SELECT oid, oid AS top FROM named
    UNION
    SELECT i.inhrelid, t.top FROM tree t
      JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
      JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relispartition)
SELECT c.oid, n.nspname, c.relname
  FROM publication p
  JOIN pg_catalog.pg_class c ON CASE WHEN p.pubviaroot
       THEN c.oid IN (SELECT oid FROM named)
            AND c.oid NOT IN (SELECT oid FROM tree WHERE oid <> top)
       ELSE c.relkind = 'r' AND c.oid IN (SELECT oid FROM tree) END
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 ORDER BY n.nspname, c.relname)";

constexpr std::string_view kInSchemas = R"(
    UNION
    SELECT c.oid FROM publication p
      JOIN pg_catalog.pg_publication_namespace s ON s.pnpubid = p.oid
      JOIN pg_catalog.pg_class c ON c.relnamespace = s.pnnspid WHERE )";

}  // namespace

Result<SessionRights> load_session_rights(Connection& connection) {
  CDC_ASSIGN(const QueryResult result,
             connection.query("SELECT r.rolname, pg_catalog.current_database(),"
                              " pg_catalog.pg_is_in_recovery(), r.rolsuper,"
                              " pg_catalog.has_database_privilege("
                              "pg_catalog.current_database(), 'CREATE')"
                              " FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"));
  return SessionRights{
      .user = std::string{result.text(0, 0)},
      .database = std::string{result.text(0, 1)},
      .in_recovery = result.boolean(0, 2),
      .superuser = result.boolean(0, 3),
      .may_create = result.boolean(0, 4),
  };
}

Result<std::vector<PublishedTable>> load_published_tables(Connection& connection,
                                                          std::string_view publication) {
  const bool schemas = connection.server_version() >= kVersionWithSchemasAndFilters;
  const std::string in_schemas = schemas ? format("{}{}", kInSchemas, kPublishable) : "";
  const std::array<std::string, 1> parameters{std::string(publication)};
  CDC_ASSIGN(const QueryResult found,
             connection.query(format(kPublished, kPublishable, in_schemas), parameters));
  std::vector<PublishedTable> tables;
  tables.reserve(static_cast<std::size_t>(found.rows()));
  for (int row = 0; row < found.rows(); ++row) {
    tables.push_back({.oid = static_cast<std::uint32_t>(found.integer(row, 0).value_or(0)),
                      .schema = std::string(found.text(row, 1)),
                      .table = std::string(found.text(row, 2))});
  }
  return tables;
}

Result<std::optional<PublicationState>> load_publication(Connection& connection,
                                                         std::string_view name) {
  const bool newer = connection.server_version() >= kVersionWithSchemasAndFilters;
  const bool newest = connection.server_version() >= kVersionWithGeneratedColumns;
  const std::array<std::string, 1> parameters{std::string{name}};
  CDC_ASSIGN(
      const QueryResult found,
      connection.query(
          cdc::format("SELECT p.oid, pg_catalog.pg_get_userbyid(p.pubowner),"
                      " pg_catalog.pg_has_role(p.pubowner, 'USAGE'), p.puballtables, p.pubinsert,"
                      " p.pubupdate, p.pubdelete, p.pubtruncate, p.pubviaroot, {}, {}"
                      " FROM pg_catalog.pg_publication p WHERE p.pubname = $1",
                      newest ? "p.pubgencols = 's'" : "false",
                      newer ? "EXISTS (SELECT FROM pg_catalog.pg_publication_namespace s"
                              " WHERE s.pnpubid = p.oid)"
                            : "false"),
          parameters));
  if (found.rows() == 0) {
    return std::optional<PublicationState>{};
  }
  PublicationState state{
      .owner = std::string{found.text(0, 1)},
      .owned = found.boolean(0, 2),
      .all_tables = found.boolean(0, 3),
      .insert = found.boolean(0, 4),
      .update = found.boolean(0, 5),
      .remove = found.boolean(0, 6),
      .truncate = found.boolean(0, 7),
      .via_root = found.boolean(0, 8),
      .stored_generated = found.boolean(0, 9),
      .has_schemas = found.boolean(0, 10),
      .tables = {},
  };
  CDC_ASSIGN(const QueryResult tables,
             connection.query(cdc::format(
                 "SELECT prrelid, {} FROM pg_catalog.pg_publication_rel WHERE prpubid = {}",
                 newer ? "prqual IS NOT NULL OR prattrs IS NOT NULL" : "false",
                 found.text(0, 0))));
  for (int row = 0; row < tables.rows(); ++row) {
    state.tables.emplace(static_cast<std::uint32_t>(tables.integer(row, 0).value_or(0)),
                         tables.boolean(row, 1));
  }
  return state;
}

}  // namespace cdc::postgres
