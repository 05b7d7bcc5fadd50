#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "expr/condition.h"
#include "json/text_buffer.h"

namespace cdc::postgres {

// How a column's text becomes JSON. Decided once per relation from the type, then one switch per
// value.
enum class ValueKind : std::uint8_t {
  kText,         // JSON string of the text
  kNumber,       // int2, int4, int8, numeric, float4, float8: bare when finite, else string
  kBoolean,      // t/f to true/false
  kJson,         // json, jsonb: verbatim, with line breaks outside strings turned to spaces
  kTimestamp,    // 2026-01-02 03:04:05.6 to 2026-01-02T03:04:05.6
  kTimestampTz,  // 2026-01-02 03:04:05.6+00 to 2026-01-02T03:04:05.6Z
  kArray,        // {..} to a JSON array; element kind and delimiter beside it
  kNumberText,   // a number that values.int8, values.numeric or values.mode makes a JSON string
  kBooleanText,  // a boolean that values.mode makes a JSON string: "t" or "f"
};

// What the renderer needs to know of a type.
struct ValueType {
  ValueKind kind = ValueKind::kText;
  ValueKind element = ValueKind::kText;  // of arrays; never kArray
  char delimiter = ',';                  // of arrays
};

// A row of pg_type that is not simply text: domains and arrays.
struct TypeRow {
  std::uint32_t oid = 0;
  std::uint32_t base_oid = 0;     // domains: the type underneath
  std::uint32_t element_oid = 0;  // arrays
  char delimiter = ',';           // arrays: the element type's delimiter
};

// Resolves type OIDs to ValueTypes: built-in types by number, others through pg_type rows. A domain
// is what stands under it, at up to 32 levels. An unknown type is text, and so are the elements of
// an array of domains over arrays. Thread: one owner.
class TypeCatalog {
 public:
  explicit TypeCatalog(config::ValueOptions options) : options_(options) {}

  // Replaces what is known of user-defined types.
  void load(const std::vector<TypeRow>& rows);
  [[nodiscard]] ValueType resolve(std::uint32_t type_oid) const;
  // True when the OID is built in or in the loaded rows or below the highest loaded OID; false
  // means that the type may be newer than the last load. The newest enum or composite stays unknown
  // until a row stands for it or for a later type.
  [[nodiscard]] bool knows(std::uint32_t type_oid) const;

 private:
  [[nodiscard]] ValueType resolve_depth(std::uint32_t type_oid, int depth) const;
  config::ValueOptions options_;
  std::unordered_map<std::uint32_t, TypeRow> rows_;
  std::uint32_t highest_ = 0;
};

// Appends the JSON of one non-null value, which is one line of valid UTF-8 whatever the bytes of
// `text`. `text` is PostgreSQL's output under the pinned session settings and not a part of `out`.
// Text that is not what its type promises is rendered as a JSON string, never dropped and never an
// invalid document; bytes that are not UTF-8, which databases with encoding SQL_ASCII may hold,
// become U+FFFD. Never allocates besides growing `out`, never recurses without bound.
void render_value(ValueType type, std::string_view text, json::TextBuffer& out);

// The same value as a `where` condition sees it.
[[nodiscard]] expr::Operand operand_of(ValueType type, std::string_view text) noexcept;

}  // namespace cdc::postgres
