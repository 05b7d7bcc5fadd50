// The grammar of conditions, and its translation to a Condition::Program in one pass.
//
//   or        := and { OR and }
//   and       := not { AND not }
//   not       := { NOT } primary
//   primary   := "(" or ")" | predicate
//   predicate := operand compare operand
//              | operand [NOT] IN "(" value { "," value } ")"
//              | operand [NOT] BETWEEN operand AND operand
//              | operand [NOT] (LIKE | ILIKE) string [ESCAPE string]
//              | operand IS [NOT] (NULL | TRUE | FALSE | UNKNOWN)
//              | operand IS [NOT] DISTINCT FROM operand
//              | column | TRUE | FALSE
//   operand   := column | value
//   column    := [(before | after) "."] (name | "name")
//   value     := 'string' | [+ | -] number | TRUE | FALSE
//
// NULL is a word of IS only: `x = NULL` is never true in SQL, and a filter that silently lets
// nothing pass is a trap, so it is refused with the advice to write IS NULL.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/format.h"
#include "expr/internal/ascii.h"
#include "expr/internal/condition_lexer.h"
#include "expr/internal/condition_program.h"

namespace cdc::expr {
namespace {

using Program = Condition::Program;

// ESCAPE, DISTINCT, FROM and UNKNOWN only count where a column cannot stand, so they stay free.
constexpr std::array<std::string_view, 11> kReserved{
    "and", "or", "not", "is", "null", "in", "between", "like", "ilike", "true", "false"};

bool is_reserved(const Token& token) noexcept {
  return std::ranges::any_of(kReserved,
                             [&](std::string_view word) { return token.is_keyword(word); });
}

std::optional<Comparison> comparison_of(const Token& token) noexcept {
  constexpr std::array<std::pair<std::string_view, Comparison>, 7> kComparisons{{
      {"=", Comparison::kEqual},
      {"!=", Comparison::kNotEqual},
      {"<>", Comparison::kNotEqual},
      {"<", Comparison::kLess},
      {"<=", Comparison::kLessOrEqual},
      {">", Comparison::kGreater},
      {">=", Comparison::kGreaterOrEqual},
  }};
  for (const auto& [symbol, comparison] : kComparisons) {
    if (token.is_symbol(symbol)) {
      return comparison;
    }
  }
  return std::nullopt;
}

class Compiler {
 public:
  explicit Compiler(std::string_view text) : text_(text), lexer_(text) {}

  Result<Program> compile() {
    CDC_TRY(advance());
    if (token_.kind == Token::Kind::kEnd) {
      return std::move(program_);
    }
    CDC_TRY(parse_or());
    if (token_.kind != Token::Kind::kEnd) {
      return fail(error_here(cdc::format("{} follows a complete condition", found()),
                             "join conditions with AND or OR"));
    }
    finish_literals();
    return std::move(program_);
  }

 private:
  Status advance() {
    CDC_ASSIGN(token_, lexer_.next());
    return {};
  }

  // True and consumed when the current token is this keyword.
  Result<bool> accept_keyword(std::string_view keyword) {
    if (!token_.is_keyword(keyword)) {
      return false;
    }
    CDC_TRY(advance());
    return true;
  }

  Status expect_symbol(std::string_view symbol, std::string_view where) {
    if (!token_.is_symbol(symbol)) {
      return fail(error_here(cdc::format("expected \"{}\" {}, found {}", symbol, where, found())));
    }
    return advance();
  }

  Status expect_keyword(std::string_view keyword, std::string_view shown) {
    if (!token_.is_keyword(keyword)) {
      return fail(error_here(cdc::format("expected {}, found {}", shown, found())));
    }
    return advance();
  }

  [[nodiscard]] Error error_here(std::string_view what, std::string hint = {}) const {
    return condition_error(text_, token_.offset, what, std::move(hint));
  }

  [[nodiscard]] std::string found() const {
    switch (token_.kind) {
      case Token::Kind::kEnd:
        return "the end";
      case Token::Kind::kString:
        return "a string";
      case Token::Kind::kNumber:
        return "a number";
      default:
        return "\"" + token_.text.substr(0, 63) + "\"";
    }
  }

  std::size_t emit(Instruction instruction) {
    program_.code.push_back(instruction);
    return program_.code.size() - 1;
  }

