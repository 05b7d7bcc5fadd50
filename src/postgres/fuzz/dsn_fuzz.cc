// Feeds any bytes as a connection string. Its redaction must parse to the same options with every
// secret hidden, be hidden as a whole, and never show a secret that nothing else in it equals.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "postgres/connection.h"
#include "postgres/dsn.h"

namespace {

bool occurs_elsewhere(const cdc::postgres::Dsn& dsn,
                      std::string_view text,
                      std::string_view value) {
  for (const auto& option : dsn.options()) {
    if (!cdc::postgres::is_secret_keyword(option.keyword) &&
        (option.value.find(value) != std::string::npos ||
         option.keyword.find(value) != std::string::npos)) {
      return true;
    }
  }
  // Escapes make the text of another option equal to the secret though their values differ.
  if (text.find_first_of("\\%") != std::string_view::npos) {
    return true;
  }
  // Words of the form itself, such as the scheme, and options that a later one replaced.
  return text.find(value) != text.rfind(value) || value.find("password") != std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string redacted = cdc::postgres::redact_dsn(text);
  const auto original = cdc::postgres::Dsn::parse(text);
  if (!original) {
    CDC_ASSERT(redacted == "(connection string hidden)");
    return 0;
  }
  constexpr std::size_t kSecretBytesMin = 6;
  for (const auto& option : original->options()) {
    if (cdc::postgres::is_secret_keyword(option.keyword) &&
        option.value.size() >= kSecretBytesMin &&
        !occurs_elsewhere(*original, text, option.value)) {
      CDC_ASSERT(redacted.find(option.value) == std::string::npos);
    }
  }
  const auto again = cdc::postgres::Dsn::parse(redacted);
  if (again) {
    for (const auto& option : again->options()) {
      CDC_ASSERT(!cdc::postgres::is_secret_keyword(option.keyword) || option.value.empty() ||
                 option.value == "xxxxx");
    }
  }
  return 0;
}
