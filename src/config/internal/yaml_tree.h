#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/fault.h"

namespace cdc::config {

// A YAML document as plain values with places, so that nothing else knows the YAML library.
struct YamlNode {
  enum class Kind : std::uint8_t {
    kNull,
    kScalar,
    kSequence,
    kMap
  };

  struct Entry;

  Kind kind = Kind::kNull;
  std::size_t line = 0;  // from 1; 0 when the parser names no place
  std::size_t column = 0;
  std::string text;             // kScalar: unescaped, not expanded
  std::vector<YamlNode> items;  // kSequence
  std::vector<Entry> entries;   // kMap, in the order of the file

  [[nodiscard]] bool is_null() const noexcept { return kind == Kind::kNull; }

  [[nodiscard]] bool is_empty() const noexcept {
    return is_null() || (kind == Kind::kScalar && text.empty()) ||
           (kind == Kind::kSequence && items.empty()) || (kind == Kind::kMap && entries.empty());
  }
};

struct YamlNode::Entry {
  std::string key;
  std::size_t line = 0;
  std::size_t column = 0;
  YamlNode value;
};

// "file:line:column", or what of it is known.
[[nodiscard]] std::string place_of(std::string_view file, std::size_t line, std::size_t column);

inline constexpr std::size_t kYamlBytesMax = 1U << 20U;
inline constexpr std::size_t kYamlNodesMax = 100'000;  // with aliases written out
inline constexpr std::size_t kYamlDepthMax = 32;

// Reads one document; `file` is only for places. Faults: text that is no YAML, several documents, a
// key twice in one map or a key that is no text (the entry is left out, and the rest still read),
// more than the bounds above. An empty text is a null node.
[[nodiscard]] YamlNode read_yaml(std::string_view file,
                                 std::string_view text,
                                 std::vector<Fault>& faults);

}  // namespace cdc::config
