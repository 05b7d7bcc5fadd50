#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/expansion.h"
#include "config/fault.h"

namespace cdc::config {

// Where a configuration comes from. Flags win over the environment, that over the file, that over
// the defaults, option by option.
struct LoadInputs {
  // Flag name without dashes -> every value given, in order; a flag without a value is "true".
  std::map<std::string, std::vector<std::string>> flags;
  // Both for KAPTANTO_* variables and for ${VAR} in the file. An empty variable counts as unset.
  Environment environment;
  std::optional<std::filesystem::path> file;
};

// The outcome: without faults the configuration is complete and checked; with faults it is not to
// be used for anything but messages.
struct Loaded {
  Config config;
  std::vector<Fault> faults;  // all of them: file in order, then environment, flags, and the whole

  [[nodiscard]] bool ok() const noexcept { return faults.empty(); }
};

// Reads at most two files: the configuration, and the one `source-file` names. Thread: any.
[[nodiscard]] Loaded load(const LoadInputs& inputs);

// The same for a text in memory instead of a file; `name` stands for it in places.
[[nodiscard]] Loaded load_text(std::string_view text,
                               const LoadInputs& inputs,
                               std::string_view name);

}  // namespace cdc::config
