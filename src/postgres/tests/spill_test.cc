// Proves invariant S1 of SpillBuffer, in memory and in files, and that the shared budget bounds the
// memory of many buffers.
#include "postgres/spill.h"

#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace cdc::postgres {
namespace {

class SpillTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  void TearDown() override { std::filesystem::remove_all(budget_.directory); }

  SpillBudget budget_{.directory = std::filesystem::temp_directory_path() /
                                   ("kaptanto_spill_" + std::to_string(::getpid())),
                      .memory_bytes_max = GetParam(),
                      .memory_bytes = 0};
};

std::vector<std::string> read_all(SpillBuffer& buffer) {
  std::vector<std::string> messages;
  for (;;) {
    auto message = buffer.read();
    EXPECT_TRUE(message.has_value());
    if (!message || !*message) {
      return messages;
    }
    messages.emplace_back(**message);
  }
}

TEST_P(SpillTest, GivesBackWhatItTook) {
  std::mt19937_64 random{7};
  SpillBuffer buffer{budget_};
  std::vector<std::string> expected;
  for (int i = 0; i < 2'000; ++i) {
    const std::size_t size = i % 500 == 0 ? 700'000 : random() % 300;
    expected.push_back("I" + std::string(size, static_cast<char>('a' + i % 26)));
    ASSERT_TRUE(buffer.append(1, expected.back()).has_value());
  }
  EXPECT_EQ(read_all(buffer), expected);
}

TEST_P(SpillTest, LeavesOutAbortedSubtransactionsButKeepsDescriptions) {
  SpillBuffer buffer{budget_};
  const std::vector<std::pair<std::uint32_t, std::string>> messages = {
      {1, "I-one"}, {2, "R-table"}, {2, "I-two"}, {3, "I-three"}, {2, "Y-type"}, {1, "I-four"}};
  for (const auto& [xid, message] : messages) {
    ASSERT_TRUE(buffer.append(xid, message).has_value());
  }
  buffer.abort_subtransaction(2);
  EXPECT_EQ(read_all(buffer),
            (std::vector<std::string>{"I-one", "R-table", "I-three", "Y-type", "I-four"}));
}

TEST_P(SpillTest, ManyBuffersStayWithinTheBudget) {
  {
    std::vector<std::unique_ptr<SpillBuffer>> buffers;
    for (int i = 0; i < 20; ++i) {
      buffers.push_back(std::make_unique<SpillBuffer>(budget_));
    }
    const std::string message(1'000, 'x');
    for (int round = 0; round < 500; ++round) {
      for (auto& buffer : buffers) {
        ASSERT_TRUE(buffer->append(1, message).has_value());
      }
      // A buffer with a file collects up to a write's worth before it writes.
      ASSERT_LE(budget_.memory_bytes, budget_.memory_bytes_max + 20 * (300U << 10U));
    }
    for (auto& buffer : buffers) {
      EXPECT_EQ(read_all(*buffer).size(), 500U);
    }
  }
  EXPECT_EQ(budget_.memory_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(Budgets, SpillTest, ::testing::Values(0U, 1'000U, 300'000U, 1U << 30U));

}  // namespace
}  // namespace cdc::postgres
