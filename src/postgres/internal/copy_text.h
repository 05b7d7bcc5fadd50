#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "postgres/pgoutput_protocol.h"

// Purpose     Takes apart rows of COPY TO STDOUT in text format, one row at a time.
// Layout      Columns separated by tabs, a line break at the end. \N is null. In other columns
//             \b \f \n \r \t \v are control characters, \ooo (one to three octal digits) and \xhh
//             (one or two hexadecimal digits) a byte, and a backslash before anything else stands
//             for that character. All other bytes stand for themselves.
// Checksum    None; TCP and TLS have theirs.
// Limits      A row is at most 1 GB (PostgreSQL's own bound); the caller says how many columns.
// Endings     Wrong number of columns, a raw line break or a backslash at the end: false, and the
//             output is unspecified.
// Invariants  C1 no read or write outside the row. C2 every byte of the row is accounted for.
// Thread      Pure function. Lifetime: every view points into the row.
// Example     1 09 61 5C 74 62 09 5C 4E 0A  has the columns "1", "a<tab>b" and null.
// Spec        PostgreSQL documentation, COPY, "Text Format".
namespace cdc::postgres::internal {

// Unescapes `row` in place; `out` is resized to `columns`.
[[nodiscard]] bool parse_copy_row(std::span<char> row,
                                  std::size_t columns,
                                  std::vector<ColumnData>& out);

}  // namespace cdc::postgres::internal
