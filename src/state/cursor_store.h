#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace cdc::state {

inline constexpr std::size_t kLaneCount = 64;

// How far a consumer is: for each lane, the last sequence of which it has acknowledged everything.
struct Cursor {
  std::array<Sequence, kLaneCount> lanes{};

  [[nodiscard]] Sequence lowest() const noexcept;
  auto operator<=>(const Cursor&) const = default;
};

struct NamedCursor {
  std::string consumer;
  Cursor cursor;
  std::int64_t updated_at_unix_micros = 0;
};

// <data-dir>/cursors.db. Thread: any; each call is one short transaction.
class CursorStore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<CursorStore>> open(const std::filesystem::path& path);
  // For a look from outside while the process runs, or after; kNotFound without a file.
  [[nodiscard]] static Result<std::unique_ptr<CursorStore>> open_read_only(
      const std::filesystem::path& path);
  virtual ~CursorStore() = default;

  [[nodiscard]] virtual Result<std::optional<Cursor>> load(std::string_view consumer) = 0;
  // Survives a crash of the process on return; of the machine, after the next checkpoint of SQLite.
  // A cursor that falls back repeats deliveries, never skips one.
  [[nodiscard]] virtual Status save(std::string_view consumer, const Cursor& cursor) = 0;
  [[nodiscard]] virtual Status remove(std::string_view consumer) = 0;
  [[nodiscard]] virtual Result<std::vector<NamedCursor>> list() = 0;
};

}  // namespace cdc::state
