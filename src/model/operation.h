#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cdc::model {

// What happened to a row. The numbers are persisted in journals: never reuse one.
enum class Operation : std::uint8_t {
  kInsert = 1,
  kUpdate = 2,
  kDelete = 3,
  kTruncate = 4,
  kRead = 5,     // an existing row, from a snapshot
  kMessage = 6,  // pg_logical_emit_message
  kControl = 7,  // a fact about the stream itself: schema change, snapshot progress, gap
};

inline constexpr std::uint8_t kOperationMax = 7;

// The word in the event's `operation` field and in configuration.
[[nodiscard]] constexpr std::string_view name_of(Operation operation) noexcept {
  constexpr std::string_view kNames[] = {
      "", "insert", "update", "delete", "truncate", "read", "message", "control"};
  return kNames[static_cast<std::uint8_t>(operation)];
}

[[nodiscard]] constexpr std::optional<Operation> parse_operation(std::string_view name) noexcept {
  for (std::uint8_t i = 1; i <= kOperationMax; ++i) {
    if (name_of(static_cast<Operation>(i)) == name) {
      return static_cast<Operation>(i);
    }
  }
  return std::nullopt;
}

}  // namespace cdc::model
