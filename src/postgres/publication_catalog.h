#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "postgres/connection.h"

namespace cdc::postgres {

// Who we are at the server and what that allows.
struct SessionRights {
  std::string user;
  std::string database;
  bool in_recovery = false;
  bool superuser = false;
  bool may_create = false;  // CREATE on the database, which a new publication needs
};

[[nodiscard]] Result<SessionRights> load_session_rights(Connection& connection);

struct PublicationState {
  std::string owner;
  bool owned = false;  // by the role, or a role that it is a member of
  bool all_tables = false;
  bool insert = false;
  bool update = false;
  bool remove = false;
  bool truncate = false;
  bool via_root = false;
  bool stored_generated = false;  // server 18 and later
  bool has_schemas = false;       // TABLES IN SCHEMA; server 15 and later
  // Tables listed one by one, by OID; true for those with a row filter or a column list.
  std::unordered_map<std::uint32_t, bool> tables;
};

// A table that the publication publishes, under the name that its changes come with.
struct PublishedTable {
  std::uint32_t oid = 0;  // as relation messages of the stream have it
  std::string schema;
  std::string table;

  [[nodiscard]] std::string name() const { return schema + "." + table; }

  bool operator==(const PublishedTable&) const = default;
};

// All of them, in one query, ordered by schema and name; none when there is no such publication.
// The view pg_publication_tables is not used: it locks every table, and so waits for each that
// another session has locked.
[[nodiscard]] Result<std::vector<PublishedTable>> load_published_tables(
    Connection& connection, std::string_view publication);

[[nodiscard]] Result<std::optional<PublicationState>> load_publication(Connection& connection,
                                                                       std::string_view name);

}  // namespace cdc::postgres
