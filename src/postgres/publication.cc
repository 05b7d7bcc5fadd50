#include "postgres/publication.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/format.h"
#include "base/log.h"
#include "expr/table_pattern.h"
#include "model/operation.h"
#include "postgres/internal/publication_check.h"
#include "postgres/internal/publication_diagnosis.h"
#include "postgres/publication_catalog.h"
#include "postgres/table_rules.h"
#include "postgres/table_selection.h"

namespace cdc::postgres {

namespace {

constexpr int kVersionWithGeneratedColumns = 180'000;

using Diagnosis = PublicationDiagnosis;

std::optional<Error> find_tables_fault(const Selection& selection) {
  constexpr std::size_t kShown = 20;
  if (!selection.refusals.empty()) {
    return make_error(Errc::kSourceSetup,
                      "tables: " + join_names(selection.refusals, kShown),
                      "names are taken as they stand, upper case and all; a name without a schema "
                      "means public");
  }
  if (selection.tables.empty()) {
    return make_error(Errc::kSourceSetup,
                      "the configuration means no table that exists in this database",
                      "check tables and the database of the source");
  }
  return std::nullopt;
}

// A published table whose rows cannot be told apart; see the header.
std::optional<Error> find_identity_fault(const Diagnosis& now) {
  std::vector<std::string> refused;
  std::string fixes;
  for (const IdentityFault& fault : now.identity_faults) {
    if (fault.accepted || now.is_published(fault)) {
      continue;
    }
    constexpr std::size_t kFixesShown = 10;
    if (refused.size() < kFixesShown) {
      fixes += fault.fix + "; ";
    }
    refused.push_back(now.catalog[fault.relation].name());
  }
  if (refused.empty()) {
    return std::nullopt;
  }
  return make_error(Errc::kSourceSetup,
                    "not published, since UPDATE and DELETE on tables without a replica identity "
                    "would then fail for everyone: " +
                        join_names(refused),
                    fixes +
                        "or add a primary key; where rows are only ever inserted, list "
                        "operations: [insert] for the table");
}

void warn_of_identities(const Diagnosis& now, PublicationPlan& plan) {
  for (const IdentityFault& fault : now.identity_faults) {
    if (now.is_published(fault) || (fault.accepted && !now.existing)) {
      plan.warnings.push_back(cdc::format(
          "UPDATE and DELETE on {} fail, for everyone, while it is published without a replica "
          "identity: {}",
          now.catalog[fault.relation].name(),
          fault.fix));
    }
  }
}

// Each table of a statement takes a lock, and a server has room for some thousands of them.
constexpr std::size_t kTablesPerStatement = 1'000;

using Tables = std::span<const CatalogTable* const>;

std::string table_list(Tables tables) {
  std::string out;
  for (const CatalogTable* table : tables) {
    // ONLY keeps the children of an inheritance parent out; of partitions it makes no difference.
    out.append(out.empty() ? "ONLY " : ", ONLY ").append(table->quoted());
  }
  return out;
}

std::string options_sql(int version) {
  std::string out =
      "publish = 'insert, update, delete, truncate', publish_via_partition_root = true";
  if (version >= kVersionWithGeneratedColumns) {
    out += ", publish_generated_columns = stored";
  }
  return out;
}

bool has_options(const PublicationState& state, int version) noexcept {
  return state.insert && state.update && state.remove && state.truncate && state.via_root &&
         (version < kVersionWithGeneratedColumns || state.stored_generated);
}

// What the statements of a plan need rights for.
struct Needs {
  bool create = false;                      // a new publication
  std::vector<const CatalogTable*> adding;  // tables that become published
};

// `action` is ADD or DROP.
void plan_in_parts(std::string_view action, Tables tables, PublicationPlan& plan) {
  while (!tables.empty()) {
    const std::size_t part = std::min(tables.size(), kTablesPerStatement);
    plan.statements.push_back(cdc::format("ALTER PUBLICATION {} {} TABLE {}",
                                          expr::quote_identifier(plan.name),
                                          action,
                                          table_list(tables.first(part))));
    tables = tables.subspan(part);
  }
}

std::string create_sql(const std::string& name, const std::string& target, int version) {
  return cdc::format("CREATE PUBLICATION {} {} WITH ({})",
                     expr::quote_identifier(name),
                     target,
                     options_sql(version));
}

Needs plan_creation(const Diagnosis& now, int version, bool all_tables, PublicationPlan& plan) {
  Needs needs{.create = true, .adding = {}};
  for (const std::size_t i : now.selection.tables) {
    needs.adding.push_back(&now.catalog[i]);
  }
  const Tables tables = needs.adding;
  if (all_tables) {
    plan.statements.push_back(create_sql(plan.name, "FOR ALL TABLES", version));
    return needs;
  }
  const std::size_t first = std::min(tables.size(), kTablesPerStatement);
  plan.statements.push_back(
      create_sql(plan.name, "FOR TABLE " + table_list(tables.first(first)), version));
  plan_in_parts("ADD", tables.subspan(first), plan);
  return needs;
}

// Whether a publication is one of all tables is fixed when it is created. Both statements go in
// one, however many tables there are: a change between the two would be published by neither.
Needs plan_replacement(const Diagnosis& now, int version, bool all_tables, PublicationPlan& plan) {
  Needs needs{.create = true, .adding = {}};
  for (const std::size_t i : now.selection.tables) {
    needs.adding.push_back(&now.catalog[i]);
  }
  const std::string target =
      all_tables ? "FOR ALL TABLES" : "FOR TABLE " + table_list(needs.adding);
  plan.statements.push_back(cdc::format("DROP PUBLICATION {}; {}",
                                        expr::quote_identifier(plan.name),
                                        create_sql(plan.name, target, version)));
  return needs;
}

// What is published beyond the configuration goes: the server must not send, nor anyone with access
// to the publication see, what was taken out of the list. Additions come first, so that nothing is
// missed when a partition gives way to its root.
Needs plan_table_changes(const Diagnosis& now,
                         const PublicationState& state,
                         PublicationPlan& plan) {
  const std::string quoted_name = expr::quote_identifier(plan.name);
  Needs needs;
  std::vector<const CatalogTable*> all;
  std::vector<const CatalogTable*> filtered;  // listed with a row filter or column list
  std::unordered_set<std::uint32_t> wanted;
  for (const std::size_t i : now.selection.tables) {
    const CatalogTable& table = now.catalog[i];
    all.push_back(&table);
    wanted.insert(table.oid);
    const auto present = state.tables.find(table.oid);
    if (present == state.tables.end()) {
      needs.adding.push_back(&table);
    } else if (present->second) {
      filtered.push_back(&table);
    }
  }
  if (state.has_schemas) {
    plan.statements.push_back(
        cdc::format("ALTER PUBLICATION {} SET TABLE {}", quoted_name, table_list(all)));
    needs.adding = std::move(all);
    return needs;
  }
  plan_in_parts("ADD", needs.adding, plan);
  if (!filtered.empty()) {
    plan.statements.push_back(
        cdc::format("ALTER PUBLICATION {0} DROP TABLE {1}; ALTER PUBLICATION {0} ADD TABLE {1}",
                    quoted_name,
                    table_list(filtered)));
    needs.adding.insert(needs.adding.end(), filtered.begin(), filtered.end());
  }
  std::vector<const CatalogTable*> dropping;
  for (const CatalogTable& table : now.catalog) {
    if (state.tables.contains(table.oid) && !wanted.contains(table.oid)) {
      dropping.push_back(&table);
    }
  }
  plan_in_parts("DROP", dropping, plan);
  return needs;
}

Needs plan_statements(const Diagnosis& now,
                      int version,
                      bool want_all_tables,
                      PublicationPlan& plan) {
  const bool all_tables =
      want_all_tables && (now.rights.superuser || (now.state && now.state->all_tables));
  if (want_all_tables && !all_tables) {
    plan.warnings.emplace_back(
        "the role is no superuser, so the publication lists the tables that exist now; tables made "
        "later are taken at the next start");
  }
  if (!now.state) {
    return plan_creation(now, version, all_tables, plan);
  }
  if (now.state->all_tables != all_tables) {
    return plan_replacement(now, version, all_tables, plan);
  }
  if (!has_options(*now.state, version)) {
    plan.statements.push_back(cdc::format(
        "ALTER PUBLICATION {} SET ({})", expr::quote_identifier(plan.name), options_sql(version)));
  }
  return all_tables ? Needs{} : plan_table_changes(now, *now.state, plan);
}

std::string joined_statements(const PublicationPlan& plan) {
  constexpr std::size_t kBytesShown = 4'000;
  std::string out;
  for (const std::string& statement : plan.statements) {
    out += (out.empty() ? "" : "; ") + statement;
  }
  return out.size() <= kBytesShown ? out : out.substr(0, kBytesShown) + "...";
}

// All missing rights at once, each with the statement that gives it.
std::optional<Error> find_rights_fault(const Diagnosis& now, const Needs& needs) {
  const PublicationPlan& plan = now.plan;
  if (plan.statements.empty()) {
    return std::nullopt;
  }
  if (now.rights.in_recovery) {
    return make_error(Errc::kSourceSetup,
                      cdc::format("publication {} does not match the configuration, and the server "
                                  "is a standby, where it cannot be changed",
                                  plan.name),
                      "run at the primary: " + joined_statements(plan));
  }
  if (now.rights.superuser) {
    return std::nullopt;
  }
  const std::string role = expr::quote_identifier(now.rights.user);
  std::vector<std::string> missing;
  std::set<std::string> grants;
  if (needs.create && !now.rights.may_create) {
    missing.push_back(cdc::format("CREATE on database {}", now.rights.database));
    grants.insert(cdc::format(
        "GRANT CREATE ON DATABASE {} TO {}", expr::quote_identifier(now.rights.database), role));
  }
  const auto need_owner = [&](const std::string& owner) {
    grants.insert(cdc::format("GRANT {} TO {}", expr::quote_identifier(owner), role));
  };
  if (now.state && !now.state->owned) {
    missing.push_back(cdc::format("ownership of publication {}", plan.name));
    need_owner(now.state->owner);
  }
  std::vector<std::string> foreign;
  for (const CatalogTable* table : needs.adding) {
    if (!table->owned) {
      foreign.push_back(table->name());
      need_owner(table->owner);
    }
  }
  if (!foreign.empty()) {
    missing.push_back("ownership of " + join_names(foreign));
  }
  if (missing.empty()) {
    return std::nullopt;
  }
  return make_error(
      Errc::kPermission,
      cdc::format("publication {} does not match the configuration, and the role {} may not change "
                  "it; it lacks {}",
                  plan.name,
                  now.rights.user,
                  join_names(missing)),
      cdc::format("either run as a superuser: {}; or: {}",
                  joined_statements(plan),
                  join_names({grants.begin(), grants.end()})));
}

Result<Diagnosis> load_facts(Connection& connection, const config::Config& config) {
  CDC_ASSIGN(SessionRights rights, load_session_rights(connection));
  CDC_ASSIGN(auto catalog, list_catalog_tables(connection));
  CDC_ASSIGN(TableRules rules, TableRules::create(config));
  CDC_ASSIGN(Selection selection, select_tables(catalog, rules, config));
  CDC_ASSIGN(auto state, load_publication(connection, publication_name(config)));
  PublicationPlan plan{.name = publication_name(config),
                       .statements = {},
                       .tables = {},
                       .warnings = selection.warnings};
  return Diagnosis{.rights = std::move(rights),
                   .catalog = std::move(catalog),
                   .rules = std::move(rules),
                   .selection = std::move(selection),
                   .state = std::move(state),
                   .existing = config.postgres.publication_existing,
                   .identity_faults = {},
                   .plan = std::move(plan),
                   .publication_warnings = {},
                   .tables_fault = std::nullopt,
                   .identity_fault = std::nullopt,
                   .publication_fault = std::nullopt};
}

}  // namespace

std::string publication_name(const config::Config& config) {
  return config.postgres.publication.empty() ? "kaptanto_pub_" + config.source_id
                                             : config.postgres.publication;
}

bool PublicationDiagnosis::is_published(const IdentityFault& fault) const {
  return state && (state->update || state->remove) &&
         (existing || state->all_tables || state->tables.contains(catalog[fault.table].oid));
}

std::vector<std::string> PublicationDiagnosis::keyless_tables() const {
  std::vector<std::string> keyless;
  for (const std::size_t i : selection.tables) {
    if (!catalog[i].has_primary_key && catalog[i].replica_identity != 'i') {
      keyless.push_back(catalog[i].name());
    }
  }
  return keyless;
}

Result<PublicationDiagnosis> diagnose_publication(Connection& connection,
                                                  const config::Config& config) {
  CDC_ASSIGN(Diagnosis now, load_facts(connection, config));
  PublicationPlan& plan = now.plan;
  now.tables_fault = find_tables_fault(now.selection);
  if (now.existing && !now.state) {
    now.publication_fault = missing_publication(plan.name);
  } else if (now.existing && now.state) {
    auto checked = check_existing_publication(connection,
                                              ExistingPublication{.name = plan.name,
                                                                  .state = *now.state,
                                                                  .config = config,
                                                                  .catalog = now.catalog,
                                                                  .rules = now.rules},
                                              now.selection,
                                              now.publication_warnings);
    if (!checked) {
      now.publication_fault = std::move(checked).error();
    }
    plan.warnings.insert(
        plan.warnings.end(), now.publication_warnings.begin(), now.publication_warnings.end());
  } else if (!now.selection.tables.empty()) {
    const Needs needs = plan_statements(now, connection.server_version(), config.all_tables, plan);
    now.publication_fault = find_rights_fault(now, needs);
  }
  now.identity_faults = find_identity_faults(now.catalog, now.selection, now.rules);
  if (!now.existing) {
    now.identity_fault = find_identity_fault(now);
  }
  warn_of_identities(now, plan);
  for (const std::size_t i : now.selection.tables) {
    plan.tables.push_back(now.catalog[i].name());
  }
  return now;
}

Result<PublicationPlan> plan_publication(Connection& connection, const config::Config& config) {
  auto diagnosed = diagnose_publication(connection, config);
  if (!diagnosed) {
    return fail(with_context(std::move(diagnosed).error(), "plan the publication"));
  }
  for (std::optional<Error>* fault :
       {&diagnosed->tables_fault, &diagnosed->identity_fault, &diagnosed->publication_fault}) {
    if (*fault) {
      return fail(*std::move(*fault));
    }
  }
  const std::vector<std::string> keyless = diagnosed->keyless_tables();
  if (!keyless.empty()) {
    diagnosed->plan.warnings.push_back(
        "without a primary key a row's events have no common key, only a hash of the row's "
        "values: " +
        join_names(keyless));
  }
  return std::move(diagnosed->plan);
}

Status apply_publication(Connection& connection, const PublicationPlan& plan) {
  if (plan.statements.empty()) {
    return {};
  }
  // The server runs the statements of one text in one transaction.
  constexpr std::size_t kLoggedBytes = 2'000;
  CDC_TRY(connection.query("SET lock_timeout = '10s'"));
  for (const std::string& statement : plan.statements) {
    auto done = connection.query(statement, {}, std::chrono::minutes{2});
    if (!done) {
      // On a connection that is lost, this fails too, and the first error is the one that matters.
      if (const auto reset = connection.query("RESET lock_timeout"); !reset) {
        log::debug("lock_timeout is not reset", {{"error", reset.error().message}});
      }
      return fail(
          with_context(std::move(done).error(), cdc::format("change publication {}", plan.name)));
    }
    log::info("publication changed",
              {{"publication", plan.name}, {"sql", statement.substr(0, kLoggedBytes)}});
  }
  CDC_TRY(connection.query("RESET lock_timeout"));
  return {};
}

}  // namespace cdc::postgres
