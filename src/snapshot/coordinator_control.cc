// What people ask of the coordinator: checked on their thread, done on its own.
#include "base/format.h"
#include "expr/condition.h"
#include "expr/table_pattern.h"
#include "snapshot/coordinator.h"

namespace cdc::snapshot {

using state::BackfillState;
using state::BackfillTable;

bool Coordinator::allows(BackfillState state, Request::Kind kind) noexcept {
  switch (state) {
    case BackfillState::kPending:
    case BackfillState::kRunning:
      return kind == Request::Kind::kPause || kind == Request::Kind::kCancel;
    case BackfillState::kPaused:
      return kind == Request::Kind::kResume || kind == Request::Kind::kCancel;
    case BackfillState::kFailed:
    case BackfillState::kCancelled:
      return kind == Request::Kind::kStart || kind == Request::Kind::kResume;
    case BackfillState::kComplete:
    case BackfillState::kSkipped:
      return kind == Request::Kind::kStart;
  }
  return false;
}

std::vector<BackfillTable> Coordinator::status() const {
  MutexLock lock(mutex_);
  std::vector<BackfillTable> tables;
  tables.reserve(records_.size());
  for (const auto& [name, record] : records_) {
    tables.push_back(record);
  }
  return tables;
}

Result<std::string> Coordinator::start(std::string_view table, std::string_view where) {
  if (auto parsed = expr::Condition::parse(where); !parsed) {
    return fail(Errc::kInvalidArgument, parsed.error().message, parsed.error().hint);
  }
  return request(Request::Kind::kStart, table, where);
}

Result<std::string> Coordinator::pause(std::string_view table) {
  return request(Request::Kind::kPause, table, {});
}

Result<std::string> Coordinator::resume(std::string_view table) {
  return request(Request::Kind::kResume, table, {});
}

Result<std::string> Coordinator::cancel(std::string_view table) {
  return request(Request::Kind::kCancel, table, {});
}

Result<std::string> Coordinator::request(Request::Kind kind,
                                         std::string_view table,
                                         std::string_view where) {
  const auto pattern = expr::TablePattern::parse(table);
  if (!pattern || !pattern->is_exact()) {
    return fail(Errc::kInvalidArgument,
                format("\"{}\" does not name one table", table),
                "write table, schema.table or \"Schema\".\"Table\"");
  }
  std::string name;
  BackfillState state{};
  {
    MutexLock lock(mutex_);
    for (const auto& [known, published] : published_) {
      if (pattern->matches(published.schema, published.table)) {
        if (!name.empty()) {
          return fail(Errc::kInvalidArgument,
                      format("\"{}\" is the name of several tables: {} and {}", table, name, known),
                      "write schema.table");
        }
        name = known;
        state = records_[known].state;
      }
    }
  }
  if (name.empty()) {
    return fail(Errc::kNotFound,
                format("no captured table is called \"{}\"", table),
                "`kaptanto backfill status` lists them");
  }
  if (!allows(state, kind)) {
    return fail(Errc::kInvalidArgument,
                format("the backfill of {} is {}", name, state::name_of(state)));
  }
  if (stop_.requested() ||
      !requests_.post({.kind = kind, .table = name, .where = std::string(where)})) {
    return fail(Errc::kUnavailable, "the process is stopping or has too many requests waiting");
  }
  return name;
}

Status Coordinator::handle(const Request& request) {
  BackfillTable record;
  {
    MutexLock lock(mutex_);
    record = records_[request.table];
  }
  if (!allows(record.state, request.kind)) {
    return {};  // it has come to another end since the request was checked
  }
  record.updated = unix_now();
  record.reason_code.clear();
  record.reason.clear();
  switch (request.kind) {
    case Request::Kind::kStart:
      return put_record({.table = request.table,
                         .state = BackfillState::kPending,
                         .where = request.where,
                         .updated = record.updated});
    case Request::Kind::kPause:
    case Request::Kind::kCancel: {
      const BackfillState state = request.kind == Request::Kind::kPause ? BackfillState::kPaused
                                                                        : BackfillState::kCancelled;
      if (jobs_.contains(request.table)) {
        return end(request.table, state);
      }
      record.state = state;
      return put_record(record);
    }
    case Request::Kind::kResume:
      record.state = BackfillState::kRunning;
      return put_record(record);
  }
  return {};
}

}  // namespace cdc::snapshot
