#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cdc {

// A PostgreSQL log sequence number. Zero is "none".
struct Lsn {
  std::uint64_t value = 0;

  auto operator<=>(const Lsn&) const = default;

  [[nodiscard]] explicit operator bool() const noexcept { return value != 0; }
};

// "0/155CD28": two upper-case hexadecimal numbers, as PostgreSQL prints them.
[[nodiscard]] std::string to_string(Lsn lsn);
// Appends the same text at `out` (room for 17 bytes) and returns its end.
char* format_lsn(Lsn lsn, char* out) noexcept;
[[nodiscard]] std::optional<Lsn> parse_lsn(std::string_view text) noexcept;

// The place of an event in its source: commit LSN of its transaction and its index there.
// Total order of the stream; the same for ever, whatever crashes.
struct Position {
  Lsn commit;
  std::uint64_t index = 0;

  auto operator<=>(const Position&) const = default;
};

// The number of an event in the journal, counted from 1 without gaps. Zero is "before the first".
struct Sequence {
  std::uint64_t value = 0;

  auto operator<=>(const Sequence&) const = default;
};

}  // namespace cdc
