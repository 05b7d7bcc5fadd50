#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "postgres/connection.h"
#include "postgres/doctor.h"
#include "postgres/publication_catalog.h"
#include "postgres/slot_catalog.h"

namespace cdc::postgres {

// Collects the findings of the preflight in the order in which they are made.
class Findings {
 public:
  void pass(std::string name, std::string detail);
  void warn(std::string name, std::string detail, std::string fix);
  void fail(std::string name, std::string detail, std::string fix);
  // What could not be found out is a fault too: nothing may pass unseen.
  void fail(std::string name, const Error& error);

  [[nodiscard]] std::vector<Check> take() { return std::move(checks_); }

 private:
  std::vector<Check> checks_;
};

// What several checks look at. A part that could not be read is empty and has been reported.
struct DoctorContext {
  const config::Config& config;
  Connection& connection;
  std::map<std::string, std::string, std::less<>> settings;  // pg_settings, in their base units
  std::optional<SessionRights> rights;
  std::optional<std::vector<SlotRow>> slots;

  // Empty where this server has no such setting.
  [[nodiscard]] std::string_view setting(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
  // Ours, if it exists.
  [[nodiscard]] const SlotRow* own_slot() const;
};

// Version, standby, pooler, wal_level, output plugins, encoding, role attributes.
void check_server(const DoctorContext& context, Findings& findings);
// Room for a slot and a walsender, state of our slot, orphans, limits, long transactions.
void check_slots(const DoctorContext& context, Findings& findings);
// Tables, replica identities, keys, grants and the publication.
void check_tables(const DoctorContext& context, Findings& findings);

// "1.5 GiB"
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

}  // namespace cdc::postgres
