#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/result.h"
#include "base/sync/handoff.h"
#include "base/sync/thread.h"
#include "base/sync/watermark.h"
#include "capture/pipeline.h"
#include "capture/snapshot_emitter.h"
#include "capture/source_status.h"
#include "config/config.h"
#include "postgres/recent_changes.h"
#include "postgres/slot.h"
#include "postgres/transaction_decoder.h"
#include "snapshot/exchange.h"
#include "state/checkpoint_store.h"

namespace cdc::capture {

// Captures one PostgreSQL database: connects, sees to publication and slot, streams, and does so
// again after every fault that may pass, with growing delays that start over once a stream has run.
//
// Errors    run() ends with the first fault that trying again cannot mend, or without one when
//           asked to stop.
// Thread    run() is the source thread's body. Lifetime: the parts outlive the source.
class PostgresSource {
 public:
  struct Parts {
    const config::Config& config;
    state::CheckpointStore& checkpoints;
    Handoff<model::EventBatch>& handoff;
    Pipeline::Durable durable;
    snapshot::Exchange& exchange;
    const StopSignal& stop;
  };

  // Errors: kConfigInvalid.
  [[nodiscard]] static Result<std::unique_ptr<PostgresSource>> create(const Parts& parts);

  [[nodiscard]] Status run();

  // Thread: any.
  [[nodiscard]] SourceStatus& status() noexcept { return status_; }

 private:
  PostgresSource(const Parts& parts, postgres::TableRules rules);

  // What is known of the slot and its server once both have been checked.
  struct Prepared {
    postgres::ServerIdentity server;
    std::string slot;
    std::string publication;
    bool gap = false;
  };

  [[nodiscard]] Status session();
  [[nodiscard]] Result<Prepared> prepare(postgres::Connection& connection);
  [[nodiscard]] Status check_identity(const std::optional<state::Checkpoint>& checkpoint,
                                      const postgres::ServerIdentity& server) const;
  [[nodiscard]] Lsn known_position(const std::optional<state::Checkpoint>& checkpoint) const;
  [[nodiscard]] bool streams_in_progress() const noexcept;
  [[nodiscard]] Status read_catalog(postgres::Connection& connection);
  void rest(std::chrono::milliseconds delay);

  Parts parts_;
  postgres::TableRules rules_;
  postgres::TypeCatalog types_;
  postgres::ShapeHistory shapes_;
  postgres::RecentChanges changes_;
  postgres::TransactionDecoder decoder_;
  Pipeline pipeline_;
  SnapshotEmitter emitter_;
  Backoff backoff_;
  SourceStatus status_;
};

}  // namespace cdc::capture
