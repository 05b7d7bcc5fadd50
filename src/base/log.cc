#include "base/log.h"

#include <cstddef>
#include <string>

#include <unistd.h>

#include "base/clock.h"
#include "base/sync/level.h"

namespace cdc::log {

namespace {

AtomicLevel minimum{static_cast<int>(Level::kInfo)};

constexpr std::string_view name_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return "DEBUG";
    case Level::kInfo:
      return "INFO";
    case Level::kWarn:
      return "WARN";
    case Level::kError:
      return "ERROR";
  }
  return "INFO";
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += "0123456789abcdef"[byte >> 4U];
      out += "0123456789abcdef"[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

void set_level(Level level) noexcept {
  minimum.store(static_cast<int>(level));
}

Level level() noexcept {
  return static_cast<Level>(minimum.load());
}

void write(Level line_level, std::string_view message, std::initializer_list<Field> fields) {
  if (line_level < level()) {
    return;
  }
  std::string line = R"({"time":")";
  line += format_rfc3339(unix_now());
  line += R"(","level":")";
  line += name_of(line_level);
  line += R"(","msg":)";
  append_quoted(line, message);
  for (const Field& field : fields) {
    line += ',';
    append_quoted(line, field.name);
    line += ':';
    if (field.quoted) {
      append_quoted(line, field.value);
    } else {
      line += field.value;
    }
  }
  line += "}\n";
  // A log that cannot be written must not stop the stream.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace cdc::log
