// Proves what each kind of JSON becomes when it is read, and that what is not JSON is refused.
#include "json/value.h"

#include <gtest/gtest.h>

namespace cdc::json {
namespace {

TEST(Value, ReadsEveryKind) {
  const Value value =
      parse(R"( {"n":null,"b":true,"i":-9223372036854775808,"u":18446744073709551615,"d":1.5,)"
            R"("s":"a\u00e9\n","a":[1,[]],"o":{"x":"y"}} )")
          .value();
  ASSERT_EQ(value.kind, Value::Kind::kObject);
  EXPECT_EQ(value.find("n")->kind, Value::Kind::kNull);
  EXPECT_TRUE(value.find("b")->boolean);
  EXPECT_EQ(value.find("i")->kind, Value::Kind::kInteger);
  EXPECT_EQ(value.find("i")->integer, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value.find("u")->kind, Value::Kind::kNumber);
  EXPECT_EQ(value.find("d")->number, 1.5);
  EXPECT_EQ(value.text_of("s"), "a\xC3\xA9\n");
  ASSERT_EQ(value.find("a")->items.size(), 2U);
  EXPECT_EQ(value.find("a")->items[0].integer, 1);
  EXPECT_EQ(value.find("o")->text_of("x"), "y");
  EXPECT_EQ(value.find("z"), nullptr);
  EXPECT_EQ(value.text_of("i"), std::nullopt);
}

TEST(Value, OfEqualNamesTheLastCounts) {
  EXPECT_EQ(parse(R"({"a":"1","a":"2"})").value().text_of("a"), "2");
}

TEST(Value, RefusesWhatIsNotJson) {
  for (const std::string_view text :
       {"", " ", "{", "{}x", "{} {}", "[1,]", "{'a':1}", "nul", "\"\xFF\"", "\"\x01\"", "NaN"}) {
    const auto value = parse(text);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, Errc::kInvalidArgument);
    EXPECT_TRUE(value.error().message.starts_with("not JSON")) << value.error().message;
  }
  EXPECT_TRUE(parse(std::string(32, '[') + std::string(32, ']')).has_value());
  EXPECT_FALSE(parse(std::string(33, '[') + std::string(33, ']')).has_value());
  EXPECT_FALSE(parse(std::string(100'000, '[')).has_value());
}

}  // namespace
}  // namespace cdc::json
