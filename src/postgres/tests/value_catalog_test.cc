// Proves how type OIDs resolve: built-in types and arrays by number, domains and user-defined
// arrays through rows, the options, and that cycles and unknown types end as text.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/value_kind.h"

namespace cdc::postgres {

// Found by argument-dependent lookup, for messages of failed expectations and for comparison.
static bool operator==(const ValueType& a, const ValueType& b) {
  return a.kind == b.kind && a.element == b.element && a.delimiter == b.delimiter;
}

namespace {

constexpr ValueType kTextType{};

ValueType array_type(ValueKind element, char delimiter = ',') {
  return {.kind = ValueKind::kArray, .element = element, .delimiter = delimiter};
}

TEST(TypeCatalog, BuiltInTypes) {
  const TypeCatalog catalog({});
  const auto kind = [&](std::uint32_t oid) {
    return catalog.resolve(oid).kind;
  };
  EXPECT_EQ(kind(16), ValueKind::kBoolean);
  for (const std::uint32_t oid : {20U, 21U, 23U, 1700U, 700U, 701U}) {
    EXPECT_EQ(kind(oid), ValueKind::kNumber) << oid;
  }
  EXPECT_EQ(kind(114), ValueKind::kJson);
  EXPECT_EQ(kind(3802), ValueKind::kJson);
  EXPECT_EQ(kind(1114), ValueKind::kTimestamp);
  EXPECT_EQ(kind(1184), ValueKind::kTimestampTz);
  // oid, xid, int2vector, oidvector, money, bit, date, time, uuid, point, xml, int4range, nothing
  for (const std::uint32_t oid :
       {26U, 28U, 22U, 30U, 790U, 1560U, 1082U, 1083U, 2950U, 600U, 142U, 3904U, 0U, 9999U}) {
    EXPECT_EQ(catalog.resolve(oid), kTextType) << oid;
  }
}

TEST(TypeCatalog, BuiltInArrays) {
  const TypeCatalog catalog({});
  EXPECT_EQ(catalog.resolve(1000), array_type(ValueKind::kBoolean));
  for (const std::uint32_t oid : {1016U, 1005U, 1007U, 1231U, 1021U, 1022U}) {
    EXPECT_EQ(catalog.resolve(oid), array_type(ValueKind::kNumber)) << oid;
  }
  EXPECT_EQ(catalog.resolve(199), array_type(ValueKind::kJson));
  EXPECT_EQ(catalog.resolve(3807), array_type(ValueKind::kJson));
  EXPECT_EQ(catalog.resolve(1115), array_type(ValueKind::kTimestamp));
  EXPECT_EQ(catalog.resolve(1185), array_type(ValueKind::kTimestampTz));
  EXPECT_EQ(catalog.resolve(1020), array_type(ValueKind::kText, ';'));
  // text[], oid[], uuid[], int4range[], int4multirange[], xid8[], pg_lsn[]
  for (const std::uint32_t oid : {1009U, 1028U, 2951U, 3905U, 6150U, 271U, 3221U}) {
    EXPECT_EQ(catalog.resolve(oid), array_type(ValueKind::kText)) << oid;
  }
}

TEST(TypeCatalog, OptionsMakeNumbersStrings) {
  const TypeCatalog int8({.int8 = config::NumberFormat::kString});
  EXPECT_EQ(int8.resolve(20).kind, ValueKind::kNumberText);
  EXPECT_EQ(int8.resolve(1016), array_type(ValueKind::kNumberText));
  EXPECT_EQ(int8.resolve(23).kind, ValueKind::kNumber);
  EXPECT_EQ(int8.resolve(1700).kind, ValueKind::kNumber);
  const TypeCatalog numeric({.numeric = config::NumberFormat::kString});
  EXPECT_EQ(numeric.resolve(1700).kind, ValueKind::kNumberText);
  EXPECT_EQ(numeric.resolve(1231), array_type(ValueKind::kNumberText));
  EXPECT_EQ(numeric.resolve(20).kind, ValueKind::kNumber);
}

TEST(TypeCatalog, TextModeMakesEverythingStrings) {
  TypeCatalog catalog({.mode = config::ValueMode::kText});
  catalog.load({{.oid = 20'000, .base_oid = 1007}, {.oid = 20'001, .base_oid = 16}});
  EXPECT_EQ(catalog.resolve(16).kind, ValueKind::kBooleanText);
  EXPECT_EQ(catalog.resolve(20'001).kind, ValueKind::kBooleanText);
  EXPECT_EQ(catalog.resolve(23).kind, ValueKind::kNumberText);
  for (const std::uint32_t oid : {114U, 3802U, 1114U, 1184U, 1007U, 25U, 20'000U}) {
    EXPECT_EQ(catalog.resolve(oid), kTextType) << oid;
  }
}

TEST(TypeCatalog, DomainsAndArraysOfThem) {
  TypeCatalog catalog({});
  catalog.load({
      {.oid = 20'000, .base_oid = 23},                           // domain over int4
      {.oid = 20'001, .base_oid = 20'000},                       // domain over that
      {.oid = 20'002, .element_oid = 20'001},                    // array of that
      {.oid = 20'003, .base_oid = 20'002},                       // domain over that array
      {.oid = 20'004, .element_oid = 20'003},                    // array of domains over arrays
      {.oid = 20'005, .element_oid = 30'000, .delimiter = ';'},  // array of an enum
      {.oid = 20'006, .base_oid = 1184},                         // domain over timestamptz
      {.oid = 20'007},                                           // neither
      {.oid = 20'008, .base_oid = 603},
  });
  EXPECT_EQ(catalog.resolve(20'000).kind, ValueKind::kNumber);
  EXPECT_EQ(catalog.resolve(20'001).kind, ValueKind::kNumber);
  EXPECT_EQ(catalog.resolve(20'002), array_type(ValueKind::kNumber));
  EXPECT_EQ(catalog.resolve(20'003), array_type(ValueKind::kNumber));
  EXPECT_EQ(catalog.resolve(20'004), array_type(ValueKind::kText));
  EXPECT_EQ(catalog.resolve(20'005), array_type(ValueKind::kText, ';'));
  EXPECT_EQ(catalog.resolve(20'006).kind, ValueKind::kTimestampTz);
  EXPECT_EQ(catalog.resolve(20'007), kTextType);
  EXPECT_EQ(catalog.resolve(20'008), kTextType);
  EXPECT_EQ(catalog.resolve(30'000), kTextType);
}

TEST(TypeCatalog, CyclesAndAbsurdDepthsEndAsText) {
  TypeCatalog catalog({});
  catalog.load({{.oid = 20'000, .base_oid = 20'001},
                {.oid = 20'001, .base_oid = 20'000},
                {.oid = 20'002, .element_oid = 20'002},
                {.oid = 20'003, .base_oid = 20'003}});
  EXPECT_EQ(catalog.resolve(20'000), kTextType);
  EXPECT_EQ(catalog.resolve(20'003), kTextType);
  EXPECT_EQ(catalog.resolve(20'002), array_type(ValueKind::kText));
  std::vector<TypeRow> chain;
  chain.reserve(100);
  for (std::uint32_t i = 0; i < 100; ++i) {
    chain.push_back({.oid = 20'000 + i, .base_oid = i == 0 ? 23 : 20'000 + i - 1});
  }
  catalog.load(chain);
  EXPECT_EQ(catalog.resolve(20'020).kind, ValueKind::kNumber);
  EXPECT_EQ(catalog.resolve(20'099), kTextType);
}

TEST(TypeCatalog, KnowsWhatItsLastLoadCouldHold) {
  TypeCatalog catalog({});
  EXPECT_TRUE(catalog.knows(23));
  EXPECT_TRUE(catalog.knows(9999));
  EXPECT_FALSE(catalog.knows(13'221));
  EXPECT_FALSE(catalog.knows(16'400));
  catalog.load({{.oid = 13'221, .base_oid = 23}, {.oid = 16'400, .element_oid = 16'401}});
  EXPECT_TRUE(catalog.knows(13'000));
  EXPECT_TRUE(catalog.knows(16'390));
  EXPECT_TRUE(catalog.knows(16'400));
  EXPECT_FALSE(catalog.knows(16'401));
  catalog.load({});
  EXPECT_FALSE(catalog.knows(16'400));
  EXPECT_EQ(catalog.resolve(13'221), kTextType);
}

}  // namespace
}  // namespace cdc::postgres