  void emit_operation(Opcode opcode) { emit({.opcode = opcode}); }

  void emit_not_if(bool negated) {
    if (negated) {
      emit_operation(Opcode::kNot);
    }
  }

  void land(std::size_t jump) {
    program_.code[jump].target = static_cast<std::uint32_t>(program_.code.size());
  }

  Status parse_or() {
    CDC_TRY(parse_and());
    while (token_.is_keyword("or")) {
      CDC_TRY(advance());
      const std::size_t jump = emit({.opcode = Opcode::kJumpIfTrue});
      CDC_TRY(parse_and());
      emit_operation(Opcode::kOr);
      land(jump);
    }
    return {};
  }

  Status parse_and() {
    CDC_TRY(parse_not());
    while (token_.is_keyword("and")) {
      CDC_TRY(advance());
      const std::size_t jump = emit({.opcode = Opcode::kJumpIfFalse});
      CDC_TRY(parse_not());
      emit_operation(Opcode::kAnd);
      land(jump);
    }
    return {};
  }

  Status parse_not() {
    bool negated = false;
    while (token_.is_keyword("not")) {
      negated = !negated;
      CDC_TRY(advance());
    }
    CDC_TRY(parse_primary());
    emit_not_if(negated);
    return {};
  }

  Status parse_primary() {
    if (!token_.is_symbol("(")) {
      return parse_predicate();
    }
    if (++nesting_ > kNestingMax) {
      return fail(error_here(cdc::format("parentheses nest deeper than {}", kNestingMax)));
    }
    CDC_TRY(advance());
    CDC_TRY(parse_or());
    CDC_TRY(expect_symbol(")", "to close the parenthesis"));
    --nesting_;
    return {};
  }

  Status parse_predicate() {
    const bool may_stand_alone = token_.kind == Token::Kind::kQuotedName ||
                                 token_.is_keyword("true") || token_.is_keyword("false") ||
                                 (token_.kind == Token::Kind::kWord && !is_reserved(token_));
    CDC_ASSIGN(const Slot left, parse_operand());
    if (const auto comparison = comparison_of(token_)) {
      CDC_TRY(advance());
      CDC_ASSIGN(const Slot right, parse_operand());
      emit({.opcode = Opcode::kCompare, .comparison = *comparison, .left = left, .right = right});
      return {};
    }
    if (token_.is_keyword("is")) {
      return parse_is(left);
    }
    CDC_ASSIGN(const bool negated, accept_keyword("not"));
    if (token_.is_keyword("in")) {
      return parse_in(left, negated);
    }
    if (token_.is_keyword("between")) {
      return parse_between(left, negated);
    }
    if (token_.is_keyword("like") || token_.is_keyword("ilike")) {
      return parse_like(left, negated);
    }
    if (may_stand_alone && !negated) {
      return parse_boolean_alone(left);
    }
    return fail(error_here(
        negated ? cdc::format("expected IN, BETWEEN, LIKE or ILIKE after NOT, found {}", found())
                : cdc::format("expected a comparison, found {}", found()),
        "write = != < <= > >= IN BETWEEN LIKE ILIKE or IS"));
  }

  // A column or TRUE or FALSE as a condition of its own, when nothing that is left over shows that
  // a comparison was meant.
  Status parse_boolean_alone(Slot left) {
    const bool ends = token_.kind == Token::Kind::kEnd || token_.is_symbol(")") ||
                      token_.is_keyword("and") || token_.is_keyword("or");
    if (!ends) {
      return fail(token_.is_symbol("(")
                      ? error_here("functions are not supported in conditions")
                      : error_here(cdc::format(
                            "expected a comparison, AND, OR or the end, found {}", found())));
    }
    emit({.opcode = Opcode::kTruth, .left = left});
    return {};
  }

