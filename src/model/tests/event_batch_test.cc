// Proves invariants B1 to B3 of EventBatch.
#include "model/event_batch.h"

#include <gtest/gtest.h>

namespace cdc::model {
namespace {

void add(EventBatch& batch, std::string_view line) {
  batch.text().append(line);
  batch.add_event(EventHeader{.table = batch.add_table("public.t")});
}

TEST(EventBatch, HeadersPointAtTheirLines) {
  EventBatch batch;
  add(batch, "{\"a\":1}\n");
  add(batch, "{}\n");
  ASSERT_EQ(batch.events().size(), 2U);
  EXPECT_EQ(batch.text().view().substr(batch.events()[0].text_offset, batch.events()[0].text_size),
            "{\"a\":1}\n");
  EXPECT_EQ(batch.text().view().substr(batch.events()[1].text_offset, batch.events()[1].text_size),
            "{}\n");
  EXPECT_EQ(batch.tables().size(), 2U);
  EXPECT_EQ(batch.events()[1].table, 1U);
}

TEST(EventBatch, DropsOnlyTheUnfinishedTransaction) {
  EventBatch batch;
  add(batch, "1\n");
  batch.mark_boundary(Lsn{10});
  add(batch, "2\n");
  EXPECT_FALSE(batch.whole());
  batch.drop_tail();
  EXPECT_TRUE(batch.whole());
  EXPECT_EQ(batch.text().view(), "1\n");
  add(batch, "3\n");
  EXPECT_EQ(batch.events()[1].text_offset, 2U);
}

TEST(EventBatch, PositionAloneIsNotEmpty) {
  EventBatch batch;
  EXPECT_TRUE(batch.empty());
  batch.mark_boundary(Lsn{7});
  EXPECT_FALSE(batch.empty());
  batch.reset(false, 0);
  EXPECT_TRUE(batch.empty());
}

TEST(Operation, NamesRoundTrip) {
  for (std::uint8_t i = 1; i <= kOperationMax; ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(parse_operation(name_of(operation)), operation);
  }
  EXPECT_EQ(parse_operation("INSERT"), std::nullopt);
  EXPECT_EQ(parse_operation(""), std::nullopt);
}

}  // namespace
}  // namespace cdc::model
