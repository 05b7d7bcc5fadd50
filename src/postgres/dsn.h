#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cdc::postgres {

// A connection string as libpq understands it: every keyword that it names, decoded.
// Lifetime: owns its text. It holds the password: never log a value.
class Dsn {
 public:
  // Accepts URIs and keyword/value strings. Errors: kConfigInvalid; the message never repeats text
  // of the connection string, because a password may have ended up anywhere in one that is wrong.
  [[nodiscard]] static Result<Dsn> parse(std::string_view text);

  // Empty when the keyword is not given.
  [[nodiscard]] std::string_view get(std::string_view keyword) const noexcept;

  // How many hosts it names; at least one.
  [[nodiscard]] std::size_t host_count() const noexcept;

  struct Option {
    std::string keyword;
    std::string value;

    bool operator==(const Option&) const = default;
  };

  [[nodiscard]] const std::vector<Option>& options() const noexcept { return options_; }

 private:
  std::vector<Option> options_;
};

// Whether the value of a connection keyword is a secret: password, sslpassword.
[[nodiscard]] bool is_secret_keyword(std::string_view keyword) noexcept;

}  // namespace cdc::postgres
