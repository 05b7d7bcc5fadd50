#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "postgres/connection.h"

namespace cdc::postgres {

// The publication that the configuration names: postgres.publication, or kaptanto_pub_<source-id>.
[[nodiscard]] std::string publication_name(const config::Config& config);

// The statements that make the publication match the configuration, in order; empty when it does.
// Each is one transaction, may hold several SQL statements, and leaves a publication from which
// nothing is missing that was in it and is still wanted.
struct PublicationPlan {
  std::string name;
  std::vector<std::string> statements;
  std::vector<std::string> tables;  // "schema.table" that will be published, roots for partitioned
  std::vector<std::string> warnings;  // table without a key, and the like
};

// Resolves the configured names and globs against the catalog.
//
// Managed publications publish exactly the configured tables, under the names of partition roots,
// with all operations (TRUNCATE too) and, from server 18 on, stored generated columns. Columns,
// conditions and operations of the configuration are not put into the publication: they are applied
// here. A publication of all tables needs a superuser; without one it lists today's tables, with a
// warning. PostgreSQL refuses UPDATE and DELETE, from everyone, on a published table whose rows
// cannot be told apart (no primary key, no replica identity), so such a table is not published
// unless the configuration lists operations for it that hold neither, which says that there are
// none; what is published already is left published, with a warning.
//
// Existing publications are only verified: a named table must be in it, and an operation that the
// configuration lists must be published. What globs find outside it, and operations that are merely
// not excluded, give a warning.
//
// Errors  kSourceSetup when a named table does not exist or cannot be captured (all of them in one
//         message, with suggestions), when a table must not be published as it is, when an existing
//         publication lacks something, or when the server is a standby; kPermission when a grant or
//         ownership is missing, with the SQL that gives it.
[[nodiscard]] Result<PublicationPlan> plan_publication(Connection& connection,
                                                       const config::Config& config);

// Runs the plan, logging each statement; a plan that failed half-way is completed by the next one.
// Create the publication before the slot: the stream looks publications up as they were at the
// slot's position. Errors: kUnavailable when
// another session locks a table for longer than ten seconds; otherwise as the server says.
[[nodiscard]] Status apply_publication(Connection& connection, const PublicationPlan& plan);

}  // namespace cdc::postgres
