// Proves that the published schema and the documentation are what the option table says now, and
// that they miss no option. Regenerate with `kaptanto schema` and `kaptanto schema --markdown`.
#include "config/reference.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "config/option.h"

namespace cdc::config {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(std::string(CDC_SOURCE_DIR "/") + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Reference, PublishedSchemaIsCurrent) {
  EXPECT_TRUE(content_of("schemas/kaptanto.schema.json") == json_schema())
      << "run: kaptanto schema > schemas/kaptanto.schema.json";
}

TEST(Reference, PublishedDocumentationIsCurrent) {
  EXPECT_TRUE(content_of("docs/operating/configuration.md") == configuration_markdown())
      << "run: kaptanto schema --markdown > docs/operating/configuration.md";
}

TEST(Reference, NamesEveryOption) {
  const std::string schema = json_schema();
  const std::string markdown = configuration_markdown();
  for (const OptionSpec& option : options()) {
    const std::string leaf(option.path.substr(option.path.rfind('.') + 1));
    EXPECT_TRUE(schema.contains("\"" + leaf + "\": {")) << option.path;
    EXPECT_TRUE(markdown.contains("| `" + std::string(option.path) + "` |")) << option.path;
    if (!option.flag.empty()) {
      EXPECT_TRUE(markdown.contains("`--" + std::string(option.flag) + "`")) << option.flag;
    }
    if (option.in_environment()) {
      EXPECT_TRUE(markdown.contains("`" + environment_name(option) + "`")) << option.path;
    }
  }
}

TEST(Reference, SchemaIsBalancedJson) {
  // Not a parser: a guard against a forgotten brace in the hand-written shape.
  int depth = 0;
  bool in_string = false;
  const std::string schema = json_schema();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const char c = schema[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      depth += c == '{' || c == '[' ? 1 : 0;
      depth -= c == '}' || c == ']' ? 1 : 0;
      ASSERT_GE(depth, 0);
    }
  }
  EXPECT_EQ(depth, 0);
  EXPECT_FALSE(in_string);
}

}  // namespace
}  // namespace cdc::config
