#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cdc::log {

// Structured log: one JSON object per line on standard error with `time`, `level`, `msg` and the
// given fields. Callers never pass secrets or row values. Thread: any; each line is one write.
enum class Level : std::uint8_t {
  kDebug,
  kInfo,
  kWarn,
  kError
};

// One named value; numbers and booleans stay unquoted.
struct Field {
  std::string_view name;
  std::string value;
  bool quoted = true;

  Field(std::string_view field, std::string_view text) : name(field), value(text) {}

  Field(std::string_view field, const std::string& text) : name(field), value(text) {}

  Field(std::string_view field, const char* text) : name(field), value(text) {}

  Field(std::string_view field, bool truth)
      : name(field), value(truth ? "true" : "false"), quoted(false) {}

  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  Field(std::string_view field, Number number)
      : name(field), value(std::to_string(number)), quoted(false) {}
};

void set_level(Level level) noexcept;
[[nodiscard]] Level level() noexcept;

void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});

inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kDebug, message, fields);
}

inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kInfo, message, fields);
}

inline void warn(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kWarn, message, fields);
}

inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kError, message, fields);
}

}  // namespace cdc::log
