#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cdc::app {

// Where a command writes: its result to `out`, what went wrong to `error`. The streams are
// borrowed. Thread: the main thread.
class Console {
 public:
  Console(std::FILE* out, std::FILE* error) noexcept : out_(out), error_(error) {}

  // Errors: kClosed when the text cannot be written, at the latest from flush().
  [[nodiscard]] Status print(std::string_view text);
  [[nodiscard]] Status flush();

  // One line, or with `json` one JSON object. What cannot be written is lost: there is nowhere to
  // say.
  void report(const Error& error, bool json);

 private:
  std::FILE* out_;
  std::FILE* error_;
};

// A text as a JSON string, whatever bytes it holds.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace cdc::app
