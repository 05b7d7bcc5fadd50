// Parses arbitrary text as a duration, a size, a list, a connection string and a text with
// references. What parses must print to something that parses back to the same value.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "config/dsn.h"
#include "config/expansion.h"
#include "config/option.h"
#include "config/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace config = cdc::config;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto duration = config::parse_duration(text)) {
    CDC_ASSERT(config::parse_duration(config::format_duration(*duration)).value() == *duration);
  }
  if (const auto bytes = config::parse_size(text)) {
    CDC_ASSERT(config::parse_size(config::format_size(*bytes)).value() == *bytes);
  }
  const config::Environment environment{{"A", "value"}, {"B", ""}};
  if (const auto expanded = config::expand_variables(text, environment)) {
    CDC_ASSERT(text.contains('$') || *expanded == text);
  }
  CDC_ASSERT(config::split_list(text).size() <= size + 1);
  static_cast<void>(config::check_dsn(text).has_value());
  return 0;
}
