#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace cdc::journal {

// kCorrupt for damage at `offset` of a segment file, with the one hint that fits all of it.
[[nodiscard]] Error corrupt(const std::filesystem::path& file,
                            std::uint64_t offset,
                            std::string_view what);

}  // namespace cdc::journal
