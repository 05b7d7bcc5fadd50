// Proves how paths are taken apart and put together, and which Host headers pass.
#include "http/target.h"

#include <gtest/gtest.h>

namespace cdc::http {
namespace {

using Segments = std::vector<std::string>;

TEST(PathSegments, AreDecodedOneByOne) {
  EXPECT_EQ(path_segments("/"), Segments{""});
  EXPECT_EQ(path_segments("/a/b"), (Segments{"a", "b"}));
  EXPECT_EQ(path_segments("/a/"), (Segments{"a", ""}));
  EXPECT_EQ(path_segments("/a%2Fb/%22%c3%A9?x=/y"), (Segments{"a/b", "\"\xC3\xA9"}));
  EXPECT_EQ(path_segments("/a#/b"), Segments{"a"});
}

TEST(PathSegments, RefuseOtherFormsAndBrokenEscapes) {
  for (const std::string_view target :
       {"", "*", "a", "http://127.0.0.1/a", "/%", "/%4", "/%4g", "/%00", "?a"}) {
    EXPECT_EQ(path_segments(target), std::nullopt) << target;
  }
  EXPECT_EQ(path_segments(std::string_view("/a\0", 3)), std::nullopt);
}

TEST(EncodeSegment, IsTheInverse) {
  std::string all;
  for (int c = 1; c < 256; ++c) {
    all += static_cast<char>(c);
  }
  EXPECT_EQ(path_segments("/" + encode_segment(all)), Segments{all});
  EXPECT_EQ(encode_segment("public.a~b-c_1"), "public.a~b-c_1");
  EXPECT_EQ(encode_segment("a b/\""), "a%20b%2F%22");
}

TEST(IsLiteralHost, TakesAddressesAndLocalhost) {
  for (const std::string_view host : {"127.0.0.1",
                                      "127.0.0.1:7655",
                                      "10.1.2.3:65535",
                                      "[::1]",
                                      "[::1]:7655",
                                      "[fe80::1]:1",
                                      "localhost",
                                      "LocalHost:80"}) {
    EXPECT_TRUE(is_literal_host(host)) << host;
  }
}

TEST(IsLiteralHost, RefusesNamesAndNoise) {
  for (const std::string_view host : {"",
                                      "example.com",
                                      "example.com:7655",
                                      "127.0.0.1.example.com",
                                      "localhost.example.com",
                                      "localhos",
                                      "127.0.0.1:",
                                      "127.0.0.1:x",
                                      "127.0.0.1:1234567",
                                      "127.0.0.1:80:80",
                                      "127.1",
                                      "2130706433",
                                      "::1",
                                      "[::1",
                                      "[::1]x",
                                      "[127.0.0.1]",
                                      "user@127.0.0.1"}) {
    EXPECT_FALSE(is_literal_host(host)) << host;
  }
  EXPECT_FALSE(is_literal_host(std::string_view("127.0.0.1\0.example.com", 22)));
}

std::string parameters_of(std::string_view target) {
  const auto parameters = query_parameters(target);
  if (!parameters) {
    return "malformed";
  }
  std::string text;
  for (const Parameter& each : *parameters) {
    text += "[" + each.name + "=" + each.value + "]";
  }
  return text;
}

TEST(Target, Parameters) {
  EXPECT_EQ(parameters_of("/events"), "");
  EXPECT_EQ(parameters_of("/events?"), "");
  EXPECT_EQ(parameters_of("/?a=b&c"), "[a=b][c=]");
  EXPECT_EQ(parameters_of("/?a=b+c%20d%2B&a=%C3%A4&&=x#y=z"), "[a=b c d+][a=\xC3\xA4][=x]");
  EXPECT_EQ(parameters_of("/?a=b=c?d"), "[a=b=c?d]");
  EXPECT_EQ(parameters_of("/?a=%"), "malformed");
  EXPECT_EQ(parameters_of("/?%0=1"), "malformed");
  EXPECT_EQ(parameters_of("/?a=%00"), "malformed");
  std::string many = "/?";
  for (std::size_t i = 0; i < kParametersMax; ++i) {
    many += "a&";
  }
  EXPECT_NE(parameters_of(many), "malformed");
  EXPECT_EQ(parameters_of(many + "a"), "malformed");
}

}  // namespace
}  // namespace cdc::http
