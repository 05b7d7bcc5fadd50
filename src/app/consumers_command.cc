#include "app/consumers_command.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/admin_client.h"
#include "base/clock.h"
#include "base/format.h"
#include "http/target.h"
#include "serve/consumers_api.h"
#include "state/cursor_store.h"

namespace cdc::app {
namespace {

using serve::Consumer;
using serve::ConsumerReport;

constexpr std::string_view kRoute = "/api/v1/consumers";

struct Known {
  ConsumerReport report;
  std::string why_offline;  // empty: from the running process
};

Result<ConsumerReport> saved_consumers(const config::Config& config) {
  CDC_ASSIGN(const auto store, state::CursorStore::open_read_only(config.data_dir / "cursors.db"));
  serve::Consumers consumers(*store);
  CDC_ASSIGN(auto list, consumers.list());
  return ConsumerReport{.consumers = std::move(list), .last = std::nullopt};
}

Result<Known> known_consumers(const config::Config& config) {
  const auto reply = ask_process(config, http::Method::kGet, std::string(kRoute), {});
  if (reply) {
    if (reply->status != 200) {
      return fail(refusal_in(*reply));
    }
    CDC_ASSIGN(auto report, serve::parse_consumers(reply->body));
    return Known{.report = std::move(report), .why_offline = {}};
  }
  if (reply.error().code != Errc::kUnavailable) {
    return fail(reply.error());
  }
  auto report = saved_consumers(config);
  if (!report && report.error().code == Errc::kNotFound) {
    return fail(Errc::kUnavailable,
                cdc::format("{}, and {}", reply.error().message, report.error().message),
                reply.error().hint);
  }
  CDC_TRY(report);
  return Known{.report = std::move(*report), .why_offline = reply.error().message};
}

// ---- list, show ---------------------------------------------------------------------------------

using Row = std::array<std::string, 5>;

Row row_of(const Consumer& consumer, std::optional<Sequence> last) {
  std::string behind = "-";
  if (last) {
    const std::uint64_t passed = std::min(consumer.position.value, last->value);
    behind = cdc::format("{}", last->value - passed);
  }
  return {consumer.id,
          cdc::format("{}", consumer.position.value),
          std::move(behind),
          consumer.is_connected ? "yes" : "no",
          format_rfc3339(UnixMicros{consumer.saved_unix_micros})};
}

std::string table_of(const ConsumerReport& report) {
  std::vector<Row> rows{{"CONSUMER", "POSITION", "BEHIND", "CONNECTED", "SAVED"}};
  for (const Consumer& consumer : report.consumers) {
    rows.push_back(row_of(consumer, report.last));
  }
  std::array<std::size_t, 5> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); ++i) {
      text += row[i];
      text.append(widths[i] - row[i].size() + 2, ' ');
    }
    text += row.back() + "\n";
  }
  return text;
}

Result<int> show_command(const CommandLine& line, const config::Config& config, Console& console) {
  CDC_ASSIGN(Known known, known_consumers(config));
  ConsumerReport& report = known.report;
  if (!line.argument.empty()) {
    auto consumer = serve::find_consumer(report.consumers, line.argument);
    if (!consumer) {
      consumer.error().code = Errc::kInvalidArgument;
      return fail(std::move(consumer.error()));
    }
    report.consumers = {std::move(*consumer)};
  }
  const bool is_running = known.why_offline.empty();
  if (line.json) {
    CDC_TRY(console.print(cdc::format("{{\"running\":{},\"consumers\":[{}]}}\n",
                                      is_running,
                                      serve::consumer_items_json(report.consumers, report.last))));
    return 0;
  }
  if (!is_running) {
    CDC_TRY(console.print(
        cdc::format("kaptanto is not running ({}); as it was last saved:\n", known.why_offline)));
  }
  if (report.consumers.empty()) {
    CDC_TRY(console.print("there are no consumers\n"));
    return 0;
  }
  CDC_TRY(console.print(table_of(report)));
  return 0;
}

// ---- reset, delete ------------------------------------------------------------------------------

Result<int> change_command(const CommandLine& line,
                           const config::Config& config,
                           Console& console) {
  const bool is_reset = line.command == "consumers reset";
  const std::string to = line.value_of("to").empty() ? "earliest" : line.value_of("to");
  const std::string target =
      cdc::format("{}/{}{}", kRoute, http::encode_segment(line.argument), is_reset ? "/reset" : "");
  const std::string body = is_reset ? cdc::format("{{\"to\":{}}}", json_text(to)) : "";
  CDC_ASSIGN(
      const auto reply,
      ask_process(config, is_reset ? http::Method::kPost : http::Method::kDelete, target, body));
  if (reply.status != 200) {
    return fail(refusal_in(reply));
  }
  if (line.json) {
    CDC_TRY(console.print(reply.body));
    return 0;
  }
  CDC_TRY(console.print(is_reset ? cdc::format("{}: goes on at {}\n", line.argument, to)
                                 : cdc::format("{}: deleted\n", line.argument)));
  return 0;
}

}  // namespace

Result<int> consumers_command(const CommandLine& line,
                              const config::LoadInputs& inputs,
                              Console& console) {
  CDC_ASSIGN(const config::Config config, admin_configuration(inputs));
  const bool is_question = line.command == "consumers list" || line.command == "consumers show";
  return is_question ? show_command(line, config, console) : change_command(line, config, console);
}

}  // namespace cdc::app
