#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_handle.h"

namespace cdc::postgres {

// Memory that the buffers of all in-progress transactions share before they go to files.
struct SpillBudget {
  std::filesystem::path directory;  // created (0700) when the first file is needed
  std::size_t memory_bytes_max = 16U << 20U;
  std::size_t memory_bytes = 0;
};

// The messages of one streamed transaction, kept until it commits or aborts, in the order they
// came.
//
// Purpose     Flat memory for a transaction of any size: once the shared budget is used up, this
//             buffer moves to a file that has no name and vanishes with the process.
// Invariants  S1 read() gives back exactly what append() took, in order, without the messages of
//             aborted subtransactions, except those that describe tables: the server sends a
//             table's description once per transaction, whichever subtransaction touched it first.
// Errors      kNoSpace, kIo. Thread: one owner. Lifetime: the budget outlives the buffer.
class SpillBuffer {
 public:
  explicit SpillBuffer(SpillBudget& budget) noexcept : budget_(&budget) {}

  ~SpillBuffer();
  SpillBuffer(const SpillBuffer&) = delete;
  SpillBuffer& operator=(const SpillBuffer&) = delete;

  [[nodiscard]] Status append(std::uint32_t xid, std::string_view message);

  void abort_subtransaction(std::uint32_t subxid) { aborted_.insert(subxid); }

  // The next message, valid until the next call; nullopt at the end. Reading begins at the first
  // message; nothing may be appended after that.
  [[nodiscard]] Result<std::optional<std::string_view>> read();

  [[nodiscard]] std::uint64_t bytes() const noexcept { return file_bytes_ + memory_.size(); }

  [[nodiscard]] bool in_file() const noexcept { return static_cast<bool>(file_); }

 private:
  struct Record {
    std::uint32_t xid = 0;
    std::string_view message;
  };

  [[nodiscard]] Status move_to_file();
  [[nodiscard]] Result<std::optional<Record>> next_record();
  [[nodiscard]] Status load(std::size_t bytes);
  void account(std::size_t now) noexcept;

  SpillBudget* budget_;
  std::string memory_;  // records not in the file; while reading, the window that is being read
  std::size_t accounted_ = 0;
  UniqueFd file_;
  std::uint64_t file_bytes_ = 0;
  std::set<std::uint32_t> aborted_;
  bool reading_ = false;
  std::uint64_t file_read_ = 0;  // file position behind the window
  std::size_t at_ = 0;           // in the window
};

}  // namespace cdc::postgres
