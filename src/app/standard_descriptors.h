#pragma once

namespace cdc::app {

// Puts /dev/null where descriptor 0, 1 or 2 is closed: the next file that is opened would become
// standard output or error otherwise, and events or logs would be written into it. Read-only, so
// that a closed output can still be told from an open one. Thread: first thing in main().
void occupy_standard_descriptors() noexcept;

}  // namespace cdc::app
