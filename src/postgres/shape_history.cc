#include "postgres/shape_history.h"

#include <optional>

namespace cdc::postgres {

Result<bool> ShapeHistory::changed(const std::string& table, const std::string& hash, Lsn commit) {
  auto found = current_.find(table);
  if (found == current_.end()) {
    CDC_ASSIGN(const auto stored, store_->load_shape(source_id_, table));
    std::string in_force;
    if (stored) {
      in_force = stored->since < done_ ? stored->hash : stored->previous;
    }
    found = current_.emplace(table, std::move(in_force)).first;
  }
  if (found->second == hash) {
    return false;
  }
  const bool had_another = !found->second.empty();
  CDC_TRY(store_->save_shape(
      source_id_,
      table,
      state::TableShape{.hash = hash, .previous = found->second, .since = commit}));
  found->second = hash;
  return had_another;
}

}  // namespace cdc::postgres
