#include "serve/event_filter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"

namespace cdc::serve {
namespace {

using expr::TablePattern;

// Splits at commas outside double quotes, and trims blanks.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> items(1);
  bool is_quoted = false;
  for (const char c : text) {
    is_quoted = is_quoted != (c == '"');
    if (c == ',' && !is_quoted) {
      items.emplace_back();
    } else if (c != ' ' || is_quoted || !items.back().empty()) {
      items.back() += c;
    }
  }
  for (std::string& item : items) {
    item.erase(item.find_last_not_of(' ') + 1);
  }
  return items;
}

bool may_stand_for(const TablePattern& captured, const TablePattern& wanted) {
  if (!captured.is_exact() || !wanted.is_exact()) {
    return true;
  }
  const bool same_schema =
      !captured.has_schema() || !wanted.has_schema() || captured.schema() == wanted.schema();
  return same_schema && captured.table() == wanted.table();
}

// A frame names tables as schema.table without quotes, and either part may hold a dot.
bool matches(const TablePattern& pattern, std::string_view name) {
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    if (pattern.matches(name.substr(0, dot), name.substr(dot + 1))) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<EventFilter> EventFilter::parse(std::string_view tables, std::string_view operations) {
  EventFilter filter;
  if (!tables.empty()) {
    for (std::string& text : split(tables)) {
      auto pattern = TablePattern::parse(text);
      if (!pattern) {
        return fail(Errc::kInvalidArgument,
                    cdc::format("tables: \"{}\": {}", text, pattern.error().message),
                    "write schema.table, a name, or a pattern with *, separated by commas");
      }
      filter.tables_.push_back({.pattern = std::move(*pattern), .text = std::move(text)});
    }
  }
  if (operations.empty()) {
    return filter;
  }
  filter.operations_ = 0;
  for (const std::string& name : split(operations)) {
    const auto operation = model::parse_operation(name);
    if (!operation) {
      return fail(Errc::kInvalidArgument,
                  cdc::format("operations: \"{}\" is not an operation", name),
                  "use insert, update, delete, truncate, read, message, control");
    }
    filter.operations_ |= 1U << static_cast<unsigned>(*operation);
  }
  return filter;
}

std::string EventFilter::unknown_table(std::span<const TablePattern> captured) const {
  for (const Named& wanted : tables_) {
    const bool is_known = captured.empty() || std::ranges::any_of(captured, [&](const auto& known) {
                            return may_stand_for(known, wanted.pattern);
                          });
    if (!is_known) {
      return wanted.text;
    }
  }
  return {};
}

void EventFilter::begin(const journal::FrameView& frame) {
  wanted_.clear();
  nameless_ = frame.tables.size();
  for (const std::string_view name : frame.tables) {
    if (name.empty()) {
      nameless_ = wanted_.size();
    }
    wanted_.push_back(wants_table(name));
  }
}

bool EventFilter::wants(const model::EventHeader& event) const {
  if ((operations_ >> static_cast<unsigned>(event.operation) & 1U) == 0) {
    return false;
  }
  const bool concerns_all =
      event.table == nameless_ && event.operation == model::Operation::kControl;
  return concerns_all || wanted_[event.table];
}

bool EventFilter::wants_table(std::string_view name) const {
  return tables_.empty() || std::ranges::any_of(tables_, [&](const Named& wanted) {
           return matches(wanted.pattern, name);
         });
}

}  // namespace cdc::serve
