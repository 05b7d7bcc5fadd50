#include "postgres/internal/snapshot_sql.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/format.h"
#include "expr/condition_conjuncts.h"
#include "expr/table_pattern.h"

namespace cdc::postgres::internal {

namespace {

using expr::ColumnTest;
using KeyColumn = SnapshotTable::KeyColumn;

constexpr std::uint32_t kBool = 16;
constexpr std::uint32_t kInt8 = 20;
constexpr std::uint32_t kInt2 = 21;
constexpr std::uint32_t kInt4 = 23;
constexpr std::uint32_t kText = 25;
constexpr std::uint32_t kVarchar = 1043;

bool is_integer(std::uint32_t type) noexcept {
  return type == kInt2 || type == kInt4 || type == kInt8;
}

// For a row type, SQL's IS NULL looks at its fields.
bool is_scalar(std::uint32_t type) noexcept {
  constexpr std::uint32_t kMore[] = {
      17, 114, 700, 701, 1042, 1082, 1114, 1184, 1700, 2950, 3802};  // bytea .. jsonb
  return type == kBool || is_integer(type) || type == kText || type == kVarchar ||
         std::ranges::find(kMore, type) != std::end(kMore);
}

// A plain integer that bigint certainly holds.
bool is_integer_text(std::string_view text) noexcept {
  constexpr std::size_t kDigitsMax = 18;
  if (text.starts_with('-')) {
    text.remove_prefix(1);
  }
  return !text.empty() && text.size() <= kDigitsMax &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The literal of a value that means the same to the server; nothing when that is not certain.
std::optional<std::string> literal_of(const ColumnTest::Value& value, std::uint32_t type) {
  using Kind = expr::Operand::Kind;
  if (is_integer(type)) {
    // A quoted number compares as a number with a number column.
    const bool plain = value.kind != Kind::kBoolean && is_integer_text(value.text);
    return plain ? std::optional(format("'{}'::int8", value.text)) : std::nullopt;
  }
  if (type == kBool) {
    return value.kind == Kind::kBoolean
               ? std::optional<std::string>(value.text == "t" ? "true" : "false")
               : std::nullopt;
  }
  // Text beyond ASCII may have no place in the server's own encoding, which is an error there.
  const bool ascii = std::ranges::all_of(value.text, [](char c) { return c > 0; });
  if ((type == kText || type == kVarchar) && value.kind == Kind::kText && ascii) {
    return quote_literal(value.text) + "::text";
  }
  return std::nullopt;
}

std::string_view symbol_of(ColumnTest::Kind kind) noexcept {
  switch (kind) {
    case ColumnTest::Kind::kEqual:
      return "=";
    case ColumnTest::Kind::kNotEqual:
      return "<>";
    case ColumnTest::Kind::kLess:
      return "<";
    case ColumnTest::Kind::kLessOrEqual:
      return "<=";
    case ColumnTest::Kind::kGreater:
      return ">";
    case ColumnTest::Kind::kGreaterOrEqual:
      return ">=";
    case ColumnTest::Kind::kIsNull:
    case ColumnTest::Kind::kIsNotNull:
      break;
  }
  return {};
}

std::optional<std::string> test_sql(const ColumnTest& test, const RelationShape::Column& column) {
  const std::string name = expr::quote_identifier(column.name);
  if (test.values.empty()) {
    const bool null = test.kind == ColumnTest::Kind::kIsNull;
    return is_scalar(column.type_oid)
               ? std::optional(format("{} IS {}NULL", name, null ? "" : "NOT "))
               : std::nullopt;
  }
  const bool equality =
      test.kind == ColumnTest::Kind::kEqual || test.kind == ColumnTest::Kind::kNotEqual;
  if (!equality && !is_integer(column.type_oid)) {
    return std::nullopt;
  }
  // Conditions compare text byte by byte, whatever collation the column has.
  const bool text = column.type_oid == kText || column.type_oid == kVarchar;
  const std::string left = text ? format("{}::text COLLATE \"C\"", name) : name;
  std::string list;
  for (const ColumnTest::Value& value : test.values) {
    const auto literal = literal_of(value, column.type_oid);
    if (!literal) {
      return std::nullopt;
    }
    list += list.empty() ? *literal : ", " + *literal;
  }
  return test.values.size() == 1 ? format("{} {} {}", left, symbol_of(test.kind), list)
                                 : format("{} IN ({})", left, list);
}

std::string typed(const KeyColumn& column, const std::string& value) {
  return format("{}::{}", quote_literal(value), column.type);
}

std::string compare(const KeyColumn& column, std::string_view symbol, const std::string& value) {
  return format(
      "{} OPERATOR({}.{}) {}", column.quoted, column.operator_schema, symbol, typed(column, value));
}

// A row comparison takes one operator for all columns. Where their operators are in different
// schemas it is written out, led by a test of the first column alone that an index can use.
std::string written_out(const std::vector<KeyColumn>& key,
                        const std::vector<std::string>& values,
                        std::string_view symbol) {
  const std::string_view strict = symbol.substr(0, 1);
  std::string sql = compare(key.back(), symbol, values.back());
  for (std::size_t i = key.size() - 1; i-- > 0;) {
    sql = format("({} OR ({} AND {}))",
                 compare(key[i], strict, values[i]),
                 compare(key[i], "=", values[i]),
                 sql);
  }
  return format("({} AND {})", compare(key[0], strict == ">" ? ">=" : "<=", values[0]), sql);
}

std::string beside_bound(const std::vector<KeyColumn>& key,
                         const std::vector<std::string>& values,
                         std::string_view symbol) {
  if (key.size() == 1) {
    return compare(key[0], symbol, values[0]);
  }
  const auto other = [&](const KeyColumn& column) {
    return column.operator_schema != key[0].operator_schema;
  };
  if (std::ranges::any_of(key, other)) {
    return written_out(key, values, symbol);
  }
  std::string left;
  std::string right;
  for (std::size_t i = 0; i < key.size(); ++i) {
    left += (i == 0 ? "" : ", ") + key[i].quoted;
    right += (i == 0 ? "" : ", ") + typed(key[i], values[i]);
  }
  return format("ROW({}) OPERATOR({}.{}) ROW({})", left, key[0].operator_schema, symbol, right);
}

Result<std::vector<std::string>> key_values(const SnapshotTable& table, std::string_view bound) {
  CDC_ASSIGN(auto values, decode_bound(bound));
  const bool zero = std::ranges::any_of(
      values, [](const std::string& value) { return value.find('\0') != std::string::npos; });
  if (values.size() != table.key.size() || zero) {
    return fail(Errc::kCorrupt,
                format("a bound of the backfill of {} has {} values, its key {} columns",
                       table.published.name(),
                       values.size(),
                       table.key.size()),
                "begin the table's backfill again");
  }
  return values;
}

std::string with_filter(const SnapshotTable& table, std::string_view range) {
  return table.filter.empty() ? std::string(range) : format("{} AND {}", range, table.filter);
}

}  // namespace

std::string quote_literal(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted.append(c == '\'' ? 2 : 1, c);
  }
  quoted += '\'';
  return quoted;
}

std::string signature_sql(std::string_view oid, bool by_key) {
  const std::string file =
      by_key ? "''" : format("':' || pg_catalog.pg_relation_filenode({})", oid);
  return format(
      "(SELECT pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to("
      "COALESCE(pg_catalog.string_agg(pg_catalog.format('%s:%s:%s:%s:%s',"
      " pg_catalog.length(s.attname::text), s.attname, s.atttypid, s.atttypmod, s.attcollation),"
      " ',' ORDER BY s.attnum), ''),"
      " pg_catalog.getdatabaseencoding())), 'hex')"
      " FROM pg_catalog.pg_attribute s"
      " WHERE s.attrelid = {0} AND s.attnum > 0 AND NOT s.attisdropped)"
      " || (SELECT ':' || s.relreplident::text FROM pg_catalog.pg_class s WHERE s.oid = {0})"
      " || COALESCE((SELECT pg_catalog.string_agg(pg_catalog.format(':%s=%s', s.indisprimary,"
      " s.indkey), '' ORDER BY s.indisprimary, s.indkey::text)"
      " FROM pg_catalog.pg_index s WHERE s.indrelid = {0} AND s.indisvalid"
      " AND (s.indisprimary OR s.indisreplident)), '')"
      " || {1}",
      oid,
      file);
}

std::string key_list_sql(const SnapshotTable& table) {
  std::string list;
  for (const KeyColumn& column : table.key) {
    list += (list.empty() ? "" : ", ") + column.quoted;
  }
  return list;
}

std::string condition_sql(const Relation& relation) {
  const expr::Condition& condition = relation.rule->condition;
  std::string sql;
  for (const ColumnTest& test : expr::conjuncts_of(condition)) {
    const Relation::Operand& operand = relation.operands[test.column];
    if (operand.side == expr::Side::kBefore || operand.column < 0) {
      continue;
    }
    const auto index = static_cast<std::size_t>(operand.column);
    if (const auto one = test_sql(test, relation.shape.columns[index])) {
      sql += (sql.empty() ? "" : " AND ") + *one;
    }
  }
  return sql;
}

Result<std::string> key_range_sql(const SnapshotTable& table, const SnapshotRange& range) {
  std::string sql;
  if (!range.lower.empty()) {
    CDC_ASSIGN(const auto values, key_values(table, range.lower));
    sql = beside_bound(table.key, values, ">");
  }
  if (!range.upper.empty()) {
    CDC_ASSIGN(const auto values, key_values(table, range.upper));
    sql += (sql.empty() ? "" : " AND ") + beside_bound(table.key, values, "<=");
  }
  return sql.empty() ? std::string("true") : sql;
}

std::string select_by_key_sql(const SnapshotTable& table,
                              const SnapshotPart& part,
                              std::string_view range,
                              std::uint64_t rows_max) {
  return format("SELECT {} FROM ONLY {} WHERE {} ORDER BY {} LIMIT {}",
                table.select_list,
                part.quoted,
                with_filter(table, range),
                key_list_sql(table),
                rows_max);
}

std::string select_by_block_sql(const SnapshotTable& table,
                                const SnapshotPart& part,
                                std::uint32_t first,
                                std::uint32_t end) {
  const std::string range =
      format("ctid >= '({},0)'::pg_catalog.tid AND ctid < '({},0)'::pg_catalog.tid", first, end);
  return format("SELECT {}{}ctid, xmin FROM ONLY {} WHERE {}",
                table.select_list,
                table.select_list.empty() ? "" : ", ",
                part.quoted,
                with_filter(table, range));
}

}  // namespace cdc::postgres::internal
