#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/operation.h"
#include "postgres/catalog.h"
#include "postgres/pgoutput_protocol.h"
#include "postgres/table_rules.h"
#include "postgres/value_kind.h"

namespace cdc::postgres {

// A relation message, kept: what the server said of a table's shape at this point of the stream.
struct RelationShape {
  struct Column {
    std::string name;
    std::uint32_t type_oid = 0;
    std::int32_t type_modifier = -1;
    bool identity = false;

    bool operator==(const Column&) const = default;
  };

  std::uint32_t oid = 0;
  std::string schema;
  std::string table;
  char replica_identity = 'd';
  std::vector<Column> columns;

  bool operator==(const RelationShape&) const = default;

  [[nodiscard]] static RelationShape copy_of(const RelationMessage& message);

  [[nodiscard]] std::string full_name() const { return schema + "." + table; }
};

// A table made ready for rows: everything about it that an event needs, rendered once.
//
// Key       Columns in the order of the primary key; of the replica identity index when the
//           identity is USING INDEX, because deletes carry nothing else; when there is neither, the
//           key is a hash of the row (row_hash_key).
// Lifetime  The rule points into TableRules, which outlives the relation. Thread: one owner.
struct Relation {
  struct Column {
    std::string member;  // `"name":`, escaped
    ValueType type;
    bool identity = false;
    bool selected = true;  // passes the configured column list
  };

  // Where a condition finds an operand.
  struct Operand {
    expr::Side side = expr::Side::kEither;
    std::int32_t column = -1;  // -1: the table has no such column
  };

  RelationShape shape;
  std::string shape_hash;  // of names, types and key: changes exactly when the shape does
  const TableRule* rule = nullptr;
  std::vector<Column> columns;
  std::vector<std::uint16_t> key;  // indexes of the key columns
  bool row_hash_key = false;
  std::uint64_t hash_seed = 0;  // of the name: equal keys of different tables differ
  std::vector<Operand> operands;
  // Pieces of the JSON line, per operation where they differ.
  std::string name_prefix;                                     // `default:public.orders:`, escaped
  std::array<std::string, model::kOperationMax + 1> envelope;  // `","source":…,"key":`
  // Index of the table's name in the batch that `batch_number` identifies.
  std::uint64_t batch_number = 0;
  std::uint32_t batch_table = 0;

  [[nodiscard]] std::string full_name() const { return shape.full_name(); }
};

struct RelationContext {
  std::string_view source_id;
  const TypeCatalog* types = nullptr;
  const TableRules* rules = nullptr;
};

// `info` may be null when the catalog no longer has the table: the key is then what the message
// flags as identity.
[[nodiscard]] Relation make_relation(RelationShape shape,
                                     const TableInfo* info,
                                     const RelationContext& context);

}  // namespace cdc::postgres
