#include "serve/admin_api.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "json/utf8.h"
#include "json/value.h"
#include "serve/backfill_report.h"

namespace cdc::serve {
namespace {

using http::Method;
using http::Request;
using http::Response;
using snapshot::Control;

Response with_body(std::string body) {
  Response response;
  response.body = std::move(body);
  return response;
}

// The change was taken on; status tells when it has come about.
Response accepted(const Result<std::string>& table) {
  if (!table) {
    return http::error_response(table.error());
  }
  json::TextBuffer name;
  json::append_any_string(name, *table);
  Response response = with_body(cdc::format("{{\"table\":{}}}\n", name.view()));
  response.status = 202;
  return response;
}

struct StartRequest {
  std::string table;
  std::string where;
};

// A wrong name must not start a backfill of all rows, so unknown members are refused.
Result<StartRequest> parse_start(std::string_view body) {
  CDC_ASSIGN(const json::Value document, json::parse(body));
  StartRequest request;
  if (document.kind != json::Value::Kind::kObject) {
    return fail(Errc::kInvalidArgument, "the body must be an object");
  }
  for (const json::Member& member : document.members) {
    const bool is_text = member.value.kind == json::Value::Kind::kString;
    if (member.name == "table" && is_text) {
      request.table = member.value.text;
    } else if (member.name == "where" && is_text) {
      request.where = member.value.text;
    } else if (member.name != "where" || member.value.kind != json::Value::Kind::kNull) {
      return fail(Errc::kInvalidArgument,
                  cdc::format("\"{}\" is unknown, or not a string", member.name),
                  "send {\"table\":\"schema.table\",\"where\":\"condition\"}");
    }
  }
  if (request.table.empty()) {
    return fail(Errc::kInvalidArgument,
                "no table is named",
                "send {\"table\":\"schema.table\",\"where\":\"condition\"}");
  }
  return request;
}

Response start(Control& control, const Request& request) {
  const auto wanted = parse_start(request.body);
  if (!wanted) {
    const Error& error = wanted.error();
    return http::error_response(400, name_of(error.code), error.message, error.hint);
  }
  return accepted(control.start(wanted->table, wanted->where));
}

Response show_one(const Control& control, const Request& request) {
  const auto table = find_backfill(control.status(), request.parameter);
  return table ? with_body(backfill_json(*table) + "\n") : http::error_response(table.error());
}

}  // namespace

void add_admin_routes(http::Router& router, Control& control) {
  router.add(Method::kGet, "/api/v1/backfills", [&control](const Request&) {
    return with_body("{\"backfills\":[" + backfill_items_json(control.status()) + "]}\n");
  });
  router.add(Method::kPost, "/api/v1/backfills", [&control](const Request& request) {
    return start(control, request);
  });
  router.add(Method::kGet, "/api/v1/backfills/{table}", [&control](const Request& request) {
    return show_one(control, request);
  });
  router.add(Method::kPost, "/api/v1/backfills/{table}/pause", [&control](const Request& request) {
    return accepted(control.pause(request.parameter));
  });
  router.add(Method::kPost, "/api/v1/backfills/{table}/resume", [&control](const Request& request) {
    return accepted(control.resume(request.parameter));
  });
  router.add(Method::kPost, "/api/v1/backfills/{table}/cancel", [&control](const Request& request) {
    return accepted(control.cancel(request.parameter));
  });
}

}  // namespace cdc::serve
