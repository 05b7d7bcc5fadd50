#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "postgres/snapshot_table.h"

// SQL that the files about snapshots share.
namespace cdc::postgres::internal {

// Any text as a literal; standard_conforming_strings is pinned to on. Text never holds a zero.
[[nodiscard]] std::string quote_literal(std::string_view text);

// An expression for the signature of the table whose OID the expression `oid` gives. A table that
// is read by key can be written anew (VACUUM FULL, CLUSTER) without its keys changing.
[[nodiscard]] std::string signature_sql(std::string_view oid, bool by_key);

// "a", "b"
[[nodiscard]] std::string key_list_sql(const SnapshotTable& table);

// The part of the condition that the server certainly understands as we do, and that cannot fail:
// ANDed tests, or an empty text. The condition itself is checked on every row that comes.
[[nodiscard]] std::string condition_sql(const Relation& relation);

// The rows of a range of keys, without the table's filter; "true" when both ends are open.
// Errors: kCorrupt for bounds that are no keys of this table.
[[nodiscard]] Result<std::string> key_range_sql(const SnapshotTable& table,
                                                const SnapshotRange& range);

// The statement inside COPY. Rows by block have ctid and xmin behind the columns.
[[nodiscard]] std::string select_by_key_sql(const SnapshotTable& table,
                                            const SnapshotPart& part,
                                            std::string_view range,
                                            std::uint64_t rows_max);
[[nodiscard]] std::string select_by_block_sql(const SnapshotTable& table,
                                              const SnapshotPart& part,
                                              std::uint32_t first,
                                              std::uint32_t end);

}  // namespace cdc::postgres::internal
