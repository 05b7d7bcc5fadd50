// Proves which handler a request reaches, with which parameter, and what is known of the others.
#include "http/router.h"

#include <gtest/gtest.h>

namespace cdc::http {
namespace {

Router made() {
  Router router;
  const auto answering = [](std::string word) {
    return [word](const Request& request) {
      Response response;
      response.body = word + request.parameter;
      return response;
    };
  };
  router.add(Method::kGet, "/items", answering("list"));
  router.add(Method::kPost, "/items", answering("add"));
  router.add(Method::kGet, "/items/{item}", answering("one "));
  router.add(Method::kPost, "/items/{item}/pause", answering("pause "));
  return router;
}

std::string asked(const Router& router, std::string_view method, std::string_view target) {
  const Router::Match match = router.find(method, target);
  if (match.is_malformed) {
    return "malformed";
  }
  if (match.handler == nullptr) {
    return match.allow.empty() ? "nothing" : "allow " + match.allow;
  }
  return (*match.handler)({.parameter = match.parameter, .body = {}}).body;
}

TEST(Router, FindsByMethodAndPath) {
  const Router router = made();
  EXPECT_EQ(asked(router, "GET", "/items"), "list");
  EXPECT_EQ(asked(router, "HEAD", "/items"), "list");
  EXPECT_EQ(asked(router, "POST", "/items?x=y"), "add");
  EXPECT_EQ(asked(router, "GET", "/items/public.%22a%2Fb%22"), "one public.\"a/b\"");
  EXPECT_EQ(asked(router, "POST", "/items/t/pause"), "pause t");
}

TEST(Router, TellsWhatItLacks) {
  const Router router = made();
  EXPECT_EQ(asked(router, "GET", "/"), "nothing");
  EXPECT_EQ(asked(router, "GET", "/items/"), "nothing");
  EXPECT_EQ(asked(router, "GET", "/items/a/b"), "nothing");
  EXPECT_EQ(asked(router, "GET", "/Items"), "nothing");
  EXPECT_EQ(asked(router, "GET", "/items/a/pause/"), "nothing");
  EXPECT_EQ(asked(router, "DELETE", "/items"), "allow GET, HEAD, POST");
  EXPECT_EQ(asked(router, "POST", "/items/a"), "allow GET, HEAD");
  EXPECT_EQ(asked(router, "HEAD", "/items/a/pause"), "allow POST");
  EXPECT_EQ(asked(router, "get", "/items"), "allow GET, HEAD, POST");
  EXPECT_EQ(asked(router, "GET", "items"), "malformed");
  EXPECT_EQ(asked(router, "GET", "/items/%zz"), "malformed");
}

}  // namespace
}  // namespace cdc::http
