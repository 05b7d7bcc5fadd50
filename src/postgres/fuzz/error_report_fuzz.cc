// Feeds any bytes as libpq's verbose error text, which a server words as it likes. What becomes of
// it must be one line with a class.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "postgres/catalog.h"
#include "postgres/server_error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = cdc::postgres::parse_verbose_report(text);
  CDC_ASSERT(report.sqlstate.empty() || report.sqlstate.size() == 5);
  CDC_ASSERT(report.message.find('\n') == std::string::npos);
  const cdc::Error error = cdc::postgres::classify(report, "try");
  CDC_ASSERT(error.message.starts_with("try: "));
  CDC_ASSERT(cdc::postgres::parse_name_array(text).size() <= text.size());
  return 0;
}
