#include "app/observed_parts.h"

#include <algorithm>

namespace cdc::app {

// A saved position may lie beyond the end of a journal that has lost its own.
std::uint64_t lag_events(journal::Journal& journal, Sequence acknowledged) {
  const std::uint64_t end = journal.durable_sequence().load();
  return end > acknowledged.value ? end - acknowledged.value : 0;
}

std::vector<serve::Consumer> other_consumers(const ObservedParts& parts) {
  if (parts.consumers == nullptr) {
    return {};
  }
  auto listed = parts.consumers->list();
  if (!listed) {
    return {};
  }
  std::erase_if(*listed, [&parts](const serve::Consumer& consumer) {
    return std::ranges::any_of(parts.workers, [&consumer](const delivery::SinkWorker* worker) {
      return worker->consumer() == consumer.id;
    });
  });
  return std::move(*listed);
}

}  // namespace cdc::app
