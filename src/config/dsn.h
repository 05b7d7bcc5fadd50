#pragma once

#include <string_view>

#include "base/result.h"

namespace cdc::config {

// Whether `dsn` has the shape of a PostgreSQL connection string: a postgres:// or postgresql://
// URI, or libpq's keyword form (`host=... user=...`). What the words mean is libpq's business.
// Errors: kConfigInvalid, or kUnsupported for MongoDB. Messages never hold any part of the text,
// since it may be a password; only a well-formed scheme is named.
[[nodiscard]] Status check_dsn(std::string_view dsn);

}  // namespace cdc::config
