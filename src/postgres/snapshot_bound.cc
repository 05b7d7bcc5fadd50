// Key values as one text: per value its length in decimal, a colon and its bytes, as in
// `3:abc5:hello`.
#include <charconv>
#include <system_error>

#include "base/format.h"
#include "postgres/snapshot_table.h"

namespace cdc::postgres {

std::string encode_bound(const std::vector<std::string>& values) {
  std::string bound;
  for (const std::string& value : values) {
    bound += format("{}:", value.size());
    bound += value;
  }
  return bound;
}

Result<std::vector<std::string>> decode_bound(std::string_view bound) {
  std::vector<std::string> values;
  while (!bound.empty()) {
    std::size_t size = 0;
    const auto [end, fault] = std::from_chars(bound.data(), bound.data() + bound.size(), size);
    const auto digits = static_cast<std::size_t>(end - bound.data());
    // One spelling per number: what is decoded encodes to the same bytes.
    const bool padded = digits > 1 && bound.front() == '0';
    if (fault != std::errc{} || padded || digits >= bound.size() || bound[digits] != ':' ||
        bound.size() - digits - 1 < size) {
      return fail(Errc::kCorrupt,
                  format("a bound of a backfill is damaged, {} bytes before its end", bound.size()),
                  "begin the table's backfill again");
    }
    values.emplace_back(bound.substr(digits + 1, size));
    bound.remove_prefix(digits + 1 + size);
  }
  return values;
}

}  // namespace cdc::postgres
