#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace cdc::config {

// One thing that is wrong with a configuration. Never holds a secret: the value of an option is
// shown only if it cannot be one, and only as it was written, not as `${VAR}` expanded it.
struct Fault {
  std::string place;  // "config.yaml:12:3", "--port", "KAPTANTO_PORT"; empty when it is nowhere
  std::string key;    // "tables.public.orders.where"; empty for the file as a whole
  std::string message;
  std::string hint;  // how to mend it; may be empty
  Errc code = Errc::kConfigInvalid;

  // `config.yaml:12:3: tables.public.orders.wher: unknown key (did you mean "where"?)`
  [[nodiscard]] std::string to_string() const;
};

// The first fault as an error that tells how many more there are, for callers that show only that.
// `faults` is not empty.
[[nodiscard]] Error to_error(const std::vector<Fault>& faults);

}  // namespace cdc::config
