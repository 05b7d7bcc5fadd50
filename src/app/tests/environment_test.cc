// Proves that values of secret flags vanish from the argument vector in both of their forms.
#include "app/environment.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace cdc::app {
namespace {

std::vector<std::string> hidden(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  hide_secret_arguments(static_cast<int>(arguments.size()), arguments.data());
  return words;
}

TEST(SecretArguments, AreBlankedOut) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(hidden({"kaptanto", "--source", "hush", "--port", "1"}),
            (Words{"kaptanto", "--source", "xxxx", "--port", "1"}));
  EXPECT_EQ(hidden({"kaptanto", "validate", "--source=hush", "--auth-token=", "--cluster-dsn=h"}),
            (Words{"kaptanto", "validate", "--source=xxxx", "--auth-token=", "--cluster-dsn=x"}));
  EXPECT_EQ(hidden({"kaptanto", "--source-id", "shop", "--source"}),
            (Words{"kaptanto", "--source-id", "shop", "--source"}));
}

TEST(Environment, IsThatOfTheProcess) {
  ::setenv("KAPTANTO_TEST_VARIABLE", "a=b", 1);
  EXPECT_EQ(read_environment().at("KAPTANTO_TEST_VARIABLE"), "a=b");
}

}  // namespace
}  // namespace cdc::app
