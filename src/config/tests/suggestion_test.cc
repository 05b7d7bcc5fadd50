// Proves that typing errors find the word that was meant, and that strange words find none.
#include "config/suggestion.h"

#include <array>

#include <gtest/gtest.h>

namespace cdc::config {
namespace {

constexpr std::array<std::string_view, 5> kWords{
    "where", "columns", "operations", "data-dir", "ha"};

TEST(Suggestion, FindsTheNearestWord) {
  EXPECT_EQ(nearest("wher", kWords), "where");
  EXPECT_EQ(nearest("hwere", kWords), "where");
  EXPECT_EQ(nearest("Columns", kWords), "columns");
  EXPECT_EQ(nearest("colums", kWords), "columns");
  EXPECT_EQ(nearest("operatoins", kWords), "operations");
  EXPECT_EQ(nearest("data_dir", kWords), "data-dir");
  EXPECT_EQ(nearest("datadir", kWords), "data-dir");
}

TEST(Suggestion, FindsNothingFarAway) {
  for (const char* word : {"", "x", "zebra", "source", "columnar-storage"}) {
    EXPECT_EQ(nearest(word, kWords), std::nullopt) << word;
  }
  EXPECT_EQ(nearest(std::string(100'000, 'w'), kWords), std::nullopt);
  EXPECT_EQ(did_you_mean("zebra", kWords), "");
  EXPECT_EQ(did_you_mean("wher", kWords), "did you mean \"where\"?");
}

}  // namespace
}  // namespace cdc::config
