// Proves string escaping byte by byte against the rule of RFC 8259, at every offset inside the
// sixteen-byte blocks that the fast path copies.
#include "json/escape.h"

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace cdc::json {
namespace {

std::string expected_of(unsigned char byte) {
  switch (byte) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      break;
  }
  if (byte < 0x20) {
    char text[8];
    std::snprintf(text, sizeof text, "\\u%04x", byte);
    return text;
  }
  return std::string(1, static_cast<char>(byte));
}

TEST(Escape, EveryByteAtEveryOffset) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    for (std::size_t before = 0; before < 34; ++before) {
      for (const std::size_t after : {0UL, 1UL, 17UL, 40UL}) {
        const std::string text = std::string(before, 'a') + one + std::string(after, 'z');
        const std::string want = '"' + std::string(before, 'a') +
                                 expected_of(static_cast<unsigned char>(byte)) +
                                 std::string(after, 'z') + '"';
        ASSERT_EQ(quote(text), want) << byte << " at " << before;
      }
    }
  }
}

TEST(Escape, LongRunsOfControlBytesFitTheirBound) {
  const std::string text(100'000, '\x01');
  EXPECT_EQ(quote(text).size(), 600'002U);
}

TEST(TextBuffer, AppendsNothingOfAViewThatPointsNowhere) {
  TextBuffer buffer;
  buffer.append(std::string_view{});
  EXPECT_TRUE(buffer.empty());
  buffer.append("x");
  buffer.append(std::string_view{});
  EXPECT_EQ(buffer.view(), "x");
}

TEST(TextBuffer, KeepsContentWhileItGrows) {
  TextBuffer buffer;
  std::string copy;
  for (int i = 0; i < 10'000; ++i) {
    buffer.append(std::to_string(i));
    copy += std::to_string(i);
  }
  EXPECT_EQ(buffer.view(), copy);
  buffer.truncate(3);
  EXPECT_EQ(buffer.view(), "012");
}

}  // namespace
}  // namespace cdc::json
