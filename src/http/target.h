#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cdc::http {

// The segments of the path of a request target in origin form ("/a/b%2Fc?x=y"), decoded: "a",
// "b/c". The query is left out. Nothing for any other form, a broken escape, or a NUL.
[[nodiscard]] std::optional<std::vector<std::string>> path_segments(std::string_view target);

struct Parameter {
  std::string name;
  std::string value;
};

// The parameters in the query of a request target, decoded ("a=b%20c&d+e" is a: "b c" and "d e":
// ""), in their order. Nothing when there is a broken escape, a NUL, or more than kParametersMax.
inline constexpr std::size_t kParametersMax = 64;
[[nodiscard]] std::optional<std::vector<Parameter>> query_parameters(std::string_view target);

// A text as one segment of a path, or as a name or value in a query.
[[nodiscard]] std::string encode_segment(std::string_view text);

// Whether a Host header names this machine in a way that no foreign name server can point here: an
// IP address or localhost, with or without a port.
[[nodiscard]] bool is_literal_host(std::string_view host);

}  // namespace cdc::http
