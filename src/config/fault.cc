#include "config/fault.h"

#include <algorithm>

namespace cdc::config {

std::string Fault::to_string() const {
  std::string text;
  for (const std::string& part : {place, key}) {
    if (!part.empty()) {
      text += part;
      text += ": ";
    }
  }
  text += message;
  if (!hint.empty()) {
    text += " (";
    text += hint;
    text += ')';
  }
  return text;
}

Error to_error(const std::vector<Fault>& faults) {
  const Errc first = faults.front().code;
  const bool alike = std::ranges::all_of(faults, [&](const Fault& f) { return f.code == first; });
  if (faults.size() == 1) {
    const Fault& fault = faults.front();
    Fault without_hint = fault;
    without_hint.hint.clear();
    return make_error(first, without_hint.to_string(), fault.hint);
  }
  std::string message = std::to_string(faults.size()) + " faults in the configuration";
  for (const Fault& fault : faults) {
    message += "\n  ";
    message += fault.to_string();
  }
  return make_error(alike ? first : Errc::kConfigInvalid, message);
}

}  // namespace cdc::config
