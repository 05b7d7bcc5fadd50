#include "app/backfill_command.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "app/backfill_view.h"
#include "base/format.h"
#include "http/client.h"
#include "http/target.h"
#include "json/value.h"
#include "serve/backfill_report.h"
#include "state/backfill_store.h"

namespace cdc::app {
namespace {

using state::BackfillTable;
using Tables = std::vector<BackfillTable>;

constexpr std::string_view kRoute = "/api/v1/backfills";
constexpr std::array<std::string_view, 5> kNeededKeys{
    "port", "data-dir", "source-id", "admin.address", "admin.enabled"};

// A fault without a key is one of the whole file, of a flag or of a variable.
Result<config::Config> needed_configuration(const config::LoadInputs& inputs) {
  config::Loaded loaded = config::load(inputs);
  std::erase_if(loaded.faults, [](const config::Fault& fault) {
    return !fault.key.empty() && std::ranges::find(kNeededKeys, fault.key) == kNeededKeys.end();
  });
  if (!loaded.ok()) {
    return fail(config::to_error(loaded.faults));
  }
  return std::move(loaded.config);
}

// Where the process can be reached that listens on this address: one that stands for every network
// is no place to go.
std::string reachable(const std::string& address) {
  if (address == "0.0.0.0") {
    return "127.0.0.1";
  }
  return address == "::" ? "::1" : address;
}

Result<http::Reply> ask(const config::Config& config,
                        http::Method method,
                        std::string target,
                        std::string body) {
  if (!config.admin.enabled) {
    return fail(Errc::kUnavailable,
                "the admin API is off",
                "set admin.enabled to true and restart the process");
  }
  auto reply = http::call({.address = reachable(config.admin.address),
                           .port = static_cast<std::uint16_t>(config.port + 1),
                           .method = method,
                           .target = std::move(target),
                           .body = std::move(body)});
  if (!reply && reply.error().code == Errc::kUnavailable) {
    reply.error().hint =
        "is kaptanto running? --config, or --port and --admin-address, must be those of the "
        "process";
  }
  return reply;
}

Errc code_named(std::string_view name) {
  if (name == cdc::name_of(Errc::kUnavailable)) {
    return Errc::kUnavailable;
  }
  // What the process refuses to do is what the user asked wrongly.
  const bool is_wrong_use =
      name == cdc::name_of(Errc::kNotFound) || name == cdc::name_of(Errc::kInvalidArgument);
  return is_wrong_use ? Errc::kInvalidArgument : Errc::kInternal;
}

// What the process said instead of a success.
Error refusal_in(const http::Reply& reply) {
  const auto document = json::parse(reply.body);
  const json::Value* error = document ? document->find("error") : nullptr;
  const auto message = error == nullptr ? std::nullopt : error->text_of("message");
  if (!message) {
    return make_error(
        Errc::kProtocol,
        cdc::format("the answer, with status {}, is not one of kaptanto", reply.status),
        "another program may listen on that port");
  }
  return make_error(code_named(error->text_of("code").value_or("")),
                    std::string(*message),
                    std::string(error->text_of("hint").value_or("")));
}

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
  const auto reply = ask(config, http::Method::kGet, std::string(kRoute), {});
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
  CDC_ASSIGN(const auto reply, ask(config, http::Method::kPost, target, body));
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
  CDC_ASSIGN(const config::Config config, needed_configuration(inputs));
  return line.command == "backfill status" ? status_command(line, config, console)
                                           : change_command(line, config, console);
}

}  // namespace cdc::app
