#include "app/status_view.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "app/progress.h"
#include "base/format.h"

namespace cdc::app {
namespace {

using json::Value;

constexpr std::string_view kNothing = "-";

// Reads members, and remembers whether one was missing.
class Fields {
 public:
  explicit Fields(const Value& object) : object_(object) {}

  // A text may hold line ends and escapes of terminals.
  std::string text(std::string_view name) {
    std::string found(object_.text_of(name).value_or(""));
    std::ranges::replace_if(
        found, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }, '?');
    return found;
  }

  std::int64_t number(std::string_view name) {
    const Value* found = object_.find(name);
    return found != nullptr && found->kind == Value::Kind::kInteger ? found->integer : -1;
  }

  std::string count(std::string_view name) {
    const std::int64_t found = number(name);
    return found < 0 ? std::string(kNothing) : group_digits(static_cast<std::uint64_t>(found));
  }

  std::string bytes(std::string_view name) {
    const std::int64_t found = number(name);
    return found < 0 ? std::string(kNothing) : bytes_text(found);
  }

 private:
  const Value& object_;
};

void append_line(std::string& out, std::string_view label, std::string_view text) {
  out += cdc::format("{:<10}{}\n", label, text);
}

std::string or_nothing(std::string_view text) {
  return std::string(text.empty() ? kNothing : text);
}

void append_head(std::string& out, const Value& status) {
  Fields fields(status);
  const Value* ready = status.find("ready");
  append_line(out,
              "kaptanto",
              cdc::format("{}, up {}, {}",
                          fields.text("version"),
                          duration_text(fields.number("uptime_seconds")),
                          ready != nullptr && ready->boolean ? "ready" : "NOT READY"));
  const Value* checks = status.find("checks");
  if (checks == nullptr) {
    return;
  }
  for (const Value& item : checks->items) {
    const Value* ok = item.find("ok");
    if (ok != nullptr && !ok->boolean) {
      Fields check(item);
      append_line(out, "", cdc::format("{}: {}", check.text("name"), check.text("detail")));
    }
  }
}

void append_source(std::string& out, const Value& source) {
  Fields fields(source);
  append_line(out,
              "source",
              cdc::format("{}, {}, at {}, {} reconnects",
                          fields.text("id"),
                          fields.text("state"),
                          fields.text("position"),
                          fields.count("reconnects")));
  append_line(out,
              "",
              cdc::format("{} transactions, {} events, {} received",
                          fields.count("transactions"),
                          fields.count("events"),
                          fields.bytes("received_bytes")));
  append_line(out, "lag", cdc::format("{} of WAL", fields.bytes("lag_bytes")));
}

void append_slot(std::string& out, const Value& slot) {
  Fields fields(slot);
  std::string text = cdc::format("{}, {}, the server keeps {} for it",
                                 fields.text("name"),
                                 or_nothing(fields.text("wal_status")),
                                 fields.bytes("retained_bytes"));
  if (fields.number("safe_wal_bytes") >= 0) {
    text += cdc::format(", {} more are safe", fields.bytes("safe_wal_bytes"));
  }
  append_line(out, "slot", text);
  if (const std::string error = fields.text("error"); !error.empty()) {
    append_line(out, "", cdc::format("unknown: {}", error));
  }
}

void append_journal(std::string& out, const Value& journal) {
  Fields fields(journal);
  append_line(out,
              "journal",
              cdc::format("{}, {} of {} in {} files, events {} to {}",
                          fields.text("state"),
                          fields.bytes("bytes"),
                          fields.bytes("max_bytes"),
                          fields.count("segments"),
                          fields.count("oldest_sequence"),
                          fields.count("last_sequence")));
}

void append_backfill(std::string& out, const Value& backfill) {
  Fields fields(backfill);
  std::string text =
      cdc::format("{} tables, {} rows read", fields.count("tables"), fields.count("rows_read"));
  if (const Value* states = backfill.find("states")) {
    for (const json::Member& member : states->members) {
      text += cdc::format(", {} {}", member.value.integer, member.name);
    }
  }
  append_line(out, "backfill", text);
}

void append_consumers(std::string& out, const Value& consumers) {
  if (consumers.items.empty()) {
    append_line(out, "consumers", "none");
  }
  std::string_view label = "consumers";
  for (const Value& item : consumers.items) {
    Fields fields(item);
    append_line(out,
                std::exchange(label, ""),
                cdc::format("{}: {} events behind, {} delivered, {} errors",
                            fields.text("name"),
                            fields.count("lag_events"),
                            fields.count("delivered"),
                            fields.count("errors")));
  }
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1'024) {
    return cdc::format("{} B", bytes);
  }
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1'023.95 && unit + 1 < kUnits.size()) {
    value /= 1'024;
    ++unit;
  }
  return cdc::format("{:.1f} {}", value, kUnits[unit]);
}

std::string duration_text(std::int64_t seconds) {
  if (seconds < 60) {
    return cdc::format("{}s", seconds);
  }
  if (seconds < 3'600) {
    return cdc::format("{}m{:02}s", seconds / 60, seconds % 60);
  }
  if (seconds < 86'400) {
    return cdc::format("{}h{:02}m", seconds / 3'600, seconds / 60 % 60);
  }
  return cdc::format("{}d{:02}h", seconds / 86'400, seconds / 3'600 % 24);
}

Result<std::string> status_screen(const Value& status) {
  constexpr std::pair<std::string_view, void (*)(std::string&, const Value&)> kParts[] = {
      {"source", append_source},
      {"slot", append_slot},
      {"journal", append_journal},
      {"backfill", append_backfill},
      {"consumers", append_consumers},
  };
  std::string out;
  append_head(out, status);
  for (const auto& [name, append] : kParts) {
    const Value* part = status.find(name);
    if (part == nullptr) {
      return fail(Errc::kProtocol,
                  cdc::format("the process sent a status without \"{}\"", name),
                  "it may be of another version than this program");
    }
    append(out, *part);
  }
  return out;
}

}  // namespace cdc::app
