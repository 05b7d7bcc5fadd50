#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/sync/mutex.h"
#include "postgres/transaction_decoder.h"

namespace cdc::capture {

// How far the stream is, as the source thread knows it.
struct StreamFigures {
  Lsn server_end;  // of what the server has looked at for us
  // Everything that committed below is in the journal, durable, or was not for us.
  Lsn position;
  std::uint64_t received_bytes = 0;  // of changes, since the connection began
  postgres::DecoderCounters decoder;
};

// How the server sees our slot.
struct SlotFigures {
  std::string wal_status;  // empty: there is no slot
  std::optional<std::int64_t> retained_bytes;
  std::optional<std::int64_t> safe_bytes;  // until the server gives the slot up; none: no limit
  Lsn server_end;                          // of its WAL
};

// What everybody may know of a source: the source thread and the slot's monitor write it, metrics
// and health read it.
// Thread: any. Each call takes a lock for as long as a copy takes.
class SourceStatus {
 public:
  struct View {
    bool is_streaming = false;
    bool has_streamed = false;      // at least once since the start
    std::uint64_t connections = 0;  // that came as far as streaming
    std::string error;              // why it does not stream; empty: not tried yet, or it does
    StreamFigures stream;           // received_bytes: of all connections
    std::optional<SlotFigures> slot;
    std::string slot_error;  // why the slot is not known
    // For how long nothing has come although the server has more; only once that is too long.
    std::optional<std::chrono::seconds> stalled_for;

    // Of the server's WAL, what we have not made durable yet; 0 when there is nothing for us in it.
    [[nodiscard]] std::uint64_t lag_bytes() const noexcept;
  };

  [[nodiscard]] View view() const;

  // By the source thread: the first frame came; one round of its loop; the connection is over.
  void streaming_begins();
  void round(const StreamFigures& figures);
  void streaming_ends(std::string error);

  // By the monitor.
  void slot_seen(SlotFigures slot);
  void slot_unknown(std::string error);
  void stalled(std::optional<std::chrono::seconds> duration);

 private:
  mutable Mutex mutex_;
  View view_ CDC_GUARDED_BY(mutex_);
  std::uint64_t received_before_ CDC_GUARDED_BY(mutex_) = 0;  // by earlier connections
};

// Notices that a source makes no headway although the server's WAL goes on: a walsender that hangs,
// a journal that is full, a fault of ours.
// Thread: one owner.
class StallWatch {
 public:
  StallWatch(std::chrono::seconds patience, MonotonicTime now) : patience_(patience), since_(now) {}

  // How long it has been so, once that is longer than the patience.
  [[nodiscard]] std::optional<std::chrono::seconds> look(const SourceStatus::View& view,
                                                         MonotonicTime now);

 private:
  std::chrono::seconds patience_;
  MonotonicTime since_;
  Lsn position_;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace cdc::capture
