#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cdc::expr {

// A table as users write it: `orders`, `public.orders`, `public."We""ird.Name"`, `sales.*`,
// `*.orders_2*`, `*`. Unquoted text is taken as it stands (no case folding) and may hold `*` for
// any run of characters; quoted text is literal.
class TablePattern {
 public:
  // Errors: kConfigInvalid naming the fault (empty part, unclosed quote, more than two parts).
  [[nodiscard]] static Result<TablePattern> parse(std::string_view text);

  [[nodiscard]] bool matches(std::string_view schema, std::string_view table) const noexcept;

  [[nodiscard]] bool is_exact() const noexcept { return exact_; }  // no `*`

  // For exact patterns. A pattern without schema means any schema when matching; `public` when a
  // table must be named (publication).
  [[nodiscard]] const std::string& schema() const noexcept { return schema_; }

  [[nodiscard]] const std::string& table() const noexcept { return table_; }

  [[nodiscard]] bool has_schema() const noexcept { return has_schema_; }

 private:
  std::string schema_;  // literal text, or glob with kStar for `*`
  std::string table_;
  bool has_schema_ = false;
  bool exact_ = true;
  static constexpr char kStar = '\0';  // cannot occur in a name
};

// "schema"."table" with quotes doubled, for SQL.
[[nodiscard]] std::string quote_identifier(std::string_view name);
[[nodiscard]] std::string quote_table(std::string_view schema, std::string_view table);

// `*` glob over plain text, used for message prefixes too.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace cdc::expr
