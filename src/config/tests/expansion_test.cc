// Proves the rules of ${VAR} expansion, and that no message gives away the text or a value.
#include "config/expansion.h"

#include <gtest/gtest.h>

namespace cdc::config {
namespace {

const Environment kEnvironment{
    {"USER", "ada"}, {"EMPTY", ""}, {"TRICKY", "a: ${USER} $$ #\n- b"}, {"_x9", "under"}};

std::string expanded(std::string_view text) {
  const auto result = expand_variables(text, kEnvironment);
  return result ? *result : "fault: " + result.error().message;
}

TEST(Expansion, ReplacesReferences) {
  EXPECT_EQ(expanded(""), "");
  EXPECT_EQ(expanded("plain"), "plain");
  EXPECT_EQ(expanded("${USER}"), "ada");
  EXPECT_EQ(expanded("<${USER}${_x9}>"), "<adaunder>");
  EXPECT_EQ(expanded("${EMPTY}"), "");
}

TEST(Expansion, TakesDefaultsWhenUnsetOrEmpty) {
  EXPECT_EQ(expanded("${NONE:-x y}"), "x y");
  EXPECT_EQ(expanded("${EMPTY:-x}"), "x");
  EXPECT_EQ(expanded("${USER:-x}"), "ada");
  EXPECT_EQ(expanded("${NONE:-}"), "");
  EXPECT_EQ(expanded("${NONE:-a:-b$c}"), "a:-b$c");
}

TEST(Expansion, LeavesOtherDollarsAlone) {
  EXPECT_EQ(expanded("$$"), "$");
  EXPECT_EQ(expanded("$${USER}"), "${USER}");
  EXPECT_EQ(expanded("$$${USER}"), "$ada");
  EXPECT_EQ(expanded("pa$word $1 $"), "pa$word $1 $");
}

TEST(Expansion, NeverReadsAValueAgain) {
  EXPECT_EQ(expanded("${TRICKY}"), "a: ${USER} $$ #\n- b");
}

TEST(Expansion, NamesTheMissingVariableOnly) {
  EXPECT_EQ(expanded("secret${NONE}secret"), "fault: the environment variable NONE is not set");
}

TEST(Expansion, RefusesMalformedReferencesWithoutShowingThem) {
  for (const char* text : {"hush${",
                           "hush${USER",
                           "${}",
                           "${hush-hush}",
                           "${1hush}",
                           "${ USER }",
                           "${USER:?hush}",
                           "${USER-hush}",
                           "${:-hush}",
                           "${hüsh}"}) {
    const std::string result = expanded(text);
    EXPECT_TRUE(result.starts_with("fault: ")) << text;
    EXPECT_EQ(result.find("hush"), std::string::npos) << result;
  }
  EXPECT_EQ(expanded("${NONE:-${USER}}"),
            "fault: the default of ${NONE:-...} holds another reference");
}

TEST(Expansion, HasABound) {
  const Environment environment{{"X", std::string(100'000, 'x')}};
  EXPECT_TRUE(expand_variables("${X}${X}", environment).has_value());
  std::string text;
  for (int i = 0; i < 100; ++i) {
    text += "${X}";
  }
  EXPECT_FALSE(expand_variables(text, environment).has_value());
}

}  // namespace
}  // namespace cdc::config
