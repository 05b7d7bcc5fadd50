#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "base/sync/inbox.h"
#include "model/event_batch.h"
#include "postgres/snapshot_table.h"
#include "postgres/snapshot_view.h"

namespace cdc::snapshot {

using KeySet = std::shared_ptr<const std::unordered_set<std::uint64_t>>;

// ---- To the stream ------------------------------------------------------------------------------

// Remember changes of the table from here on; answered by Watching.
struct Watch {
  std::uint32_t table = 0;
};

// The backfill of the table is over.
struct Forget {
  std::uint32_t table = 0;
};

// No view older than this one is out or will be taken.
struct Prune {
  std::uint32_t table = 0;
  postgres::SnapshotView oldest;
};

// Which rows may still lack values; answered by Moved.
struct AskMoved {
  std::uint32_t table = 0;
};

// Changes of the table are not wanted (any more).
struct Mute {
  std::uint32_t table = 0;
};

// Events to put into the stream: rows of a chunk, or a fact about a snapshot. Answered by Delivered
// or Refused.
struct Offer {
  std::uint64_t ticket = 0;
  std::uint32_t table = 0;  // zero: a fact, which needs no judgement
  bool whole_rows = false;  // the table has no key
  KeySet only;              // null: all rows; otherwise those with these key hashes
  postgres::SnapshotView view;
  model::EventBatch rows;
  std::vector<std::uint32_t> writers;  // of each row; empty for tables read by key
};

using ToStream = std::variant<Watch, Forget, Prune, AskMoved, Mute, std::unique_ptr<Offer>>;

// ---- From the stream ----------------------------------------------------------------------------

// A session of the source begins: what is published now.
struct SessionBegins {
  std::string publication;
  std::vector<postgres::PublishedTable> tables;
  bool gap = false;  // changes may have been missed before it
};

struct Watching {
  std::uint32_t table = 0;
};

// All of the offer is in the journal, durably, but for rows that newer changes made stale.
struct Delivered {
  std::uint64_t ticket = 0;
  std::uint64_t emitted = 0;
  std::uint64_t dropped = 0;
  // Of those dropped: the change that made them stale lacks values. To be read again.
  std::vector<std::uint64_t> missing;  // key hashes
  model::EventBatch memory;            // the offer's rows, for what they were kept in
};

struct Moved {
  std::uint32_t table = 0;
  KeySet keys;       // null: none
  bool all = false;  // too many to name them
};

// It cannot be told what of the offer is stale, and nothing of it was used: to be read again.
struct Refused {
  std::uint64_t ticket = 0;
};

using FromStream = std::variant<SessionBegins, Watching, Delivered, Refused, Moved>;

// What source thread and coordinator say to each other; neither ever waits for the other.
// Bounds: the coordinator has few offers out at a time. Lifetime: outlives both.
struct Exchange {
  static constexpr std::size_t kMessagesMax = 1U << 17U;

  Inbox<ToStream> to_stream{kMessagesMax};
  Inbox<FromStream> from_stream{kMessagesMax};
};

}  // namespace cdc::snapshot
