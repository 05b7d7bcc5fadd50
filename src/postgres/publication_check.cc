#include "postgres/internal/publication_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/format.h"
#include "expr/table_pattern.h"
#include "model/operation.h"

namespace cdc::postgres {

namespace {

// The quoted names of what the publication publishes, under the names that the stream uses.
Result<std::unordered_set<std::string>> load_published(Connection& connection,
                                                       const std::string& name) {
  CDC_ASSIGN(const auto tables, load_published_tables(connection, name));
  std::unordered_set<std::string> published;
  for (const PublishedTable& table : tables) {
    published.insert(expr::quote_table(table.schema, table.table));
  }
  return published;
}

Status check_tables(const ExistingPublication& publication,
                    const std::unordered_set<std::string>& published,
                    Selection& selection,
                    std::vector<std::string>& warnings) {
  std::vector<std::string> missing;
  std::string missing_sql;
  std::vector<std::string> left_out;
  std::vector<std::string> split;
  std::erase_if(selection.tables, [&](std::size_t i) {
    const CatalogTable& table = publication.catalog[i];
    if (published.contains(table.quoted())) {
      return false;
    }
    if (table.kind == 'p' && !publication.state.via_root) {
      split.push_back(table.name());
    } else if (is_named(publication.config, table)) {
      missing.push_back(table.name());
      missing_sql += (missing_sql.empty() ? "" : ", ") + table.quoted();
    } else {
      left_out.push_back(table.name());
    }
    return true;
  });
  const std::string quoted_name = expr::quote_identifier(publication.name);
  if (!missing.empty()) {
    return fail(
        Errc::kSourceSetup,
        cdc::format("publication {} does not have {}", publication.name, join_names(missing)),
        cdc::format("ALTER PUBLICATION {} ADD TABLE {}", quoted_name, missing_sql));
  }
  if (!split.empty()) {
    return fail(Errc::kSourceSetup,
                cdc::format("publication {} publishes partitions under their own names, not as {}",
                            publication.name,
                            join_names(split)),
                cdc::format("ALTER PUBLICATION {} SET (publish_via_partition_root = true), or name "
                            "the partitions in tables",
                            quoted_name));
  }
  if (!left_out.empty()) {
    warnings.push_back(cdc::format("publication {} does not have, so they are not captured: {}",
                                   publication.name,
                                   join_names(left_out)));
  }
  if (selection.tables.empty()) {
    return fail(Errc::kSourceSetup,
                cdc::format("publication {} has none of the configured tables", publication.name),
                cdc::format("ALTER PUBLICATION {} ADD TABLE ..., or check tables", quoted_name));
  }
  return {};
}

bool lists_operation(const config::Config& config, model::Operation operation) {
  return std::ranges::any_of(config.tables, [&](const config::TableRule& rule) {
    return std::ranges::find(rule.operations, operation) != rule.operations.end();
  });
}

Status check_operations(const ExistingPublication& publication,
                        const Selection& selection,
                        std::vector<std::string>& warnings) {
  const PublicationState& state = publication.state;
  const std::pair<model::Operation, bool> operations[] = {
      {model::Operation::kInsert, state.insert},
      {model::Operation::kUpdate, state.update},
      {model::Operation::kDelete, state.remove},
      {model::Operation::kTruncate, state.truncate},
  };
  std::vector<std::string> missing;
  for (const auto& [operation, published] : operations) {
    const bool wanted =
        std::ranges::any_of(selection.tables, [&, wanted_operation = operation](std::size_t i) {
          const CatalogTable& table = publication.catalog[i];
          return publication.rules.find(table.schema, table.table).takes(wanted_operation);
        });
    if (published || !wanted) {
      continue;
    }
    if (lists_operation(publication.config, operation)) {
      missing.emplace_back(model::name_of(operation));
    } else {
      warnings.push_back(cdc::format("publication {} does not publish {}, so none is captured",
                                     publication.name,
                                     model::name_of(operation)));
    }
  }
  if (missing.empty()) {
    return {};
  }
  return fail(Errc::kSourceSetup,
              cdc::format("publication {} does not publish {}, which the configuration lists",
                          publication.name,
                          join_names(missing)),
              cdc::format("ALTER PUBLICATION {} SET (publish = 'insert, update, delete, truncate')",
                          expr::quote_identifier(publication.name)));
}

}  // namespace

Error missing_publication(const std::string& name) {
  return make_error(Errc::kSourceSetup,
                    cdc::format("publication {} does not exist in this database", name),
                    cdc::format("CREATE PUBLICATION {} FOR TABLE ... WITH "
                                "(publish_via_partition_root = true), or set "
                                "postgres.publication-mode: managed",
                                expr::quote_identifier(name)));
}

Status check_existing_publication(Connection& connection,
                                  const ExistingPublication& publication,
                                  Selection& selection,
                                  std::vector<std::string>& warnings) {
  CDC_ASSIGN(const auto published, load_published(connection, publication.name));
  CDC_TRY(check_tables(publication, published, selection, warnings));
  CDC_TRY(check_operations(publication, selection, warnings));
  std::vector<std::string> filtered;
  for (const std::size_t i : selection.tables) {
    const auto listed = publication.state.tables.find(publication.catalog[i].oid);
    if (listed != publication.state.tables.end() && listed->second) {
      filtered.push_back(publication.catalog[i].name());
    }
  }
  if (!filtered.empty()) {
    warnings.push_back(
        cdc::format("publication {} has row filters or column lists, so not everything comes of {}",
                    publication.name,
                    join_names(filtered)));
  }
  return {};
}

}  // namespace cdc::postgres
