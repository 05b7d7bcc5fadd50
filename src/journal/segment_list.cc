#include "journal/segment_list.h"

#include <utility>

namespace cdc::journal {

std::shared_ptr<const Segments> SegmentList::snapshot() const {
  MutexLock lock(mutex_);
  return segments_;
}

void SegmentList::replace(Segments segments) {
  auto replacement = std::make_shared<const Segments>(std::move(segments));
  MutexLock lock(mutex_);
  segments_.swap(replacement);
}

}  // namespace cdc::journal