  Status parse_is(Slot left) {
    CDC_TRY(advance());
    CDC_ASSIGN(const bool negated, accept_keyword("not"));
    if (token_.is_keyword("null")) {
      emit({.opcode = Opcode::kIsNull, .left = left});
    } else if (token_.is_keyword("true")) {
      emit({.opcode = Opcode::kIsTruth, .truth = Truth::kTrue, .left = left});
    } else if (token_.is_keyword("false")) {
      emit({.opcode = Opcode::kIsTruth, .truth = Truth::kFalse, .left = left});
    } else if (token_.is_keyword("unknown")) {
      emit({.opcode = Opcode::kIsTruth, .truth = Truth::kUnknown, .left = left});
    } else if (token_.is_keyword("distinct")) {
      CDC_TRY(advance());
      CDC_TRY(expect_keyword("from", "FROM after DISTINCT"));
      CDC_ASSIGN(const Slot right, parse_operand());
      emit({.opcode = Opcode::kDistinct, .left = left, .right = right});
      emit_not_if(negated);
      return {};
    } else {
      return fail(error_here(cdc::format(
          "expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS, found {}", found())));
    }
    CDC_TRY(advance());
    emit_not_if(negated);
    return {};
  }

  Status parse_in(Slot left, bool negated) {
    CDC_TRY(advance());
    CDC_TRY(expect_symbol("(", "after IN"));
    const auto begin = static_cast<std::uint32_t>(program_.literals.size());
    std::uint32_t count = 0;
    while (true) {
      if (++count > kListValuesMax) {
        return fail(error_here(cdc::format("the list has more than {} values", kListValuesMax)));
      }
      CDC_ASSIGN(const Slot value, parse_operand());
      if (!value.is_literal) {
        return fail(error_here("a list holds values, not columns"));
      }
      if (!token_.is_symbol(",")) {
        break;
      }
      CDC_TRY(advance());
    }
    CDC_TRY(expect_symbol(")", "or \",\" in the list"));
    emit({.opcode = Opcode::kIn,
          .left = left,
          .right = {.is_literal = true, .index = begin},
          .count = count});
    emit_not_if(negated);
    return {};
  }

  Status parse_between(Slot left, bool negated) {
    CDC_TRY(advance());
    CDC_ASSIGN(const Slot low, parse_operand());
    CDC_TRY(expect_keyword("and", "AND between the two bounds"));
    CDC_ASSIGN(const Slot high, parse_operand());
    emit({.opcode = Opcode::kCompare,
          .comparison = Comparison::kGreaterOrEqual,
          .left = left,
          .right = low});
    const std::size_t jump = emit({.opcode = Opcode::kJumpIfFalse});
    emit({.opcode = Opcode::kCompare,
          .comparison = Comparison::kLessOrEqual,
          .left = left,
          .right = high});
    emit_operation(Opcode::kAnd);
    land(jump);
    emit_not_if(negated);
    return {};
  }

  Status parse_like(Slot left, bool negated) {
    const auto folding =
        token_.is_keyword("ilike") ? LikePattern::Case::kFold : LikePattern::Case::kSensitive;
    CDC_TRY(advance());
    if (token_.kind != Token::Kind::kString) {
      return fail(error_here(cdc::format("expected a quoted pattern, found {}", found())));
    }
    const Token pattern = token_;
    CDC_TRY(advance());
    CDC_ASSIGN(const char escape, parse_escape());
    if (LikePattern::ends_in_escape(pattern.text, escape)) {
      return fail(condition_error(text_,
                                  pattern.offset,
                                  "the pattern ends in its escape character",
                                  "write the escape character twice to mean itself"));
    }
    const auto index = static_cast<std::uint32_t>(program_.patterns.size());
    program_.patterns.emplace_back(pattern.text, escape, folding);
    emit({.opcode = Opcode::kLike, .left = left, .right = {.is_literal = true, .index = index}});
    emit_not_if(negated);
    return {};
  }

  Result<char> parse_escape() {
    CDC_ASSIGN(const bool given, accept_keyword("escape"));
    if (!given) {
      return '\\';
    }
    const bool usable = token_.kind == Token::Kind::kString && token_.text.size() <= 1 &&
                        std::ranges::none_of(token_.text, [](char c) {
                          return (static_cast<unsigned char>(c) & 0x80U) != 0;
                        });
    if (!usable) {
      return fail(error_here("ESCAPE takes one ASCII character in quotes, or '' for none"));
    }
    const char escape = token_.text.empty() ? LikePattern::kNoEscape : token_.text.front();
    CDC_TRY(advance());
    return escape;
  }

