#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "journal/file_system.h"

namespace cdc::journal {

// Reads a file from front to back through one reused buffer, in few large reads.
//
// Bounds    The buffer holds kChunkMax bytes, or what a caller asks for at once, which for frames
//           of usual batches is a little more than 1 MiB; memory above kKeepMax is given back by
//           forget(). Chunks begin small after forget() and double: a reader at the tail of a live
//           file copies little it cannot use.
// Lifetime  The file outlives the window. A view is valid until the next call of at(); the byte at
//           a requested offset divisible by 8 has an address divisible by 8.
class FileWindow {
 public:
  static constexpr std::size_t kChunkMin = 16U << 10U;
  static constexpr std::size_t kChunkMax = 256U << 10U;
  static constexpr std::size_t kKeepMax = 2U << 20U;

  // Begins to read `file`.
  void attach(const File* file) noexcept;
  // Drops what was read: the file may have changed since.
  void forget() noexcept;
  // The same, and gives all memory back.
  void release() noexcept;
  // `size` bytes from `offset`, or fewer at the end of the file.
  [[nodiscard]] Result<std::string_view> at(std::uint64_t offset, std::size_t size);

 private:
  [[nodiscard]] Status refill(std::uint64_t offset, std::size_t size);
  void make_room(std::size_t kept_from, std::size_t kept, std::size_t wanted);

  const File* file_ = nullptr;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::uint64_t start_ = 0;  // offset in the file of buffer_[0]
  std::size_t size_ = 0;     // bytes in the buffer
  std::size_t chunk_ = kChunkMin;
};

}  // namespace cdc::journal
