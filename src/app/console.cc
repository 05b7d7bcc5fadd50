#include "app/console.h"

#include <algorithm>
#include <cerrno>

#include "base/format.h"
#include "json/utf8.h"

namespace cdc::app {
namespace {

Error unwritable() {
  return with_context(make_os_error(errno, "cannot be written"), "standard output");
}

}  // namespace

Status Console::print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) {
    return fail(unwritable());
  }
  return {};
}

Status Console::flush() {
  if (std::fflush(out_) != 0) {
    return fail(unwritable());
  }
  return {};
}

void Console::report(const Error& error, bool json) {
  std::string line;
  if (json) {
    line = cdc::format(R"({{"error":{{"code":{},"message":{},"hint":{},"exit_status":{}}}}})",
                       json_text(name_of(error.code)),
                       json_text(error.message),
                       json_text(error.hint),
                       exit_status(error.code));
  } else {
    line = "kaptanto: " + error.to_string();
    // A message may repeat a name that holds a line end; the report stays one line.
    std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  }
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), error_);
  std::fflush(error_);
}

std::string json_text(std::string_view text) {
  json::TextBuffer buffer;
  json::append_any_string(buffer, text);
  return std::string(buffer.view());
}

}  // namespace cdc::app
