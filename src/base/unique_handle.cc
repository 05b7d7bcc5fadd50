#include "base/unique_handle.h"

#include <unistd.h>

namespace cdc {

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

}  // namespace cdc
