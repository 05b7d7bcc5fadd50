#include "app/standard_descriptors.h"

#include <initializer_list>

#include <fcntl.h>
#include <unistd.h>

namespace cdc::app {

void occupy_standard_descriptors() noexcept {
  for (const int wanted : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(wanted, F_GETFD) >= 0) {
      continue;
    }
    // The lowest free descriptor is the one that is closed.
    static_cast<void>(::open("/dev/null", wanted == STDERR_FILENO ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace cdc::app
