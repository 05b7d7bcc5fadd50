#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cdc::json {

struct Member;

// A JSON document that was read, for what is small and rare: bodies of requests and answers.
// Thread: one owner.
struct Value {
  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kInteger,  // fits `integer`
    kNumber,   // any other
    kString,
    kArray,
    kObject,
  };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;  // of kInteger too
  std::string text;
  std::vector<Value> items;
  std::vector<Member> members;  // in the document's order; of equal names only the last

  // The member with this name, of an object; else null.
  [[nodiscard]] const Value* find(std::string_view name) const;
  // The member's text; nothing when it is missing or of another kind.
  [[nodiscard]] std::optional<std::string_view> text_of(std::string_view name) const;
};

struct Member {
  std::string name;
  Value value;
};

// Errors: kInvalidArgument with the offset of the fault. Limits: nesting of 32.
[[nodiscard]] Result<Value> parse(std::string_view text);

}  // namespace cdc::json
