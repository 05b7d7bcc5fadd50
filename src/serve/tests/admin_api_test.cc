// Proves each route of the admin API over a real server, against a stand-in for the backfills.
#include "serve/admin_api.h"

#include <gtest/gtest.h>

#include "http/client.h"
#include "http/server.h"
#include "serve/backfill_report.h"

namespace cdc::serve {
namespace {

using http::Method;
using state::BackfillState;
using state::BackfillTable;

// Knows two tables, remembers what it was asked, and refuses what its answer says.
class FakeControl final : public snapshot::Control {
 public:
  FakeControl() {
    tables_.resize(2);
    tables_[0].table = "public.a";
    tables_[0].state = BackfillState::kRunning;
    tables_[0].rows_total = 10;
    tables_[0].rows_read = 5;
    tables_[1].table = "public.b\"/c";
  }

  [[nodiscard]] std::vector<BackfillTable> status() const override { return tables_; }

  Result<std::string> start(std::string_view table, std::string_view where) override {
    return asked("start " + std::string(table) + " where " + std::string(where));
  }

  Result<std::string> pause(std::string_view table) override {
    return asked("pause " + std::string(table));
  }

  Result<std::string> resume(std::string_view table) override {
    return asked("resume " + std::string(table));
  }

  Result<std::string> cancel(std::string_view table) override {
    return asked("cancel " + std::string(table));
  }

  Errc refusal = Errc::kInternal;  // none
  std::vector<std::string> requests;

 private:
  Result<std::string> asked(std::string request) {
    requests.push_back(std::move(request));
    if (refusal != Errc::kInternal) {
      return fail(refusal, "refused", "because");
    }
    return "public.a";
  }

  std::vector<BackfillTable> tables_;
};

class AdminApi : public ::testing::Test {
 protected:
  AdminApi() {
    http::Router router;
    add_admin_routes(router, control_);
    server_ = http::Server::listen({}, std::move(router)).value();
    server_->start();
  }

  http::Reply get(std::string target) {
    return http::call({.port = server_->port(), .target = std::move(target)}).value();
  }

  http::Reply post(std::string target, std::string body = "{}") {
    return http::call({.port = server_->port(),
                       .method = Method::kPost,
                       .target = std::move(target),
                       .body = std::move(body)})
        .value();
  }

  FakeControl control_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(AdminApi, ShowsBackfills) {
  const http::Reply all = get("/api/v1/backfills");
  EXPECT_EQ(all.status, 200U);
  EXPECT_EQ(parse_backfills(all.body).value(), control_.status());
  const http::Reply one = get("/api/v1/backfills/public.b%22%2Fc");
  EXPECT_EQ(one.status, 404U);  // a quote stands for itself only when it is doubled
  const http::Reply quoted = get("/api/v1/backfills/public.%22b%22%22%2Fc%22");
  EXPECT_EQ(quoted.status, 200U);
  EXPECT_EQ(parse_backfills(quoted.body).value(), std::vector{control_.status()[1]});
  const http::Reply none = get("/api/v1/backfills/public.z");
  EXPECT_EQ(none.status, 404U);
  EXPECT_TRUE(none.body.starts_with("{\"error\":{\"code\":\"not_found\",")) << none.body;
}

TEST_F(AdminApi, StartsOne) {
  const http::Reply reply = post("/api/v1/backfills", R"({"table":"a","where":"x = 1"})");
  EXPECT_EQ(reply.status, 202U);
  EXPECT_EQ(reply.body, "{\"table\":\"public.a\"}\n");
  EXPECT_EQ(post("/api/v1/backfills", R"({"table":"a"})").status, 202U);
  EXPECT_EQ(post("/api/v1/backfills", R"({"where":null,"table":"a"})").status, 202U);
  EXPECT_EQ(control_.requests,
            (std::vector<std::string>{"start a where x = 1", "start a where ", "start a where "}));
}

TEST_F(AdminApi, RefusesABodyThatDoesNotSayEnough) {
  for (const char* body : {"",
                           "{}",
                           "[]",
                           "x",
                           R"({"table":""})",
                           R"({"table":1})",
                           R"({"table":"a","where":1})",
                           R"({"table":"a","wehre":"x"})"}) {
    const http::Reply reply = post("/api/v1/backfills", body);
    EXPECT_EQ(reply.status, 400U) << body;
    EXPECT_TRUE(reply.body.starts_with("{\"error\":{\"code\":\"invalid_argument\",")) << reply.body;
  }
  EXPECT_TRUE(control_.requests.empty());
}

TEST_F(AdminApi, PausesResumesAndCancels) {
  for (const char* verb : {"pause", "resume", "cancel"}) {
    const http::Reply reply = post(std::string("/api/v1/backfills/%22a%2Fb%22/") + verb);
    EXPECT_EQ(reply.status, 202U);
    EXPECT_EQ(control_.requests.back(), std::string(verb) + " \"a/b\"");
  }
  EXPECT_EQ(get("/api/v1/backfills/a/pause").status, 405U);
  EXPECT_EQ(post("/api/v1/backfills/a/stop").status, 404U);
}

TEST_F(AdminApi, GivesRefusalsTheirStatus) {
  const std::pair<Errc, unsigned> kCases[] = {
      {Errc::kNotFound, 404U}, {Errc::kInvalidArgument, 409U}, {Errc::kUnavailable, 503U}};
  for (const auto& [code, status] : kCases) {
    control_.refusal = code;
    EXPECT_EQ(post("/api/v1/backfills", R"({"table":"a"})").status, status);
    const http::Reply reply = post("/api/v1/backfills/a/cancel");
    EXPECT_EQ(reply.status, status);
    EXPECT_TRUE(reply.body.contains("\"message\":\"refused\",\"hint\":\"because\"")) << reply.body;
  }
}

}  // namespace
}  // namespace cdc::serve
