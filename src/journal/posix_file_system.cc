#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/format.h"
#include "base/unique_handle.h"
#include "journal/file_system.h"

namespace cdc::journal {

namespace {

// Writes of this size mean that more is coming.
constexpr std::uint64_t kEarlyWriteBytes = 256U << 10U;

namespace fs = std::filesystem;

constexpr std::string_view kAccessHint =
    "check the owner and the mode of the directory, and that the disk is mounted for writing";

Error path_error(int os_error, std::string_view what, const fs::path& path) {
  const bool denied = os_error == EACCES || os_error == EPERM || os_error == EROFS;
  Error error = make_os_error(
      os_error, format("{} {}", what, path.string()), std::string(denied ? kAccessHint : ""));
  if (os_error == ENOENT) {
    error.code = Errc::kNotFound;
  }
  return error;
}

// Repeats a call that a signal interrupted.
template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

// What is left of a list of pieces after the kernel has taken some bytes of it.
class RemainingPieces {
 public:
  explicit RemainingPieces(std::span<const std::string_view> pieces) : pieces_(pieces) {}

  // Fills the vector with the next pieces; false when none are left.
  [[nodiscard]] bool fill(std::array<iovec, 16>& vectors, int& count) {
    count = 0;
    std::size_t skip = skip_;
    for (const std::string_view piece : pieces_) {
      if (static_cast<std::size_t>(count) == vectors.size()) {
        break;
      }
      if (skip < piece.size()) {
        // The kernel only reads through iov_base, which is not const for the sake of readv.
        vectors[static_cast<std::size_t>(count++)] = {const_cast<char*>(piece.data()) + skip,
                                                      piece.size() - skip};
      }
      skip = 0;
    }
    return count > 0;
  }

  void advance(std::size_t bytes) {
    skip_ += bytes;
    while (!pieces_.empty() && skip_ >= pieces_.front().size()) {
      skip_ -= pieces_.front().size();
      pieces_ = pieces_.subspan(1);
    }
  }

 private:
  std::span<const std::string_view> pieces_;
  std::size_t skip_ = 0;  // bytes of the first piece that are written already
};

class PosixFile final : public File {
 public:
  PosixFile(UniqueFd fd, fs::path path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto got = retry_interrupted([&] {
        return ::pread(
            fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      });
      if (got < 0) {
        return cdc::fail(path_error(errno, "cannot read", path_));
      }
      if (got == 0) {
        break;
      }
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Status write_at(std::uint64_t offset, std::span<const std::string_view> pieces) override {
    const std::uint64_t start = offset;
    RemainingPieces remaining(pieces);
    std::array<iovec, 16> vectors{};
    int count = 0;
    while (remaining.fill(vectors, count)) {
      const auto written = retry_interrupted(
          [&] { return ::pwritev(fd_.get(), vectors.data(), count, static_cast<off_t>(offset)); });
      if (written < 0) {
        return cdc::fail(path_error(errno, "cannot write", path_));
      }
      remaining.advance(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
    if (offset - start >= kEarlyWriteBytes) {
      // The disk works while the next batch is written. Only a hint: the sync is what counts.
      static_cast<void>(::sync_file_range(fd_.get(),
                                          static_cast<off_t>(start),
                                          static_cast<off_t>(offset - start),
                                          SYNC_FILE_RANGE_WRITE));
    }
    return {};
  }

  Result<bool> allocate(std::uint64_t size) override {
    const int failed =
        retry_interrupted([&] { return ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(size)); });
    if (failed == 0) {
      return true;
    }
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) {
      return false;
    }
    return cdc::fail(path_error(errno, "cannot reserve space for", path_));
  }

  Status truncate(std::uint64_t size) override {
    if (retry_interrupted([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size)); }) != 0) {
      return cdc::fail(path_error(errno, "cannot shorten", path_));
    }
    return {};
  }

