#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace cdc::json {

// A growing run of bytes that writers append to without checking bounds twice: reserve once, then
// write through a raw cursor. Movable; clear() keeps the memory. Thread: one owner.
class TextBuffer {
 public:
  TextBuffer() = default;

  TextBuffer(TextBuffer&& other) noexcept { swap(other); }

  TextBuffer& operator=(TextBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;
  ~TextBuffer() = default;

  void swap(TextBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  // Makes room for `bytes` more and returns the write cursor; commit(end) takes what was written.
  // The cursor is valid until the next reserve.
  [[nodiscard]] char* reserve(std::size_t bytes) {
    if (capacity_ - size_ < bytes) {
      grow(bytes);
    }
    return data_.get() + size_;
  }

  void commit(const char* end) noexcept { size_ = static_cast<std::size_t>(end - data_.get()); }

  void append(std::string_view text) {
    char* out = reserve(text.size());
    // An empty view may point nowhere, which memcpy does not allow.
    if (!text.empty()) {
      std::memcpy(out, text.data(), text.size());
      size_ += text.size();
    }
  }

  void append(char c) {
    *reserve(1) = c;
    ++size_;
  }

  // Drops everything behind `size`, which must not exceed size().
  void truncate(std::size_t size) noexcept { size_ = size; }

  void clear() noexcept { size_ = 0; }

  // Gives memory above `bytes` back when the buffer is empty.
  void shrink(std::size_t bytes);

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  [[nodiscard]] const char* data() const noexcept { return data_.get(); }

  [[nodiscard]] std::string_view view() const noexcept { return {data_.get(), size_}; }

  [[nodiscard]] std::string_view view(std::size_t from) const noexcept {
    return {data_.get() + from, size_ - from};
  }

 private:
  void grow(std::size_t bytes);

  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace cdc::json
