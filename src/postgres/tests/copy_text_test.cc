// Proves the parser of COPY text on the format's own examples, on what an independent writer of the
// format makes of random columns, and on damaged rows.
#include "postgres/internal/copy_text.h"

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace cdc::postgres::internal {
namespace {

using Column = std::optional<std::string>;
using Columns = std::vector<Column>;

// In memory of exactly the row's size, so that a sanitizer sees each access beyond it.
std::optional<Columns> parse(std::string_view row, std::size_t columns) {
  const auto exact = std::make_unique<char[]>(row.size());
  row.copy(exact.get(), row.size());
  std::vector<ColumnData> parsed;
  if (!parse_copy_row({exact.get(), row.size()}, columns, parsed)) {
    return std::nullopt;
  }
  Columns taken;
  for (const ColumnData& column : parsed) {
    taken.push_back(column.state == ColumnData::State::kNull ? Column{}
                                                             : Column{std::string(column.text)});
  }
  return taken;
}

// As the server's CopyAttributeOutText does.
std::string escape(std::string_view text) {
  constexpr std::string_view kControls = "\b\f\n\r\t\v";
  constexpr std::string_view kLetters = "bfnrtv";
  std::string escaped;
  for (const char c : text) {
    const std::size_t at = kControls.find(c);
    if (at != std::string_view::npos) {
      escaped += {'\\', kLetters[at]};
    } else if (c == '\\') {
      escaped += "\\\\";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string write(const Columns& columns) {
  std::string row;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    row += i == 0 ? "" : "\t";
    row += columns[i] ? escape(*columns[i]) : "\\N";
  }
  return row + "\n";
}

TEST(CopyText, TakesColumnsApart) {
  EXPECT_EQ(parse("1\ta\\tb\t\\N\n", 3), (Columns{"1", "a\tb", {}}));
  EXPECT_EQ(parse("\n", 1), (Columns{""}));
  EXPECT_EQ(parse("\t\n", 2), (Columns{"", ""}));
  EXPECT_EQ(parse("\n", 0), Columns{});
  EXPECT_EQ(parse("\\N\t\\N\n", 2), (Columns{{}, {}}));
  EXPECT_EQ(parse("\\\\N\n", 1), (Columns{"\\N"}));
  EXPECT_EQ(parse("é😀\xFF\n", 1), (Columns{"é😀\xFF"}));
}

TEST(CopyText, KnowsEachEscape) {
  EXPECT_EQ(parse("\\b\\f\\n\\r\\t\\v\\\\\n", 1), (Columns{"\b\f\n\r\t\v\\"}));
  EXPECT_EQ(parse("\\101\\7\\60z\\400\n", 1),
            (Columns{std::string("A\7"
                                 "0z\0",
                                 5)}));
  EXPECT_EQ(parse("\\x41\\xa\\x4g\\xz\n", 1), (Columns{"A\n\4gxz"}));
  EXPECT_EQ(parse("\\q\\.\\\t\n", 1), (Columns{"q.\t"}));
  EXPECT_EQ(parse("\\Nx\n", 1), (Columns{"Nx"}));
  EXPECT_EQ(parse("x\\N\n", 1), (Columns{"xN"}));
}

TEST(CopyText, RefusesWhatIsNotARow) {
  EXPECT_FALSE(parse("", 0));
  EXPECT_FALSE(parse("", 1));
  EXPECT_FALSE(parse("a", 1));
  EXPECT_FALSE(parse("a\n", 0));
  EXPECT_FALSE(parse("a\n", 2));
  EXPECT_FALSE(parse("a\tb\n", 1));
  EXPECT_FALSE(parse("a\tb\tc\n", 2));
  EXPECT_FALSE(parse("a\\\n", 1));
  EXPECT_FALSE(parse("\\\n", 1));
  EXPECT_FALSE(parse("a\nb\n", 1));
  EXPECT_FALSE(parse("a\\tb\nc\n", 1));
}

TEST(CopyText, GivesBackWhateverWasWritten) {
  constexpr std::string_view kBytes = "\b\f\n\r\t\v\\N0123xX.ab\xC3\xA9\x01\xFF ";
  std::mt19937 random{5};
  for (int round = 0; round < 20'000; ++round) {
    Columns columns(random() % 6);
    for (Column& column : columns) {
      if (random() % 5 != 0) {
        column.emplace();
        for (std::size_t size = random() % 12; size > 0; --size) {
          *column += kBytes[random() % kBytes.size()];
        }
      }
    }
    ASSERT_EQ(parse(write(columns), columns.size()), columns);
  }
}

}  // namespace
}  // namespace cdc::postgres::internal
