#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "postgres/connection.h"
#include "postgres/publication.h"
#include "postgres/publication_catalog.h"
#include "postgres/table_rules.h"
#include "postgres/table_selection.h"

namespace cdc::postgres {

// Everything that is to be said about the publication, not only the first fault: the preflight
// shows all of it. With faults the plan is what would be done were they mended.
struct PublicationDiagnosis {
  SessionRights rights;
  std::vector<CatalogTable> catalog;
  TableRules rules;
  Selection selection;
  std::optional<PublicationState> state;
  bool existing = false;  // somebody else's to change
  std::vector<IdentityFault> identity_faults;
  PublicationPlan plan;
  std::vector<std::string>
      publication_warnings;  // what an existing one leaves out; also in the plan

  std::optional<Error> tables_fault;       // named tables that cannot be captured; or none at all
  std::optional<Error> identity_fault;     // tables that must not be published as they are
  std::optional<Error> publication_fault;  // rights to change it; or what an existing one lacks

  // PostgreSQL refuses updates and deletes on this table already.
  [[nodiscard]] bool is_published(const IdentityFault& fault) const;
  [[nodiscard]] std::vector<std::string> keyless_tables() const;
};

// Errors: only when the catalog cannot be read.
[[nodiscard]] Result<PublicationDiagnosis> diagnose_publication(Connection& connection,
                                                                const config::Config& config);

}  // namespace cdc::postgres
