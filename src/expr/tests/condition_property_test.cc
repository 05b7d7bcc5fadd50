// Proves that the compiled program agrees with the meaning of the grammar: random trees are printed
// as text, parsed, and evaluated beside a naive tree walk over integers and std::optional<bool>.
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "expr/condition.h"

namespace cdc::expr {
namespace {

// Columns a to d hold small integers or NULL.
using Row = std::vector<std::optional<int>>;
using Truth = std::optional<bool>;

struct Node {
  enum class Kind {
    kCompare,
    kIn,
    kBetween,
    kIsNull,
    kDistinct,
    kNot,
    kAnd,
    kOr
  };
  Kind kind = Kind::kCompare;
  std::size_t column = 0;
  std::size_t other_column = 0;
  std::size_t comparison = 0;
  bool negated = false;
  std::vector<int> values;
  std::vector<Node> children;
};

constexpr const char* kSymbols[] = {"=", "<>", "<", "<=", ">", ">="};

Truth compare(std::optional<int> a, std::optional<int> b, std::size_t comparison) {
  if (!a || !b) {
    return std::nullopt;
  }
  const bool results[] = {*a == *b, *a != *b, *a<*b, *a <= *b, *a> * b, *a >= *b};
  return results[comparison];
}

Truth negate(Truth truth) {
  return truth ? Truth(!*truth) : std::nullopt;
}

Truth both(Truth a, Truth b) {
  if (a == Truth(false) || b == Truth(false)) {
    return false;
  }
  return a && b ? Truth(true) : std::nullopt;
}

Truth walk(const Node& node, const Row& row);

Truth walk_leaf(const Node& node, const Row& row) {
  const auto left = row[node.column];
  switch (node.kind) {
    case Node::Kind::kCompare:
      return compare(left, node.values[0], node.comparison);
    case Node::Kind::kIn: {
      Truth any = false;
      for (const int value : node.values) {
        any = negate(both(negate(any), negate(compare(left, value, 0))));
      }
      return any;
    }
    case Node::Kind::kBetween:
      return both(compare(left, node.values[0], 5), compare(left, row[node.other_column], 3));
    case Node::Kind::kIsNull:
      return !left.has_value();
    default:
      return left != row[node.other_column];
  }
}

Truth walk(const Node& node, const Row& row) {
  switch (node.kind) {
    case Node::Kind::kNot:
      return negate(walk(node.children[0], row));
    case Node::Kind::kAnd:
      return both(walk(node.children[0], row), walk(node.children[1], row));
    case Node::Kind::kOr:
      return negate(both(negate(walk(node.children[0], row)), negate(walk(node.children[1], row))));
    default:
      return node.negated ? negate(walk_leaf(node, row)) : walk_leaf(node, row);
  }
}

std::string column_name(std::size_t column) {
  return std::string(1, static_cast<char>('a' + static_cast<char>(column)));
}

std::string print(const Node& node) {
  const std::string left = column_name(node.column);
  const std::string negation = node.negated ? " NOT" : "";
  switch (node.kind) {
    case Node::Kind::kCompare: {
      const std::string text =
          left + " " + kSymbols[node.comparison] + " " + std::to_string(node.values[0]);
      return node.negated ? "NOT " + text : text;
    }
    case Node::Kind::kIn: {
      std::string text = left + negation + " in (";
      for (std::size_t i = 0; i < node.values.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(node.values[i]);
      }
      return text + ")";
    }
    case Node::Kind::kBetween:
      return left + negation + " BETWEEN " + std::to_string(node.values[0]) + " AND " +
             column_name(node.other_column);
    case Node::Kind::kIsNull:
      return left + " IS" + negation + " NULL";
    case Node::Kind::kDistinct:
      return left + " IS" + negation + " DISTINCT FROM " + column_name(node.other_column);
    case Node::Kind::kNot:
      return "NOT (" + print(node.children[0]) + ")";
    case Node::Kind::kAnd:
      return "(" + print(node.children[0]) + ") AND (" + print(node.children[1]) + ")";
    case Node::Kind::kOr:
      return "(" + print(node.children[0]) + ") OR (" + print(node.children[1]) + ")";
  }
  return {};
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  Node node(int depth) {
    Node node;
    const bool leaf = depth == 0 || below(3) == 0;
    node.kind = static_cast<Node::Kind>(leaf ? below(5) : 5 + below(3));
    if (!leaf) {
      node.children.push_back(this->node(depth - 1));
      if (node.kind != Node::Kind::kNot) {
        node.children.push_back(this->node(depth - 1));
      }
      return node;
    }
    node.column = below(4);
    node.other_column = below(4);
    node.comparison = below(6);
    node.negated = below(2) == 0;
    const std::size_t count = node.kind == Node::Kind::kIn ? 1 + below(4) : 1;
    for (std::size_t i = 0; i < count; ++i) {
      node.values.push_back(static_cast<int>(below(5)) - 2);
    }
    return node;
  }

  Row row() {
    Row row(4);
    for (auto& value : row) {
      if (below(4) != 0) {
        value = static_cast<int>(below(5)) - 2;
      }
    }
    return row;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  std::mt19937 random_;
};

TEST(ConditionProperty, AgreesWithNaiveEvaluation) {
  Generator generator(41);
  for (int i = 0; i < 4000; ++i) {
    const Node tree = generator.node(5);
    const std::string where = print(tree);
    const auto condition = Condition::parse(where);
    ASSERT_TRUE(condition.has_value()) << where << ": " << condition.error().message;
    for (int j = 0; j < 20; ++j) {
      const Row row = generator.row();
      std::vector<std::string> texts(4);
      std::vector<Operand> operands;
      for (const ColumnRef& column : condition->columns()) {
        const auto index = static_cast<std::size_t>(column.name[0] - 'a');
        if (!row[index]) {
          operands.push_back({.kind = Operand::Kind::kNull, .text = {}});
          continue;
        }
        texts[index] = std::to_string(*row[index]) + (j % 2 == 0 ? "" : ".00");
        operands.push_back({.kind = Operand::Kind::kNumber, .text = texts[index]});
      }
      ASSERT_EQ(condition->evaluate(operands), walk(tree, row) == Truth(true)) << where;
    }
  }
}

TEST(ConditionProperty, CutTextNeverCrashes) {
  const std::string where =
      "NOT (before.\"a b\" IS NOT DISTINCT FROM after.c) OR d NOT IN (1, -2.5e3, 'x''y') AND e "
      "BETWEEN 1 AND f OR g ILIKE '%\\_%' ESCAPE '\\' AND h IS NOT UNKNOWN";
  for (std::size_t length = 0; length <= where.size(); ++length) {
    const auto condition = Condition::parse(std::string_view(where).substr(0, length));
    if (condition) {
      const std::vector<Operand> values(condition->columns().size());
      static_cast<void>(condition->evaluate(values));
    }
  }
}

}  // namespace
}  // namespace cdc::expr
