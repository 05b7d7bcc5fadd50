#include "config/fault.h"

#include <utility>

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
  Fault first = faults.front();
  std::string hint = std::exchange(first.hint, {});
  if (faults.size() > 1) {
    hint += hint.empty() ? "" : "; ";
    hint += "`kaptanto validate` names " + std::to_string(faults.size() - 1) + " more";
  }
  return make_error(first.code, first.to_string(), std::move(hint));
}

}  // namespace cdc::config
