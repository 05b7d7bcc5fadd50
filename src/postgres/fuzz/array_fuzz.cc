// Feeds any bytes as array text. What comes out must be one JSON value on one line, an array
// exactly when the text was one, and never longer than each byte can account for. The first byte
// chooses the element's kind and the delimiter; the rest is PostgreSQL's text.
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
  const auto element = static_cast<ValueKind>((data[0] / 2U) % kKinds);
  const cdc::postgres::ValueType type{
      .kind = ValueKind::kArray,
      .element = element == ValueKind::kArray ? ValueKind::kText : element,
      .delimiter = data[0] % 2U == 0 ? ',' : ';'};
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  cdc::json::TextBuffer out;
  cdc::postgres::render_value(type, text, out);
  CDC_ASSERT(cdc::json::JsonChecker::is_line(out.view()));
  const bool is_array = out.view().front() == '[';
  CDC_ASSERT(is_array || out.view().front() == '"');
  CDC_ASSERT(!is_array || text.back() == '}');
  CDC_ASSERT(out.size() <= 6 * text.size() + 2);
  return 0;
}
