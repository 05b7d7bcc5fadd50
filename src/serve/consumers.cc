#include "serve/consumers.h"

#include <utility>

#include "base/format.h"

namespace cdc::serve {
namespace {

state::Cursor cursor_at(Sequence position) {
  state::Cursor cursor;
  cursor.lanes.fill(position);
  return cursor;
}

}  // namespace

std::string sse_consumer_id(std::string_view name) {
  return cdc::format("sse:{}", name);
}

Result<std::optional<Sequence>> Consumers::position(std::string_view id) {
  CDC_ASSIGN(const auto cursor, cursors_.load(id));
  return cursor ? std::optional(cursor->lowest()) : std::nullopt;
}

Status Consumers::save(std::string_view id, Sequence position) {
  return cursors_.save(id, cursor_at(position));
}

void Consumers::set_connected(const std::string& id, bool is_connected) {
  MutexLock lock(mutex_);
  if (is_connected) {
    connected_.insert(id);
  } else {
    connected_.erase(id);
  }
}

Result<std::vector<Consumer>> Consumers::list() {
  CDC_ASSIGN(auto saved, cursors_.list());
  MutexLock lock(mutex_);
  std::vector<Consumer> consumers;
  for (state::NamedCursor& each : saved) {
    const bool is_connected = connected_.contains(each.consumer);
    consumers.push_back({.id = std::move(each.consumer),
                         .position = each.cursor.lowest(),
                         .saved_unix_micros = each.updated_at_unix_micros,
                         .is_connected = is_connected});
  }
  return consumers;
}

Status Consumers::reset(const std::string& id, Sequence position) {
  MutexLock lock(mutex_);
  CDC_TRY(check_idle(id, connected_.contains(id)));
  return cursors_.save(id, cursor_at(position));
}

Status Consumers::remove(const std::string& id) {
  MutexLock lock(mutex_);
  CDC_TRY(check_idle(id, connected_.contains(id)));
  return cursors_.remove(id);
}

Status Consumers::check_idle(const std::string& id, bool is_connected) {
  CDC_ASSIGN(const auto cursor, cursors_.load(id));
  if (!cursor) {
    return fail(Errc::kNotFound,
                cdc::format("there is no consumer \"{}\"", id),
                "`kaptanto consumers list` shows them all");
  }
  if (is_connected) {
    return fail(Errc::kInvalidArgument,
                cdc::format("consumer \"{}\" is connected", id),
                "end it first: while it reads, only it moves its cursor");
  }
  return {};
}

}  // namespace cdc::serve
