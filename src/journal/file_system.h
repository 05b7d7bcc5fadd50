#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cdc::journal {

// One open file. Purpose: the only way the journal touches bytes on disk, so that tests can put a
// file system under it that loses, tears and refuses writes.
//
// Errors   kNoSpace when the disk or quota is full, else kIo; the message names the file.
// Thread   One owner; several File objects may be open on the same path.
class File {
 public:
  virtual ~File() = default;

  // Reads at most out.size() bytes from `offset`; fewer only at the end of the file.
  [[nodiscard]] virtual Result<std::size_t> read_at(std::uint64_t offset,
                                                    std::span<char> out) const = 0;
  // Writes all pieces one after the other from `offset`, or fails after an unknown part of them.
  [[nodiscard]] virtual Status write_at(std::uint64_t offset,
                                        std::span<const std::string_view> pieces) = 0;
  // Extends the file to `size` bytes of zeros with blocks behind them, so that later writes need no
  // new ones. False when this file system cannot: the file is unchanged then.
  [[nodiscard]] virtual Result<bool> allocate(std::uint64_t size) = 0;
  // Cuts the file to `size` bytes.
  [[nodiscard]] virtual Status truncate(std::uint64_t size) = 0;
  // fdatasync: the bytes, and the size when it grew.
  [[nodiscard]] virtual Status sync_data() = 0;
  // fsync: everything, also a size that shrank.
  [[nodiscard]] virtual Status sync_all() = 0;
  [[nodiscard]] virtual Result<std::uint64_t> size() const = 0;
};

// An exclusive lock, held until destruction or the end of the process.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

enum class OpenMode : std::uint8_t {
  kRead,
  kReadWrite,
  kCreate,  // for reading and writing, mode 0600; emptied when it exists
};

// The operations on names. Paths are absolute or relative to the working directory.
// Errors   As File; kNotFound when the path does not exist; kLocked from lock().
// Thread   Any.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates `path` and its parents, mode 0700, durable on return. An existing directory is fine.
  [[nodiscard]] virtual Status create_directory(const std::filesystem::path& path) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<File>> open(const std::filesystem::path& path,
                                                           OpenMode mode) = 0;
  // Replaces `to`. Durable only after sync_directory().
  [[nodiscard]] virtual Status rename(const std::filesystem::path& from,
                                      const std::filesystem::path& to) = 0;
  // Removes a file. Durable only after sync_directory(). Files that are open stay readable.
  [[nodiscard]] virtual Status remove(const std::filesystem::path& path) = 0;
  // Names in the directory, without "." and "..", in no order.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(
      const std::filesystem::path& directory) = 0;
  [[nodiscard]] virtual Status sync_directory(const std::filesystem::path& directory) = 0;
  // Takes the lock file `path`, creating it. kLocked when another process or object holds it.
  [[nodiscard]] virtual Result<std::unique_ptr<FileLock>> lock(
      const std::filesystem::path& path) = 0;
  // A number that nobody who has not read our files can guess.
  [[nodiscard]] virtual std::uint64_t random64() = 0;
};

// The real one.
class PosixFileSystem final : public FileSystem {
 public:
  [[nodiscard]] Status create_directory(const std::filesystem::path& path) override;
  [[nodiscard]] Result<std::unique_ptr<File>> open(const std::filesystem::path& path,
                                                   OpenMode mode) override;
  [[nodiscard]] Status rename(const std::filesystem::path& from,
                              const std::filesystem::path& to) override;
  [[nodiscard]] Status remove(const std::filesystem::path& path) override;
  [[nodiscard]] Result<std::vector<std::string>> list(
      const std::filesystem::path& directory) override;
  [[nodiscard]] Status sync_directory(const std::filesystem::path& directory) override;
  [[nodiscard]] Result<std::unique_ptr<FileLock>> lock(const std::filesystem::path& path) override;
  [[nodiscard]] std::uint64_t random64() override;
};

}  // namespace cdc::journal
