#include "journal/internal/damage.h"

#include "base/format.h"

namespace cdc::journal {

Error corrupt(const std::filesystem::path& file, std::uint64_t offset, std::string_view what) {
  return make_error(
      Errc::kCorrupt,
      format("journal segment {} is damaged at offset {}: {}", file.string(), offset, what),
      format(
          "check the disk, look at `kaptanto journal inspect {}`, and restore the directory from "
          "a copy; without one, move it away and take a new snapshot",
          file.parent_path().string()));
}

}  // namespace cdc::journal
