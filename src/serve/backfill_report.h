#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "state/backfill_store.h"

namespace cdc::serve {

// How much of the expected rows has been read, 0 to 100. Below 100 until the table is complete,
// because what is expected is an estimate. Nothing when it is unknown.
[[nodiscard]] std::optional<double> percent_of(const state::BackfillTable& table);

// One table as the admin API shows it: docs/operating/backfill.md.
[[nodiscard]] std::string backfill_json(const state::BackfillTable& table);
// The items of a list of them, without the brackets.
[[nodiscard]] std::string backfill_items_json(const std::vector<state::BackfillTable>& tables);

// Reads what backfill_json() writes, or a {"backfills":[…]} of them. Errors: kProtocol.
[[nodiscard]] Result<std::vector<state::BackfillTable>> parse_backfills(std::string_view text);

// The table that a user means: table, schema.table, parts quoted where they hold odd characters.
// Errors: kNotFound; kInvalidArgument when several schemas have one of this name.
[[nodiscard]] Result<state::BackfillTable> find_backfill(
    const std::vector<state::BackfillTable>& tables, std::string_view name);

}  // namespace cdc::serve
