// Reads arbitrary text as a request target and as a Host header. Segments that come out must
// survive being encoded again, those of the query too, and a router must find the same for both
// spellings.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "http/router.h"
#include "http/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cdc::http;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (is_literal_host(text)) {
    CDC_ASSERT(text.size() < 64 && text.find('\0') == std::string::npos);
  }
  static const Router router = [] {
    Router made;
    made.add(Method::kGet, "/a/{x}", [](const Request&) { return Response{}; });
    return made;
  }();
  const Router::Match match = router.find("GET", text);
  if (const auto parameters = query_parameters(text)) {
    std::string query = "/?";
    for (const Parameter& each : *parameters) {
      query += encode_segment(each.name) + "=" + encode_segment(each.value) + "&";
    }
    const auto again = query_parameters(query);
    CDC_ASSERT(again.has_value() && again->size() == parameters->size());
    for (std::size_t i = 0; i < again->size(); ++i) {
      CDC_ASSERT((*again)[i].name == (*parameters)[i].name);
      CDC_ASSERT((*again)[i].value == (*parameters)[i].value);
    }
  }
  const auto segments = path_segments(text);
  CDC_ASSERT(segments.has_value() != match.is_malformed);
  if (!segments) {
    return 0;
  }
  std::string again;
  for (const std::string& segment : *segments) {
    again += "/" + encode_segment(segment);
  }
  CDC_ASSERT(path_segments(again) == segments);
  CDC_ASSERT(router.find("GET", again).parameter == match.parameter);
  return 0;
}
