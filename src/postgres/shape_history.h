#pragma once

#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "base/result.h"
#include "state/checkpoint_store.h"

namespace cdc::postgres {

// Remembers the shape each table had when a row of it was last captured, so that a changed shape is
// told from one that the server merely describes again.
//
// How     The store is written, durably, before the schema event that it announces is journaled,
//         with the commit LSN of the event's transaction. If that transaction never became durable,
//         the shape before it is still in force; comparing the LSN with the decoder's done()
//         decides.
// Thread  One owner. Errors: those of the store.
class ShapeHistory {
 public:
  ShapeHistory(state::CheckpointStore& store, std::string source_id)
      : store_(&store), source_id_(std::move(source_id)) {}

  // Forgets what was announced but may have been lost with the connection.
  void begin_session(Lsn done) {
    current_.clear();
    done_ = done;
  }

  // Records that `table` has the shape `hash` in the transaction that commits at `commit`. True
  // when it had another one before: a schema event is due.
  [[nodiscard]] Result<bool> changed(const std::string& table, const std::string& hash, Lsn commit);

 private:
  state::CheckpointStore* store_;
  std::string source_id_;
  Lsn done_;
  std::unordered_map<std::string, std::string> current_;
};

}  // namespace cdc::postgres
