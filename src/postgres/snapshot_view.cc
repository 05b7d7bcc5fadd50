#include "postgres/snapshot_view.h"

#include <algorithm>

namespace cdc::postgres {

bool SnapshotView::sees(std::uint32_t xid, Lsn commit_lsn) const noexcept {
  if (standby) {
    return commit_lsn < low;
  }
  // All ids in use lie within half the range of 32 bits around the next one, so the nearest id of
  // 64 bits that ends in `xid` is the one meant.
  const auto distance = static_cast<std::int32_t>(xid - static_cast<std::uint32_t>(xmax));
  if (distance >= 0) {
    return false;
  }
  const std::uint64_t full = xmax - static_cast<std::uint64_t>(-std::int64_t{distance});
  return full < xmin || !std::ranges::binary_search(in_progress, full);
}

}  // namespace cdc::postgres
