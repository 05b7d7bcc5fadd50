// Parses arbitrary text as a table name. An exact pattern must match what it names, survive
// quoting, and a glob must agree with itself on the literal it was made from.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "expr/table_pattern.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace expr = cdc::expr;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view half = text.substr(0, size / 2);
  if (size <= 4096) {
    static_cast<void>(expr::glob_matches(half, text.substr(size / 2)));
    CDC_ASSERT(expr::glob_matches("*", text));
  }
  const auto pattern = expr::TablePattern::parse(text);
  if (!pattern) {
    CDC_ASSERT(pattern.error().code == cdc::Errc::kConfigInvalid);
    return 0;
  }
  static_cast<void>(pattern->matches(half, text));
  if (!pattern->is_exact()) {
    return 0;
  }
  CDC_ASSERT(pattern->matches(pattern->schema(), pattern->table()));
  if (pattern->has_schema()) {
    const auto again =
        expr::TablePattern::parse(expr::quote_table(pattern->schema(), pattern->table()));
    // Quoting may take a name over the bound on its text; nothing else may go wrong.
    CDC_ASSERT(again || size > 500);
    CDC_ASSERT(!again ||
               (again->schema() == pattern->schema() && again->table() == pattern->table()));
  }
  return 0;
}