  Result<Slot> parse_operand() {
    switch (token_.kind) {
      case Token::Kind::kString:
        return take_literal({.kind = Operand::Kind::kText, .text = token_.text});
      case Token::Kind::kNumber:
        return take_literal({.kind = Operand::Kind::kNumber, .text = token_.text});
      case Token::Kind::kQuotedName:
        return parse_column();
      case Token::Kind::kWord:
        return parse_word();
      case Token::Kind::kSymbol:
        if (token_.is_symbol("-") || token_.is_symbol("+")) {
          return parse_signed_number();
        }
        break;
      case Token::Kind::kEnd:
        break;
    }
    return fail(error_here(cdc::format("expected a column or a value, found {}", found())));
  }

  Result<Slot> parse_word() {
    if (token_.is_keyword("true") || token_.is_keyword("false")) {
      return take_literal(
          {.kind = Operand::Kind::kBoolean, .text = token_.is_keyword("true") ? "t" : "f"});
    }
    if (token_.is_keyword("null")) {
      return fail(error_here("a comparison with NULL is never true",
                             "write column IS NULL or column IS NOT NULL"));
    }
    if (is_reserved(token_)) {
      return fail(error_here(cdc::format("expected a column or a value, found {}", found()),
                             "put a column with the name of a keyword in double quotes"));
    }
    return parse_column();
  }

  Result<Slot> parse_signed_number() {
    const bool negative = token_.is_symbol("-");
    CDC_TRY(advance());
    if (token_.kind != Token::Kind::kNumber) {
      return fail(error_here(cdc::format("expected a number after the sign, found {}", found())));
    }
    return take_literal(
        {.kind = Operand::Kind::kNumber, .text = (negative ? "-" : "") + token_.text});
  }

  Result<Slot> take_literal(Literal literal) {
    program_.literals.push_back(std::move(literal));
    CDC_TRY(advance());
    return Slot{.is_literal = true,
                .index = static_cast<std::uint32_t>(program_.literals.size() - 1)};
  }

  Result<Slot> parse_column() {
    const Token first = token_;
    ColumnRef column{.side = Side::kEither, .name = first.text};
    CDC_TRY(advance());
    if (token_.is_symbol(".")) {
      if (first.is_keyword("before")) {
        column.side = Side::kBefore;
      } else if (first.is_keyword("after")) {
        column.side = Side::kAfter;
      } else {
        return fail(condition_error(text_,
                                    first.offset,
                                    "only before. and after. can stand before a column",
                                    "put a column whose name contains a dot in double quotes"));
      }
      CDC_TRY(advance());
      if (token_.kind != Token::Kind::kWord && token_.kind != Token::Kind::kQuotedName) {
        return fail(error_here(cdc::format("expected a column after the dot, found {}", found())));
      }
      column.name = token_.text;
      CDC_TRY(advance());
      if (token_.is_symbol(".")) {
        return fail(error_here("a column has no parts",
                               "put a column whose name contains a dot in double quotes"));
      }
    }
    return column_slot(std::move(column));
  }

  Slot column_slot(ColumnRef column) {
    const auto found_at = std::ranges::find(program_.columns, column);
    const auto index = static_cast<std::uint32_t>(found_at - program_.columns.begin());
    if (found_at == program_.columns.end()) {
      program_.columns.push_back(std::move(column));
    }
    return {.is_literal = false, .index = index};
  }

  // Runs when no literal moves any more, because decimals view their text.
  void finish_literals() {
    for (Literal& literal : program_.literals) {
      literal.decimal = DecimalView::parse(literal.text);
      literal.boolean = parse_boolean_word(literal.text);
      CDC_ASSERT(literal.kind != Operand::Kind::kNumber || literal.decimal);
    }
  }

  std::string_view text_;
  ConditionLexer lexer_;
  Token token_;
  Program program_;
  std::size_t nesting_ = 0;
};

}  // namespace

std::optional<bool> parse_boolean_word(std::string_view text) noexcept {
  if (equals_ignoring_case(text, "t") || equals_ignoring_case(text, "true")) {
    return true;
  }
  if (equals_ignoring_case(text, "f") || equals_ignoring_case(text, "false")) {
    return false;
  }
  return std::nullopt;
}

Result<Condition::Program> compile_condition(std::string_view text) {
  if (text.size() > kConditionBytesMax) {
    return fail(Errc::kConfigInvalid,
                cdc::format("the condition is longer than {} bytes", kConditionBytesMax));
  }
  return Compiler(text).compile();
}

}  // namespace cdc::expr
