#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace cdc::state {

// Who the source was when we last spoke to it: a slot is ours only if all of this still holds.
struct SourceIdentity {
  std::string system_identifier;  // pg_control_system(), decimal
  std::string database;
  std::string slot;
  std::string plugin;
  std::uint32_t timeline = 0;
};

struct Checkpoint {
  SourceIdentity identity;
  // The highest position we ever told the server; the journal may be ahead, never behind.
  Lsn acknowledged;
};

// The shape of a table from `since` on; `previous` before. Lets a restart tell whether a schema
// event made it into the journal: if the journal ends before `since`, `previous` is still in force.
struct TableShape {
  std::string hash;
  std::string previous;
  Lsn since;
};

// <data-dir>/checkpoint.db. Thread: one owner. Errors: kIo, kCorrupt, kVersion, kNoSpace.
class CheckpointStore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<CheckpointStore>> open(
      const std::filesystem::path& path);
  virtual ~CheckpointStore() = default;

  [[nodiscard]] virtual Result<std::optional<Checkpoint>> load(std::string_view source_id) = 0;
  [[nodiscard]] virtual Status save(std::string_view source_id, const Checkpoint& checkpoint) = 0;

  // Table names are "schema.table", unquoted.
  [[nodiscard]] virtual Result<std::optional<TableShape>> load_shape(std::string_view source_id,
                                                                     std::string_view table) = 0;
  // Durable on return: the schema event may only be journaled afterwards.
  [[nodiscard]] virtual Status save_shape(std::string_view source_id,
                                          std::string_view table,
                                          const TableShape& shape) = 0;
};

}  // namespace cdc::state
