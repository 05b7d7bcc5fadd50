#include "postgres/relation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/format.h"
#include "base/hash.h"
#include "json/escape.h"

namespace cdc::postgres {

RelationShape RelationShape::copy_of(const RelationMessage& message) {
  RelationShape shape{.oid = message.oid,
                      .schema = std::string(message.schema),
                      .table = std::string(message.table),
                      .replica_identity = message.replica_identity,
                      .columns = {}};
  shape.columns.reserve(message.columns.size());
  for (const RelationColumn& column : message.columns) {
    shape.columns.push_back(Column{.name = std::string(column.name),
                                   .type_oid = column.type_oid,
                                   .type_modifier = column.type_modifier,
                                   .identity = column.identity});
  }
  return shape;
}

namespace {

// Text of `value` inside a JSON string, without the quotes.
std::string escaped(std::string_view value) {
  const std::string quoted = json::quote(value);
  return quoted.substr(1, quoted.size() - 2);
}

std::optional<std::uint16_t> index_of(const RelationShape& shape, std::string_view name) {
  const auto found = std::ranges::find(shape.columns, name, &RelationShape::Column::name);
  if (found == shape.columns.end()) {
    return std::nullopt;
  }
  return static_cast<std::uint16_t>(found - shape.columns.begin());
}

// The columns' indexes, or nothing when the relation lacks one of them (a column list hides it).
std::vector<std::uint16_t> indexes_of(const RelationShape& shape,
                                      const std::vector<std::string>& names) {
  std::vector<std::uint16_t> indexes;
  for (const std::string& name : names) {
    const auto index = index_of(shape, name);
    if (!index) {
      return {};
    }
    indexes.push_back(*index);
  }
  return indexes;
}

std::vector<std::uint16_t> flagged_columns(const RelationShape& shape) {
  std::vector<std::uint16_t> indexes;
  for (std::size_t i = 0; i < shape.columns.size(); ++i) {
    if (shape.columns[i].identity) {
      indexes.push_back(static_cast<std::uint16_t>(i));
    }
  }
  return indexes;
}

std::vector<std::uint16_t> key_columns(const RelationShape& shape, const TableInfo* info) {
  if (info != nullptr) {
    const bool by_index = shape.replica_identity == 'i' && !info->identity_index.empty();
    auto key = indexes_of(shape, by_index ? info->identity_index : info->primary_key);
    if (!key.empty()) {
      return key;
    }
  }
  // Under FULL every column is flagged, which says nothing about the key.
  return shape.replica_identity == 'f' ? std::vector<std::uint16_t>{} : flagged_columns(shape);
}

std::string hash_of(const RelationShape& shape, const std::vector<std::uint16_t>& key) {
  std::string text;
  for (const RelationShape::Column& column : shape.columns) {
    text += format(
        "{}:{}:{}:{};", column.name.size(), column.name, column.type_oid, column.type_modifier);
  }
  for (const std::uint16_t index : key) {
    text += format("k{};", index);
  }
  text += shape.replica_identity;
  return hash128_hex(text);
}

std::vector<Relation::Operand> operands_of(const RelationShape& shape,
                                           const expr::Condition& condition) {
  std::vector<Relation::Operand> operands;
  for (const expr::ColumnRef& ref : condition.columns()) {
    const auto index = index_of(shape, ref.name);
    operands.push_back({.side = ref.side, .column = index ? std::int32_t{*index} : -1});
  }
  return operands;
}

}  // namespace

Relation make_relation(RelationShape shape, const TableInfo* info, const RelationContext& context) {
  Relation relation;
  relation.rule = &context.rules->find(shape.schema, shape.table);
  relation.key = key_columns(shape, info);
  relation.row_hash_key = relation.key.empty();
  relation.shape_hash = hash_of(shape, relation.key);
  relation.hash_seed = hash64(shape.full_name());
  relation.operands = operands_of(shape, relation.rule->condition);
  const std::vector<std::string>& selected = relation.rule->columns;
  for (const RelationShape::Column& column : shape.columns) {
    relation.columns.push_back(
        Relation::Column{.member = json::quote(column.name) + ":",
                         .type = context.types->resolve(column.type_oid),
                         .identity = column.identity,
                         .selected = selected.empty() ||
                                     std::ranges::find(selected, column.name) != selected.end()});
  }
  relation.name_prefix = escaped(format("{}:{}.{}:", context.source_id, shape.schema, shape.table));
  for (std::uint8_t i = 1; i <= model::kOperationMax; ++i) {
    relation.envelope[i] = format(R"(","source":{},"operation":"{}","schema":{},"table":{},"key":)",
                                  json::quote(context.source_id),
                                  name_of(static_cast<model::Operation>(i)),
                                  json::quote(shape.schema),
                                  json::quote(shape.table));
  }
  relation.shape = std::move(shape);
  return relation;
}

}  // namespace cdc::postgres