  // An interrupted or failed sync is not repeated: after a failure the kernel may have dropped the
  // very bytes that a second call would then report as safe.
  Status sync_data() override {
    if (::fdatasync(fd_.get()) != 0) {
      return cdc::fail(path_error(errno, "cannot sync", path_));
    }
    return {};
  }

  Status sync_all() override {
    if (::fsync(fd_.get()) != 0) {
      return cdc::fail(path_error(errno, "cannot sync", path_));
    }
    return {};
  }

  Result<std::uint64_t> size() const override {
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) {
      return cdc::fail(path_error(errno, "cannot examine", path_));
    }
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  UniqueFd fd_;
  fs::path path_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(UniqueFd fd) : fd_(std::move(fd)) {}

 private:
  UniqueFd fd_;
};

int open_flags(OpenMode mode) {
  switch (mode) {
    case OpenMode::kRead:
      return O_RDONLY;
    case OpenMode::kReadWrite:
      return O_RDWR;
    case OpenMode::kCreate:
      return O_RDWR | O_CREAT | O_TRUNC;
  }
  return O_RDONLY;
}

}  // namespace

Status PosixFileSystem::create_directory(const fs::path& path) {
  fs::path parent;
  fs::path partial;
  for (const fs::path& part : path) {
    parent = partial.empty() ? fs::path(".") : partial;
    partial /= part;
    if (::mkdir(partial.c_str(), 0700) == 0) {
      CDC_TRY(sync_directory(parent));
      continue;
    }
    const int os_error = errno;
    std::error_code ignored;
    if (!fs::is_directory(partial, ignored)) {
      return cdc::fail(path_error(os_error, "cannot create directory", partial));
    }
  }
  return {};
}

Result<std::unique_ptr<File>> PosixFileSystem::open(const fs::path& path, OpenMode mode) {
  UniqueFd fd(
      retry_interrupted([&] { return ::open(path.c_str(), open_flags(mode) | O_CLOEXEC, 0600); }));
  if (!fd) {
    return cdc::fail(path_error(errno, "cannot open", path));
  }
  if (mode == OpenMode::kRead) {
    // Readers ask for large pieces themselves. Read-ahead would fill the cache with the part behind
    // the last frame, which is about to be written.
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM);
  }
  return std::make_unique<PosixFile>(std::move(fd), path);
}

Status PosixFileSystem::rename(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return cdc::fail(path_error(errno, "cannot rename", from));
  }
  return {};
}

Status PosixFileSystem::remove(const fs::path& path) {
  if (::unlink(path.c_str()) != 0) {
    return cdc::fail(path_error(errno, "cannot remove", path));
  }
  return {};
}

Result<std::vector<std::string>> PosixFileSystem::list(const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator{}; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    return cdc::fail(path_error(error.value(), "cannot list", directory));
  }
  return names;
}

Status PosixFileSystem::sync_directory(const fs::path& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    return cdc::fail(path_error(errno, "cannot sync directory", directory));
  }
  return {};
}

Result<std::unique_ptr<FileLock>> PosixFileSystem::lock(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) {
    return cdc::fail(path_error(errno, "cannot open", path));
  }
  if (retry_interrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) == 0) {
    return std::make_unique<PosixFileLock>(std::move(fd));
  }
  if (errno == EWOULDBLOCK) {
    return cdc::fail(Errc::kLocked,
                     format("{} is locked by another process", path.string()),
                     "stop the other process, or give this one a directory of its own");
  }
  return cdc::fail(path_error(errno, "cannot lock", path));
}

std::uint64_t PosixFileSystem::random64() {
  std::uint64_t value = 0;
  // Eight bytes are always delivered whole once the kernel's pool is ready.
  const auto got = retry_interrupted([&] { return ::getrandom(&value, sizeof value, 0); });
  CDC_ASSERT(got == static_cast<ssize_t>(sizeof value));
  return value;
}

}  // namespace cdc::journal
