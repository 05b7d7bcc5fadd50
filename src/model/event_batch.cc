#include "model/event_batch.h"

namespace cdc::model {

std::uint32_t EventBatch::add_table(std::string_view name) {
  tables_.emplace_back(name);
  return static_cast<std::uint32_t>(tables_.size() - 1);
}

void EventBatch::add_event(EventHeader header) {
  header.text_offset = static_cast<std::uint32_t>(event_text_end_);
  header.text_size = static_cast<std::uint32_t>(text_.size() - event_text_end_);
  event_text_end_ = text_.size();
  events_.push_back(header);
}

void EventBatch::mark_boundary(Lsn acknowledge) noexcept {
  boundary_ = events_.size();
  boundary_text_size_ = event_text_end_;
  acknowledge_ = acknowledge;
}

void EventBatch::drop_tail() noexcept {
  events_.resize(boundary_);
  text_.truncate(boundary_text_size_);
  event_text_end_ = boundary_text_size_;
}

void EventBatch::reset(bool continues, std::size_t keep_bytes) {
  text_.clear();
  text_.shrink(keep_bytes);
  events_.clear();
  tables_.clear();
  boundary_ = 0;
  boundary_text_size_ = 0;
  event_text_end_ = 0;
  acknowledge_ = Lsn{};
  first_commit_ = {};
  continues_ = continues;
}

}  // namespace cdc::model
