#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "postgres/connection.h"

namespace cdc::postgres {

// The statements that make the publication match the configuration, in order; empty when it does.
struct PublicationPlan {
  std::string name;
  std::vector<std::string> statements;
  std::vector<std::string> tables;    // "schema.table" that will be published, roots for partitioned
  std::vector<std::string> warnings;  // table without a key, and the like
};

// Resolves the configured names and globs against the catalog. Errors: kSourceSetup when a named
// table does not exist (all missing ones in one message, with suggestions), when an existing
// publication lacks a table or an operation; kPermission when a grant or ownership is missing, with
// the SQL that gives it.
[[nodiscard]] Result<PublicationPlan> plan_publication(Connection& connection,
                                                       const config::Config& config);
// Runs the plan, logging each statement.
[[nodiscard]] Status apply_publication(Connection& connection, const PublicationPlan& plan);

}  // namespace cdc::postgres
