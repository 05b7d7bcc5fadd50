#include "app/backfill_command.h"

#include <optional>
#include <string_view>
#include <utility>

#include "app/admin_client.h"
#include "app/backfill_view.h"
#include "base/format.h"
#include "http/target.h"
#include "json/value.h"
#include "serve/backfill_report.h"
#include "state/backfill_store.h"

namespace cdc::app {
namespace {

using state::BackfillTable;
using Tables = std::vector<BackfillTable>;

constexpr std::string_view kRoute = "/api/v1/backfills";

// ---- status -------------------------------------------------------------------------------------

struct Known {
  Tables tables;
  std::string why_offline;  // empty: from the running process
};

Result<Tables> stored_tables(const config::Config& config) {
  CDC_ASSIGN(const auto store,
             state::BackfillStore::open_read_only(config.data_dir / "backfill.db"));
  return store->load_tables(config.source_id);
}

Result<Known> known_backfills(const config::Config& config) {
  const auto reply = ask_process(config, http::Method::kGet, std::string(kRoute), {});
  if (reply) {
    if (reply->status != 200) {
      return fail(refusal_in(*reply));
    }
    CDC_ASSIGN(auto tables, serve::parse_backfills(reply->body));
    return Known{.tables = std::move(tables), .why_offline = {}};
  }
  if (reply.error().code != Errc::kUnavailable) {
    return fail(reply.error());
  }
  auto tables = stored_tables(config);
  if (!tables && tables.error().code == Errc::kNotFound) {
    return fail(Errc::kUnavailable,
                cdc::format("{}, and {}", reply.error().message, tables.error().message),
                reply.error().hint);
  }
  CDC_TRY(tables);
  return Known{.tables = std::move(*tables), .why_offline = reply.error().message};
}

Result<int> status_command(const CommandLine& line,
                           const config::Config& config,
                           Console& console) {
  CDC_ASSIGN(Known known, known_backfills(config));
  const bool is_running = known.why_offline.empty();
  if (!line.argument.empty()) {
    auto table = serve::find_backfill(known.tables, line.argument);
    if (!table) {
      table.error().code = Errc::kInvalidArgument;
      return fail(std::move(table.error()));
    }
    known.tables = {std::move(*table)};
  }
  if (line.json) {
    CDC_TRY(console.print(cdc::format("{{\"running\":{},\"backfills\":[{}]}}\n",
                                      is_running,
                                      serve::backfill_items_json(known.tables))));
    return 0;
  }
  if (!is_running) {
    CDC_TRY(console.print(
        cdc::format("kaptanto is not running ({}); as it was last saved:\n", known.why_offline)));
  }
  CDC_TRY(console.print(backfill_table(known.tables, is_running)));
  return 0;
}

// ---- start, pause, resume, cancel ---------------------------------------------------------------

Result<int> change_command(const CommandLine& line,
                           const config::Config& config,
                           Console& console) {
  const std::string verb = line.command.substr(line.command.rfind(' ') + 1);
  std::string target(kRoute);
  std::string body = "{}";
  if (verb == "start") {
    body = cdc::format(R"({{"table":{},"where":{}}})",
                       json_text(line.argument),
                       json_text(line.value_of("where")));
  } else {
    target += cdc::format("/{}/{}", http::encode_segment(line.argument), verb);
  }
  CDC_ASSIGN(const auto reply, ask_process(config, http::Method::kPost, target, body));
  if (reply.status != 202) {
    return fail(refusal_in(reply));
  }
  if (line.json) {
    CDC_TRY(console.print(reply.body));
    return 0;
  }
  const auto document = json::parse(reply.body);
  const auto table = document ? document->text_of("table") : std::nullopt;
  CDC_TRY(console.print(cdc::format("{}: {} is under way; `kaptanto backfill status` shows it\n",
                                    table.value_or(line.argument),
                                    verb)));
  return 0;
}

}  // namespace

Result<int> backfill_command(const CommandLine& line,
                             const config::LoadInputs& inputs,
                             Console& console) {
  CDC_ASSIGN(const config::Config config, admin_configuration(inputs));
  return line.command == "backfill status" ? status_command(line, config, console)
                                           : change_command(line, config, console);
}

}  // namespace cdc::app
