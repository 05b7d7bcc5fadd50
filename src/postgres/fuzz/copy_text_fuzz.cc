// Feeds any bytes as a row of COPY text. The first byte is the number of columns. A row that is
// taken has that many columns, which are together no longer than the row without its separators.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "postgres/internal/copy_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::size_t columns = data[0];
  std::vector<char> row(data + 1, data + size);
  std::vector<cdc::postgres::ColumnData> taken;
  if (cdc::postgres::internal::parse_copy_row(row, columns, taken)) {
    CDC_ASSERT(taken.size() == columns);
    std::size_t bytes = columns == 0 ? 1 : columns;
    for (const auto& column : taken) {
      bytes += column.text.size();
      CDC_ASSERT(column.text.empty() ||
                 (column.text.data() >= row.data() &&
                  column.text.data() + column.text.size() <= row.data() + row.size()));
    }
    CDC_ASSERT(bytes <= row.size());
  }
  return 0;
}
