#include "serve/backfill_report.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/format.h"
#include "json/utf8.h"
#include "json/value.h"

namespace cdc::serve {
namespace {

using json::Value;
using state::BackfillState;
using state::BackfillTable;

// An estimate that turns out too low must not look like the end.
constexpr double kPercentUnfinishedMax = 99.9;
constexpr std::size_t kTimeBytes = 27;  // "2026-08-19T12:00:00.123456Z"

std::string json_quoted(std::string_view text) {
  json::TextBuffer buffer;
  json::append_any_string(buffer, text);
  return std::string(buffer.view());
}

std::string text_or_null(std::string_view text) {
  return text.empty() ? "null" : json_quoted(text);
}

std::string lsn_or_null(Lsn lsn) {
  return lsn ? json_quoted(to_string(lsn)) : "null";
}

std::string time_or_null(UnixMicros time) {
  return time.value == 0 ? "null" : json_quoted(format_rfc3339(time));
}

Error malformed(std::string_view what) {
  return make_error(Errc::kProtocol,
                    cdc::format("the answer about a backfill has a bad {}", what),
                    "the process may be of another version");
}

std::optional<BackfillState> state_named(std::string_view name) {
  for (auto number = static_cast<std::uint8_t>(BackfillState::kPending);
       number <= static_cast<std::uint8_t>(BackfillState::kSkipped);
       ++number) {
    if (name_of(static_cast<BackfillState>(number)) == name) {
      return static_cast<BackfillState>(number);
    }
  }
  return std::nullopt;
}

std::string text_in(const Value& object, std::string_view name) {
  return std::string(object.text_of(name).value_or(""));
}

std::uint64_t count_in(const Value& object, std::string_view name) {
  const Value* value = object.find(name);
  if (value == nullptr || value->number < 0) {
    return 0;
  }
  // Beyond the signed numbers only the double is left, which is as good as any for a display.
  return value->kind == Value::Kind::kInteger ? static_cast<std::uint64_t>(value->integer)
                                              : static_cast<std::uint64_t>(value->number);
}

Result<Lsn> lsn_in(const Value& object, std::string_view name) {
  const auto text = object.text_of(name);
  if (!text) {
    return Lsn{};
  }
  const auto lsn = parse_lsn(*text);
  if (!lsn) {
    return fail(malformed(name));
  }
  return *lsn;
}

// The number in `text` at an offset, or -1.
std::int64_t digits_at(std::string_view text, std::size_t offset, std::size_t count) {
  std::int64_t number = -1;
  const char* begin = text.data() + offset;
  const auto [end, code] = std::from_chars(begin, begin + count, number);
  return code == std::errc{} && end == begin + count ? number : -1;
}

Result<UnixMicros> time_in(const Value& object, std::string_view name) {
  const auto text = object.text_of(name);
  if (!text) {
    return UnixMicros{};
  }
  if (text->size() != kTimeBytes || !text->ends_with('Z')) {
    return fail(malformed(name));
  }
  const std::chrono::year_month_day date{
      std::chrono::year{static_cast<int>(digits_at(*text, 0, 4))},
      std::chrono::month{static_cast<unsigned>(digits_at(*text, 5, 2))},
      std::chrono::day{static_cast<unsigned>(digits_at(*text, 8, 2))}};
  const std::int64_t hours = digits_at(*text, 11, 2);
  const std::int64_t minutes = digits_at(*text, 14, 2);
  const std::int64_t seconds = digits_at(*text, 17, 2);
  const std::int64_t micros = digits_at(*text, 20, 6);
  if (!date.ok() || std::min({hours, minutes, seconds, micros}) < 0) {
    return fail(malformed(name));
  }
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return UnixMicros{((((days * 24) + hours) * 60 + minutes) * 60 + seconds) * 1'000'000 + micros};
}

Result<BackfillTable> table_in(const Value& object) {
  const auto name = object.text_of("table");
  const auto state = state_named(object.text_of("state").value_or(""));
  if (!name || !state) {
    return fail(malformed(name ? "state" : "table"));
  }
  CDC_ASSIGN(const Lsn from, lsn_in(object, "from_lsn"));
  CDC_ASSIGN(const Lsn to, lsn_in(object, "to_lsn"));
  CDC_ASSIGN(const UnixMicros started, time_in(object, "started"));
  CDC_ASSIGN(const UnixMicros updated, time_in(object, "updated"));
  CDC_ASSIGN(const UnixMicros finished, time_in(object, "finished"));
  const Value* total = object.find("rows_total");
  const bool has_total = total != nullptr && total->kind == Value::Kind::kInteger;
  return BackfillTable{.table = std::string(*name),
                       .snapshot_id = text_in(object, "snapshot_id"),
                       .state = *state,
                       .reason_code = text_in(object, "reason_code"),
                       .reason = text_in(object, "reason"),
                       .where = text_in(object, "where"),
                       .rows_total = has_total ? total->integer : -1,
                       .rows_read = count_in(object, "rows_read"),
                       .rows_emitted = count_in(object, "rows_emitted"),
                       .rows_dropped = count_in(object, "rows_dropped"),
                       .chunks = count_in(object, "chunks"),
                       .from = from,
                       .to = to,
                       .started = started,
                       .updated = updated,
                       .finished = finished};
}

// The parts of a name without their quotes, joined; and whether there is more than one.
std::pair<std::string, bool> unquoted(std::string_view name) {
  std::string text;
  bool in_quotes = false;
  bool has_schema = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_doubled = in_quotes && name.substr(i).starts_with("\"\"");
    if (name[i] == '"' && !is_doubled) {
      in_quotes = !in_quotes;
      continue;
    }
    has_schema = has_schema || (name[i] == '.' && !in_quotes);
    text += name[i];
    i += is_doubled ? 1 : 0;
  }
  return {text, has_schema};
}

}  // namespace

