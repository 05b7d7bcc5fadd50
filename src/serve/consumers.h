#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "state/cursor_store.h"

namespace cdc::serve {

struct Consumer {
  std::string id;     // "sse:search", "stdout"
  Sequence position;  // everything up to here is acknowledged
  std::int64_t saved_unix_micros = 0;
  bool is_connected = false;
};

// The id of a named client of the event stream.
[[nodiscard]] std::string sse_consumer_id(std::string_view name);

// The named consumers: those with a saved cursor, and which of them are in use. While one is, only
// its user moves its cursor.
// Thread: any. Errors: those of the store; kNotFound for an unknown consumer; kInvalidArgument for
// a change of one that is connected.
class Consumers {
 public:
  explicit Consumers(state::CursorStore& cursors) : cursors_(cursors) {}

  // Where the consumer is; nothing when it is new.
  [[nodiscard]] Result<std::optional<Sequence>> position(std::string_view id);
  [[nodiscard]] Status save(std::string_view id, Sequence position);
  void set_connected(const std::string& id, bool is_connected);

  [[nodiscard]] Result<std::vector<Consumer>> list();
  [[nodiscard]] Status reset(const std::string& id, Sequence position);
  [[nodiscard]] Status remove(const std::string& id);

 private:
  [[nodiscard]] Status check_idle(const std::string& id, bool is_connected);

  state::CursorStore& cursors_;
  Mutex mutex_;
  std::set<std::string> connected_ CDC_GUARDED_BY(mutex_);
};

}  // namespace cdc::serve
