#include "journal/internal/file_window.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace cdc::journal {

void FileWindow::attach(const File* file) noexcept {
  file_ = file;
  forget();
}

void FileWindow::forget() noexcept {
  size_ = 0;
  chunk_ = kChunkMin;
  if (capacity_ > kKeepMax) {
    buffer_.reset();
    capacity_ = 0;
  }
}

void FileWindow::release() noexcept {
  forget();
  buffer_.reset();
  capacity_ = 0;
}

Result<std::string_view> FileWindow::at(std::uint64_t offset, std::size_t size) {
  const bool inside = offset >= start_ && offset - start_ + size <= size_;
  if (!inside) {
    CDC_TRY(refill(offset, size));
  }
  const auto from = static_cast<std::size_t>(offset - start_);
  return std::string_view(buffer_.get() + from, std::min(size, size_ - from));
}

Status FileWindow::refill(std::uint64_t offset, std::size_t size) {
  const bool continues = offset >= start_ && offset - start_ < size_;
  const auto kept_from = continues ? static_cast<std::size_t>(offset - start_) : 0;
  const std::size_t kept = continues ? size_ - kept_from : 0;
  const std::size_t wanted = std::max(size, chunk_);
  make_room(kept_from, kept, wanted);
  start_ = offset;
  size_ = kept;
  chunk_ = std::min(chunk_ * 2, kChunkMax);
  auto got = file_->read_at(offset + kept, std::span(buffer_.get() + kept, wanted - kept));
  if (!got) {
    return cdc::fail(std::move(got).error());
  }
  size_ += *got;
  return {};
}

// Moves the kept bytes to the front of a buffer that holds `wanted` bytes.
void FileWindow::make_room(std::size_t kept_from, std::size_t kept, std::size_t wanted) {
  if (capacity_ >= wanted) {
    std::memmove(buffer_.get(), buffer_.get() + kept_from, kept);
    return;
  }
  const std::size_t capacity = wanted <= kKeepMax ? std::bit_ceil(wanted) : wanted;
  auto buffer = std::make_unique_for_overwrite<char[]>(capacity);
  if (kept > 0) {
    std::memcpy(buffer.get(), buffer_.get() + kept_from, kept);
  }
  buffer_ = std::move(buffer);
  capacity_ = capacity;
}

}  // namespace cdc::journal
