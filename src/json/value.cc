#include "json/value.h"

#include <algorithm>
#include <limits>

// The whole library is compiled here, and nowhere else.
#include <boost/json/src.hpp>

namespace cdc::json {
namespace {

constexpr std::size_t kDepthMax = 32;

Value converted(const boost::json::value& from) {
  Value to;
  switch (from.kind()) {
    case boost::json::kind::null:
      break;
    case boost::json::kind::bool_:
      to.kind = Value::Kind::kBoolean;
      to.boolean = from.get_bool();
      break;
    case boost::json::kind::int64:
      to.kind = Value::Kind::kInteger;
      to.integer = from.get_int64();
      to.number = static_cast<double>(to.integer);
      break;
    case boost::json::kind::uint64:  // only those above the signed ones
      to.kind = Value::Kind::kNumber;
      to.number = static_cast<double>(from.get_uint64());
      break;
    case boost::json::kind::double_:
      to.kind = Value::Kind::kNumber;
      to.number = from.get_double();
      break;
    case boost::json::kind::string:
      to.kind = Value::Kind::kString;
      to.text = std::string_view(from.get_string());
      break;
    case boost::json::kind::array:
      to.kind = Value::Kind::kArray;
      for (const boost::json::value& item : from.get_array()) {
        to.items.push_back(converted(item));
      }
      break;
    case boost::json::kind::object:
      to.kind = Value::Kind::kObject;
      for (const auto& member : from.get_object()) {
        to.members.push_back(
            {.name = std::string(member.key()), .value = converted(member.value())});
      }
      break;
  }
  return to;
}

}  // namespace

const Value* Value::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      members, [&](const Member& member) { return std::string_view(member.name) == name; });
  return found == members.end() ? nullptr : &found->value;
}

std::optional<std::string_view> Value::text_of(std::string_view name) const {
  const Value* member = find(name);
  if (member == nullptr || member->kind != Kind::kString) {
    return std::nullopt;
  }
  return member->text;
}

Result<Value> parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::json::parser parser({}, options);
  boost::json::error_code code;
  const std::size_t used = parser.write(boost::json::string_view(text.data(), text.size()), code);
  if (code) {
    return fail(Errc::kInvalidArgument,
                "not JSON: " + code.message() + " at byte " + std::to_string(used));
  }
  return converted(parser.release());
}

}  // namespace cdc::json
