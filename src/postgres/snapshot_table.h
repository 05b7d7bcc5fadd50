#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "postgres/connection.h"
#include "postgres/publication_catalog.h"
#include "postgres/relation.h"
#include "postgres/table_rules.h"

namespace cdc::postgres {

// What the publication publishes and the rules capture, in one query, whatever their number.
[[nodiscard]] Result<std::vector<PublishedTable>> list_published_tables(
    Connection& connection, std::string_view publication, const TableRules& rules);

// A relation to read rows from: the table itself, or each leaf partition of it.
struct SnapshotPart {
  std::uint32_t oid = 0;
  std::string quoted;          // "schema"."table"
  std::uint64_t pages = 0;     // of 8 KiB, at the time of the description
  std::int64_t rows = -1;      // the planner's estimate; -1: never analysed
  std::int64_t row_bytes = 0;  // estimate, out-of-line values included
  // Of the relation's file and of its columns: a part that was rewritten or altered has another.
  std::string signature;
};

// How existing rows of a table are read, and what makes them `read` events.
//
// By key    Ranges of the key's columns, in the order of its index: rows that move while they are
//           read keep their place.
// By block  Tables without a key: ranges of 8 KiB blocks. A row that moved is told by its writer.
// Columns   Those that the stream sends: the publication's column list, no generated columns unless
//           they are published. The rule's own columns and condition are applied here as there.
struct SnapshotTable {
  struct KeyColumn {
    std::uint16_t index = 0;  // in relation.columns
    std::string quoted;
    std::string type;             // SQL name of the type under domains, for casts
    std::string operator_schema;  // quoted: where < <= = >= > of the key's order are
  };

  PublishedTable published;
  Relation relation;
  std::vector<KeyColumn> key;  // empty: by block
  std::vector<SnapshotPart> parts;
  std::string select_list;  // quoted columns, in relation.columns' order
  std::string filter;  // SQL of the publication's row filter and of the condition; may be empty

  [[nodiscard]] bool by_key() const noexcept { return !key.empty(); }
};

// `rules`, `types` and what they hold outlive the table.
struct SnapshotSource {
  std::string publication;
  std::string source_id;
  const TableRules* rules = nullptr;
  TypeCatalog* types = nullptr;  // completed when the table has types it does not know
};

// Errors  kNotFound: no such table or publication. kPermission: no right to read it; the hint
//         has the SQL. kSourceSetup: it cannot be read as it is. Otherwise as the server says.
[[nodiscard]] Result<SnapshotTable> describe_snapshot_table(Connection& connection,
                                                            const PublishedTable& table,
                                                            const SnapshotSource& source);

// A share of a part. Bounds are exact texts that can be stored: encoded key values, or a block
// number; empty: open. By key, rows above `lower` up to and including `upper`; by block, blocks
// from `lower` up to but not including `upper`.
struct SnapshotRange {
  std::uint32_t part_oid = 0;
  std::string lower;
  std::string upper;
};

// Cuts the parts into ranges of about `rows_wanted` rows, at most `ranges_max` in all, from a
// sample; one range per part when that is not possible or not worth it.
[[nodiscard]] Result<std::vector<SnapshotRange>> split_snapshot_table(Connection& connection,
                                                                      const SnapshotTable& table,
                                                                      std::uint64_t rows_wanted,
                                                                      std::size_t ranges_max);

// Key values as one text, and back. Any bytes; never empty for at least one value.
[[nodiscard]] std::string encode_bound(const std::vector<std::string>& values);
// Errors: kCorrupt.
[[nodiscard]] Result<std::vector<std::string>> decode_bound(std::string_view bound);

}  // namespace cdc::postgres
