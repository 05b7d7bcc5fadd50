#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "postgres/connection.h"
#include "postgres/publication_catalog.h"
#include "postgres/table_rules.h"
#include "postgres/table_selection.h"

namespace cdc::postgres {

// What is known of a publication that is somebody else's to change.
struct ExistingPublication {
  const std::string& name;
  const PublicationState& state;
  const config::Config& config;
  const std::vector<CatalogTable>& catalog;
  const TableRules& rules;
};

[[nodiscard]] Error missing_publication(const std::string& name);

// Verifies it as publication.h says, and cuts `selection` down to the tables in it.
[[nodiscard]] Status check_existing_publication(Connection& connection,
                                                const ExistingPublication& publication,
                                                Selection& selection,
                                                std::vector<std::string>& warnings);

}  // namespace cdc::postgres
