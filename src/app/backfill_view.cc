#include "app/backfill_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "app/status_view.h"
#include "base/format.h"
#include "serve/backfill_report.h"

namespace cdc::app {
namespace {

using state::BackfillState;
using state::BackfillTable;

constexpr std::size_t kColumns = 7;
constexpr std::size_t kTextColumns = 2;  // aligned to the left; the rest are numbers
using Row = std::array<std::string, kColumns>;

constexpr std::string_view kNothing = "-";

// A name may hold line ends and escapes of terminals.
std::string printable(std::string_view text) {
  std::string result(text);
  std::ranges::replace_if(
      result, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }, '?');
  return result;
}

// Characters, as far as UTF-8 tells: bytes that continue one do not count.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::optional<double> rows_per_second(const BackfillTable& table) {
  const std::int64_t end = table.finished.value != 0 ? table.finished.value : table.updated.value;
  const std::int64_t micros = end - table.started.value;
  if (table.started.value == 0 || micros <= 0 || table.rows_read == 0) {
    return std::nullopt;
  }
  return static_cast<double>(table.rows_read) * 1e6 / static_cast<double>(micros);
}

std::string time_left(const BackfillTable& table, std::optional<double> speed) {
  const auto total = static_cast<std::uint64_t>(std::max<std::int64_t>(table.rows_total, 0));
  if (table.state != BackfillState::kRunning || !speed || total <= table.rows_read) {
    return std::string(kNothing);
  }
  constexpr double kSecondsMax = 99.0 * 86'400;
  const double seconds = static_cast<double>(total - table.rows_read) / *speed;
  return duration_text(static_cast<std::int64_t>(std::min(seconds, kSecondsMax)));
}

Row row_of(const BackfillTable& table, bool is_running) {
  const auto percent = serve::percent_of(table);
  const auto speed = rows_per_second(table);
  const std::string nothing(kNothing);
  return {printable(table.table),
          std::string(name_of(table.state)),
          std::to_string(table.rows_read),
          table.rows_total < 0 ? nothing : std::to_string(table.rows_total),
          percent ? cdc::format("{:.1f}", *percent) : nothing,
          speed ? cdc::format("{:.0f}", *speed) : nothing,
          is_running ? time_left(table, speed) : nothing};
}

void append_row(std::string& out, const Row& row, const std::array<std::size_t, kColumns>& widths) {
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::string blanks(widths[i] - width_of(row[i]), ' ');
    out += i == 0 ? "" : "  ";
    out += i < kTextColumns ? row[i] + blanks : blanks + row[i];
  }
  out += '\n';
}

}  // namespace

std::string backfill_table(const std::vector<BackfillTable>& tables, bool is_running) {
  if (tables.empty()) {
    return "no table has a backfill yet\n";
  }
  std::vector<Row> rows{{"TABLE", "STATE", "ROWS", "EXPECTED", "%", "ROWS/S", "LEFT"}};
  for (const BackfillTable& table : tables) {
    rows.push_back(row_of(table, is_running));
  }
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string out;
  append_row(out, rows[0], widths);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    append_row(out, rows[i + 1], widths);
    if (!tables[i].reason_code.empty() || !tables[i].reason.empty()) {
      out += cdc::format(
          "    {}: {}\n", printable(tables[i].reason_code), printable(tables[i].reason));
    }
  }
  return out;
}

}  // namespace cdc::app
