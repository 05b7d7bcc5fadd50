#include <set>
#include <string>
#include <vector>

#include "base/format.h"
#include "expr/table_pattern.h"
#include "postgres/internal/doctor_checks.h"
#include "postgres/internal/publication_diagnosis.h"

namespace cdc::postgres {

namespace {

// The report stays readable with ten thousand tables; the same fault is then mended for the first
// ones and the rest shows at the next run.
constexpr std::size_t kLinesMax = 50;

void report_selection(const PublicationDiagnosis& diagnosis, Findings& findings) {
  for (const std::string& refusal : diagnosis.selection.refusals) {
    findings.fail("tables", refusal, "correct tables in the configuration, or create the table");
  }
  if (diagnosis.selection.refusals.empty() && diagnosis.tables_fault) {
    findings.fail("tables", *diagnosis.tables_fault);
  }
  if (!diagnosis.tables_fault) {
    findings.pass(
        "tables",
        cdc::format(
            "{} to capture: {}", diagnosis.plan.tables.size(), join_names(diagnosis.plan.tables)));
  }
}

void report_identities(const PublicationDiagnosis& diagnosis, Findings& findings) {
  std::size_t lines = 0;
  for (const IdentityFault& fault : diagnosis.identity_faults) {
    if (++lines > kLinesMax) {
      findings.fail("replica_identity",
                    cdc::format("and {} tables more", diagnosis.identity_faults.size() - kLinesMax),
                    "mend the tables above and run the check again");
      return;
    }
    const std::string name = diagnosis.catalog[fault.relation].name();
    if (fault.accepted || (diagnosis.existing && !diagnosis.is_published(fault))) {
      findings.warn("replica_identity",
                    name + " has none: UPDATE and DELETE on it fail where they are published",
                    fault.fix);
    } else if (diagnosis.is_published(fault)) {
      findings.fail("replica_identity",
                    name + " has none and is published: UPDATE and DELETE on it fail for everyone",
                    fault.fix);
    } else {
      findings.fail("replica_identity",
                    name + " has none: published, UPDATE and DELETE on it would fail for everyone",
                    fault.fix);
    }
  }
  if (diagnosis.identity_faults.empty()) {
    findings.pass("replica_identity", "every table can tell its rows apart");
  }
}

void report_keys(const PublicationDiagnosis& diagnosis, Findings& findings) {
  const std::vector<std::string> keyless = diagnosis.keyless_tables();
  if (keyless.empty()) {
    findings.pass("keys", "every table has a key");
    return;
  }
  findings.warn("keys",
                "no primary key, so a row's events have no common key, only a hash of the row's "
                "values: " +
                    join_names(keyless, kLinesMax),
                "ALTER TABLE ... ADD PRIMARY KEY (...)");
}

// The stream itself needs no SELECT; reading existing rows does.
void report_grants(const PublicationDiagnosis& diagnosis, Findings& findings) {
  const std::string role = expr::quote_identifier(diagnosis.rights.user);
  std::set<std::string> schemas;
  std::vector<std::string> names;
  std::string tables;
  for (const std::size_t i : diagnosis.selection.tables) {
    const CatalogTable& table = diagnosis.catalog[i];
    if (!table.may_use_schema) {
      schemas.insert(expr::quote_identifier(table.schema));
    }
    if (!table.may_select) {
      names.push_back(table.name());
      if (names.size() <= kLinesMax) {
        tables += (tables.empty() ? "" : ", ") + table.quoted();
      }
    }
  }
  if (!schemas.empty()) {
    const std::string list = join_names({schemas.begin(), schemas.end()}, kLinesMax);
    findings.warn("schema_usage",
                  "missing on schema " + list,
                  cdc::format("GRANT USAGE ON SCHEMA {} TO {}", list, role));
  }
  if (!names.empty()) {
    findings.warn("select",
                  "missing on " + join_names(names),
                  cdc::format("GRANT SELECT ON {} TO {}", tables, role));
  }
  if (schemas.empty() && names.empty()) {
    findings.pass("grants", "USAGE and SELECT on everything to capture");
  }
}

void report_publication(const PublicationDiagnosis& diagnosis,
                        const DoctorContext& context,
                        Findings& findings) {
  const PublicationPlan& plan = diagnosis.plan;
  for (const std::string& warning : diagnosis.selection.warnings) {
    findings.warn("tables", warning, "");
  }
  for (const std::string& warning : diagnosis.publication_warnings) {
    findings.warn("publication", warning, "");
  }
  if (diagnosis.publication_fault) {
    findings.fail("publication", *diagnosis.publication_fault);
  } else if (plan.statements.empty()) {
    findings.pass("publication", plan.name + " matches the configuration");
  } else {
    findings.pass("publication",
                  cdc::format("{} is to be {} at the next start",
                              plan.name,
                              diagnosis.state ? "altered" : "created"));
  }
  if (!diagnosis.state && context.own_slot() != nullptr) {
    findings.warn(
        "publication_after_slot",
        cdc::format("slot {} exists and publication {} does not: the stream looks it up as "
                    "it was at the slot's position",
                    context.own_slot()->name,
                    plan.name),
        cdc::format("SELECT pg_drop_replication_slot('{}'), if nothing was read from it yet",
                    context.own_slot()->name));
  }
}

void report_create_right(const PublicationDiagnosis& diagnosis,
                         const DoctorContext& context,
                         Findings& findings) {
  const SessionRights& rights = diagnosis.rights;
  if (context.config.postgres.publication_existing || diagnosis.state || rights.may_create) {
    findings.pass("database_create", rights.may_create ? "granted" : "not needed");
    return;
  }
  findings.fail(
      "database_create",
      cdc::format("{} may not create a publication in database {}", rights.user, rights.database),
      cdc::format("GRANT CREATE ON DATABASE {} TO {}",
                  expr::quote_identifier(rights.database),
                  expr::quote_identifier(rights.user)));
}

}  // namespace

void check_tables(const DoctorContext& context, Findings& findings) {
  const auto diagnosis = diagnose_publication(context.connection, context.config);
  if (!diagnosis) {
    findings.fail("tables", diagnosis.error());
    return;
  }
  report_selection(*diagnosis, findings);
  report_identities(*diagnosis, findings);
  report_keys(*diagnosis, findings);
  report_grants(*diagnosis, findings);
  report_create_right(*diagnosis, context, findings);
  report_publication(*diagnosis, context, findings);
}

}  // namespace cdc::postgres