std::optional<double> percent_of(const BackfillTable& table) {
  if (table.state == BackfillState::kComplete) {
    return 100.0;
  }
  if (table.rows_total <= 0) {
    return std::nullopt;
  }
  const double percent =
      100.0 * static_cast<double>(table.rows_read) / static_cast<double>(table.rows_total);
  return std::min(percent, kPercentUnfinishedMax);
}

std::string backfill_json(const BackfillTable& table) {
  const auto percent = percent_of(table);
  return cdc::format(
      R"({{"table":{},"state":{},"snapshot_id":{},"reason_code":{},"reason":{},"where":{},)"
      R"("rows_total":{},"rows_read":{},"rows_emitted":{},"rows_dropped":{},"chunks":{},)"
      R"("from_lsn":{},"to_lsn":{},"started":{},"updated":{},"finished":{},"percent":{}}})",
      json_quoted(table.table),
      json_quoted(name_of(table.state)),
      text_or_null(table.snapshot_id),
      text_or_null(table.reason_code),
      text_or_null(table.reason),
      text_or_null(table.where),
      table.rows_total < 0 ? "null" : std::to_string(table.rows_total),
      table.rows_read,
      table.rows_emitted,
      table.rows_dropped,
      table.chunks,
      lsn_or_null(table.from),
      lsn_or_null(table.to),
      time_or_null(table.started),
      time_or_null(table.updated),
      time_or_null(table.finished),
      percent ? cdc::format("{:.1f}", *percent) : "null");
}

std::string backfill_items_json(const std::vector<BackfillTable>& tables) {
  std::string text;
  for (const BackfillTable& table : tables) {
    text += text.empty() ? "" : ",";
    text += backfill_json(table);
  }
  return text;
}

Result<std::vector<BackfillTable>> parse_backfills(std::string_view text) {
  auto document = json::parse(text);
  if (!document) {
    return fail(malformed("form: " + document.error().message));
  }
  std::vector<BackfillTable> tables;
  const Value* list = document->find("backfills");
  if (list == nullptr) {
    CDC_ASSIGN(auto table, table_in(*document));
    tables.push_back(std::move(table));
    return tables;
  }
  for (const Value& item : list->items) {
    CDC_ASSIGN(auto table, table_in(item));
    tables.push_back(std::move(table));
  }
  return tables;
}

Result<BackfillTable> find_backfill(const std::vector<BackfillTable>& tables,
                                    std::string_view name) {
  const auto [wanted, has_schema] = unquoted(name);
  const std::string suffix = "." + wanted;
  const BackfillTable* found = nullptr;
  for (const BackfillTable& table : tables) {
    const bool is_meant =
        table.table == wanted || (!has_schema && table.table.ends_with(suffix) &&
                                  table.table.find('.') + suffix.size() == table.table.size());
    if (is_meant && found != nullptr) {
      return fail(Errc::kInvalidArgument,
                  cdc::format("\"{}\" is in several schemas", name),
                  cdc::format("name one of them, such as {}", found->table));
    }
    found = is_meant ? &table : found;
  }
  if (found == nullptr) {
    return fail(Errc::kNotFound,
                cdc::format("no table \"{}\" is captured", name),
                "`kaptanto backfill status` lists those that are");
  }
  return *found;
}

}  // namespace cdc::serve
