#include "postgres/spill.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "base/assert.h"

namespace cdc::postgres {

namespace {

constexpr std::size_t kHeaderBytes = 2 * sizeof(std::uint32_t);
constexpr std::size_t kWindowBytes = 256U << 10U;
// Records collect in memory up to this before they are written to the file.
constexpr std::size_t kWriteBytes = 256U << 10U;

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return fail(make_os_error(errno,
                                "cannot write the spill file of a large transaction",
                                "free space in the data directory"));
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

bool describes_table(std::string_view message) noexcept {
  return !message.empty() && (message.front() == 'R' || message.front() == 'Y');
}

}  // namespace

SpillBuffer::~SpillBuffer() {
  account(0);
}

void SpillBuffer::account(std::size_t now) noexcept {
  budget_->memory_bytes += now;
  budget_->memory_bytes -= accounted_;
  accounted_ = now;
}

Status SpillBuffer::append(std::uint32_t xid, std::string_view message) {
  CDC_ASSERT(!reading_);
  char header[kHeaderBytes];
  const auto size = static_cast<std::uint32_t>(message.size());
  std::memcpy(header, &xid, sizeof xid);
  std::memcpy(header + sizeof xid, &size, sizeof size);
  memory_.append(header, sizeof header);
  memory_.append(message);
  account(memory_.size());
  const bool over_budget = budget_->memory_bytes > budget_->memory_bytes_max;
  if (file_ ? memory_.size() >= kWriteBytes : over_budget) {
    return move_to_file();
  }
  return {};
}

Status SpillBuffer::move_to_file() {
  if (!file_) {
    std::error_code error;
    std::filesystem::create_directories(budget_->directory, error);
    std::filesystem::permissions(budget_->directory, std::filesystem::perms::owner_all, error);
    std::string path = (budget_->directory / "transaction-XXXXXX").string();
    const int fd = ::mkostemp(path.data(), O_CLOEXEC);
    if (fd < 0) {
      return fail(
          make_os_error(errno, "cannot create a spill file in " + budget_->directory.string()));
    }
    file_ = UniqueFd{fd};
    ::unlink(path.c_str());
  }
  CDC_TRY(write_all(file_.get(), memory_));
  file_bytes_ += memory_.size();
  memory_.clear();
  memory_.shrink_to_fit();
  account(0);
  return {};
}

// Makes `bytes` available at `at_`, reading on in the file when there is one.
Status SpillBuffer::load(std::size_t bytes) {
  memory_.erase(0, at_);
  at_ = 0;
  const std::uint64_t left = file_bytes_ - file_read_;
  const std::size_t have = memory_.size();
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(left, std::max(bytes - have, kWindowBytes)));
  memory_.resize(have + wanted);
  std::size_t got = 0;
  while (got < wanted) {
    const ssize_t count = ::pread(file_.get(),
                                  memory_.data() + have + got,
                                  wanted - got,
                                  static_cast<off_t>(file_read_ + got));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      return fail(make_os_error(count < 0 ? errno : EIO, "cannot read the spill file back"));
    }
    got += static_cast<std::size_t>(count);
  }
  file_read_ += wanted;
  return {};
}

Result<std::optional<SpillBuffer::Record>> SpillBuffer::next_record() {
  if (memory_.size() - at_ < kHeaderBytes && file_read_ < file_bytes_) {
    CDC_TRY(load(kHeaderBytes));
  }
  if (memory_.size() - at_ < kHeaderBytes) {
    return std::nullopt;
  }
  Record record;
  std::uint32_t size = 0;
  std::memcpy(&record.xid, memory_.data() + at_, sizeof record.xid);
  std::memcpy(&size, memory_.data() + at_ + sizeof record.xid, sizeof size);
  if (memory_.size() - at_ < kHeaderBytes + size) {
    CDC_TRY(load(kHeaderBytes + size));
  }
  if (memory_.size() - at_ < kHeaderBytes + size) {
    return fail(Errc::kCorrupt, "the spill file of a large transaction is cut short");
  }
  record.message = std::string_view(memory_).substr(at_ + kHeaderBytes, size);
  at_ += kHeaderBytes + size;
  return record;
}

Result<std::optional<std::string_view>> SpillBuffer::read() {
  if (!reading_) {
    reading_ = true;
    if (file_ && !memory_.empty()) {
      CDC_TRY(move_to_file());
    }
  }
  for (;;) {
    CDC_ASSIGN(auto record, next_record());
    if (!record) {
      return std::nullopt;
    }
    if (!aborted_.contains(record->xid) || describes_table(record->message)) {
      return record->message;
    }
  }
}

}  // namespace cdc::postgres
