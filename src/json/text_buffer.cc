#include "json/text_buffer.h"

#include <algorithm>

namespace cdc::json {

void TextBuffer::grow(std::size_t bytes) {
  const std::size_t wanted = std::max({size_ + bytes, capacity_ + capacity_ / 2, std::size_t{256}});
  auto larger = std::make_unique_for_overwrite<char[]>(wanted);
  if (size_ > 0) {
    std::memcpy(larger.get(), data_.get(), size_);
  }
  data_ = std::move(larger);
  capacity_ = wanted;
}

void TextBuffer::shrink(std::size_t bytes) {
  if (size_ == 0 && capacity_ > bytes) {
    data_.reset();
    capacity_ = 0;
  }
}

}  // namespace cdc::json
