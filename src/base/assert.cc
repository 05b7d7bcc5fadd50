#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace cdc {

void assert_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "kaptanto: internal fault: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace cdc
