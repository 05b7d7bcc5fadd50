// Feeds any bytes to every kind of value. What comes out must be one JSON value on one line.
// The first byte chooses the kind; the rest is PostgreSQL's text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "json/tests/json_checker.h"
#include "postgres/value_kind.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cdc::postgres::ValueKind;
  if (size == 0) {
    return 0;
  }
  constexpr unsigned kKinds = static_cast<unsigned>(ValueKind::kBooleanText) + 1;
  const cdc::postgres::ValueType type{.kind = static_cast<ValueKind>(data[0] % kKinds)};
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  cdc::json::TextBuffer out;
  cdc::postgres::render_value(type, text, out);
  CDC_ASSERT(cdc::json::JsonChecker::is_line(out.view()));
  CDC_ASSERT(cdc::postgres::operand_of(type, text).text == text);
  return 0;
}
