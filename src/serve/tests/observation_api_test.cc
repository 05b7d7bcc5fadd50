// Proves what monitoring gets to see, over a real server: statuses and bodies of health, readiness,
// start-up, metrics and status.
#include "serve/observation_api.h"

#include <memory>

#include <gtest/gtest.h>

#include "base/sync/level.h"
#include "http/client.h"
#include "http/server.h"
#include "json/value.h"

namespace cdc::serve {
namespace {

class ObservationApi : public ::testing::Test {
 protected:
  ObservationApi() {
    registry_.add({.name = "answers_total",
                   .kind = metrics::Kind::kCounter,
                   .help = "Answers.",
                   .collect = [](metrics::Samples& samples) {
                     samples.add(std::uint64_t{42});
                   }});
    http::Router router;
    add_observation_routes(
        router,
        {.registry = registry_,
         .checks =
             [this] {
               return std::vector<Check>{
                   {.name = "source", .ok = works_.load() != 0, .detail = "say \"why\"\n"},
                   {.name = "journal", .ok = true, .detail = "running"}};
             },
         .started = [this] { return works_.load() != 0; },
         .status =
             [] {
               return std::string(R"({"version":"1"})");
             }});
    server_ = http::Server::listen({}, std::move(router)).value();
    server_->start();
  }

  http::Reply get(std::string target) {
    return http::call({.port = server_->port(), .target = std::move(target)}).value();
  }

  AtomicLevel works_{1};
  metrics::Registry registry_;
  std::unique_ptr<http::Server> server_;
};

TEST_F(ObservationApi, IsReadyWhenAllChecksAreGood) {
  const http::Reply reply = get("/readyz");
  EXPECT_EQ(reply.status, 200U);
  EXPECT_TRUE(json::parse(reply.body).value().find("ready")->boolean);
  EXPECT_EQ(get("/startupz").status, 200U);
}

TEST_F(ObservationApi, SaysWhichCheckFails) {
  works_.store(0);
  const http::Reply reply = get("/readyz");
  EXPECT_EQ(reply.status, 503U);
  const json::Value document = json::parse(reply.body).value();
  EXPECT_FALSE(document.find("ready")->boolean);
  const std::vector<json::Value>& checks = document.find("checks")->items;
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks[0].text_of("name"), "source");
  EXPECT_FALSE(checks[0].find("ok")->boolean);
  EXPECT_EQ(checks[0].text_of("detail"), "say \"why\"\n");
  EXPECT_TRUE(checks[1].find("ok")->boolean);
  EXPECT_EQ(get("/startupz").status, 503U);
  EXPECT_EQ(get("/healthz").status, 200U);
}

TEST_F(ObservationApi, GivesMetricsAndStatus) {
  EXPECT_TRUE(get("/metrics").body.contains("answers_total 42\n"));
  EXPECT_EQ(get("/api/v1/status").body, "{\"version\":\"1\"}\n");
}

}  // namespace
}  // namespace cdc::serve
