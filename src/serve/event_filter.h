#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/table_pattern.h"
#include "journal/reader.h"
#include "model/operation.h"

namespace cdc::serve {

// Which events a client wants. Thread: one owner.
class EventFilter {
 public:
  // Lists with commas: "public.orders,sales.*" and "insert,update"; empty: all.
  // Errors: kInvalidArgument naming the fault.
  [[nodiscard]] static Result<EventFilter> parse(std::string_view tables,
                                                 std::string_view operations);

  // The first table that none of `captured` can stand for, as it was written; empty: all may occur.
  // No patterns captured means every table.
  [[nodiscard]] std::string unknown_table(std::span<const expr::TablePattern> captured) const;

  // Before wants(): looks at the tables of a frame once.
  void begin(const journal::FrameView& frame);
  [[nodiscard]] bool wants(const model::EventHeader& event) const;

 private:
  struct Named {
    expr::TablePattern pattern;
    std::string text;
  };

  [[nodiscard]] bool wants_table(std::string_view name) const;

  std::vector<Named> tables_;
  unsigned operations_ = ~0U;  // bit i: the operation with number i
  std::vector<bool> wanted_;   // for each table of the frame
  std::size_t nameless_ = 0;   // the one that stands for no table
};

}  // namespace cdc::serve
