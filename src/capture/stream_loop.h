#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "base/sync/thread.h"
#include "capture/pipeline.h"
#include "capture/read_pace.h"
#include "capture/snapshot_emitter.h"
#include "capture/source_status.h"
#include "postgres/connection.h"
#include "postgres/replication_stream.h"
#include "postgres/transaction_decoder.h"

namespace cdc::capture {

struct StreamTimes {
  std::chrono::milliseconds status_interval{10'000};
  // Without a frame for this long, the connection is taken for dead.
  std::chrono::milliseconds silence_max{300'000};
};

// One connection's life: reads the stream, decodes it, hands batches to the journal and tells the
// server what is durable, until the connection fails or we are asked to stop.
//
// Invariants  L1 the loop never waits for the journal, for the catalog or for a sink: it polls all
//                of them at once, so a status goes out on time whatever is stuck.
//             L2 while the journal cannot take more, the socket is not read: the server waits.
//             L3 only durable positions are acknowledged.
// Thread      The source thread.
class StreamLoop {
 public:
  // References outlive the loop.
  struct Parts {
    Pipeline& pipeline;
    postgres::TransactionDecoder& decoder;
    SnapshotEmitter& emitter;
    postgres::TypeCatalog& types;
    postgres::Connection& catalog;
    SourceStatus& status;
    const StopSignal& stop;
  };

  StreamLoop(const Parts& parts, postgres::ReplicationStream stream, const StreamTimes& times);

  // kClosed when asked to stop; anything else is why the connection ended.
  [[nodiscard]] Status run();

  // The server has spoken at least once.
  [[nodiscard]] bool established() const noexcept { return established_; }

 private:
  enum class Lookup : std::uint8_t {
    kNone,
    kTypes,
    kTable
  };

  [[nodiscard]] bool can_decode() const noexcept;
  [[nodiscard]] Status read_and_decode();
  [[nodiscard]] Status read_socket();
  [[nodiscard]] Result<bool> decode_next();
  [[nodiscard]] Status decode_frame(const postgres::ReplicationStream::Frame& frame);
  [[nodiscard]] Status progress(postgres::TransactionDecoder::Progress progress);
  [[nodiscard]] bool between_transactions() const noexcept;
  void emit_snapshot();
  void offer_batch();
  [[nodiscard]] bool batch_is_due() const;
  void offer_position();
  [[nodiscard]] bool asks_position() const noexcept;
  [[nodiscard]] Status report();
  void publish();
  [[nodiscard]] Status start_lookup();
  [[nodiscard]] Status continue_lookup();
  void wait();
  [[nodiscard]] std::chrono::microseconds time_to_wait() const;
  void finish();

  Parts parts_;
  postgres::ReplicationStream stream_;
  StreamTimes times_;
  ReadPace pace_;
  bool established_ = false;
  bool drained_ = true;          // all that was read is decoded
  bool batch_waits_ = false;     // the journal could not take the batch
  bool position_asked_ = false;  // the server wants to hear from us
  Lookup lookup_ = Lookup::kNone;
  MonotonicTime now_;
  MonotonicTime read_again_;  // the socket is left alone until then
  MonotonicTime next_status_;
  MonotonicTime last_status_;
  MonotonicTime last_frame_;
  MonotonicTime lookup_deadline_;
  std::optional<MonotonicTime> whole_since_;  // since when the batch has held a whole transaction
  Lsn reported_;
  Lsn server_end_;                    // as keepalives tell
  std::uint64_t received_bytes_ = 0;  // of changes
};

}  // namespace cdc::capture
