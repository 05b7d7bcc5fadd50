#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "json/text_buffer.h"
#include "model/operation.h"

namespace cdc::model {

// The fixed part of an event, beside its JSON text. Filters, lanes and cursors work on this alone.
// Persisted as it stands (little-endian, 48 bytes): docs/formats/journal.md.
struct EventHeader {
  std::uint32_t text_offset = 0;  // of the JSON line in the batch's text
  std::uint32_t text_size = 0;    // including the final '\n'
  std::uint32_t table = 0;        // index into the batch's table names
  Operation operation = Operation::kInsert;
  std::uint8_t flags = 0;  // kBarrier, kSnapshot
  std::uint16_t reserved = 0;
  std::uint64_t key_hash = 0;      // of table and key: chooses the lane
  std::uint64_t old_key_hash = 0;  // of the key before a key change, else equal to key_hash
  std::uint64_t commit_lsn = 0;
  std::uint64_t index = 0;  // in the transaction

  static constexpr std::uint8_t kBarrier =
      1;  // concerns every key of its table (truncate, control)
  static constexpr std::uint8_t kSnapshot = 2;  // read by a snapshot

  [[nodiscard]] Position position() const noexcept { return {Lsn{commit_lsn}, index}; }
};

static_assert(sizeof(EventHeader) == 48 && std::is_trivially_copyable_v<EventHeader>);

// The arena that a source fills and the journal writes: event headers, the JSON lines they point
// into, and the names of the tables they belong to.
//
// Invariants  B1 text is the concatenation of the events' lines, in order, each ending in '\n'.
//             B2 events up to boundary() belong to whole transactions; those behind it to one
//                transaction that is still arriving.
//             B3 continues() is true when the first event is not the first of its transaction; such
//                a batch is handed on at that transaction's commit, so it holds no other.
// Bounds      The owner hands the batch on when bytes() passes its limit; one event may exceed it.
// Thread      One owner at a time.
class EventBatch {
 public:
  // Adds a table name, "schema.table" unquoted, and returns its index, valid until reset(). The
  // caller remembers it for the batch: names are not searched.
  std::uint32_t add_table(std::string_view name);

  // Appends an event whose line is everything written to text() since the last event.
  void add_event(EventHeader header);

  // Declares that all events so far belong to whole transactions and that `position` may be
  // acknowledged to the source once this batch is durable. Also used without events, to move the
  // position of a stream that has nothing for us.
  void mark_boundary(Lsn acknowledge) noexcept;

  // When a transaction that ends in the batch committed. The first one is kept: it has waited the
  // longest.
  void note_commit(UnixMicros time) noexcept {
    if (first_commit_.value == 0) {
      first_commit_ = time;
    }
  }

  // Forgets the events behind boundary(): their transaction was abandoned.
  void drop_tail() noexcept;

  // Empties the batch for reuse; keeps its memory up to `keep_bytes`. `continues` starts the new
  // batch in the middle of a transaction.
  void reset(bool continues, std::size_t keep_bytes);

  [[nodiscard]] json::TextBuffer& text() noexcept { return text_; }

  [[nodiscard]] const json::TextBuffer& text() const noexcept { return text_; }

  [[nodiscard]] const std::vector<EventHeader>& events() const noexcept { return events_; }

  [[nodiscard]] const std::vector<std::string>& tables() const noexcept { return tables_; }

  [[nodiscard]] std::size_t boundary() const noexcept { return boundary_; }

  [[nodiscard]] std::size_t boundary_text_size() const noexcept { return boundary_text_size_; }

  [[nodiscard]] Lsn acknowledge() const noexcept { return acknowledge_; }

  // Zero: no transaction with events ends here.
  [[nodiscard]] UnixMicros first_commit() const noexcept { return first_commit_; }

  [[nodiscard]] bool continues() const noexcept { return continues_; }

  // Nothing to write: no event and no position.
  [[nodiscard]] bool empty() const noexcept { return events_.empty() && !acknowledge_; }

  // All of it is whole transactions.
  [[nodiscard]] bool whole() const noexcept { return boundary_ == events_.size(); }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return text_.size() + events_.size() * sizeof(EventHeader);
  }

 private:
  json::TextBuffer text_;
  std::vector<EventHeader> events_;
  std::vector<std::string> tables_;
  std::size_t boundary_ = 0;
  std::size_t boundary_text_size_ = 0;
  std::size_t event_text_end_ = 0;
  Lsn acknowledge_;
  UnixMicros first_commit_;
  bool continues_ = false;
};

}  // namespace cdc::model
