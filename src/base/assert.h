#pragma once

namespace cdc {

// Prints file, line and the condition, then aborts. For faults of ours only: no input may reach it.
[[noreturn]] void assert_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace cdc

// On in every build.
#define CDC_ASSERT(condition)                               \
  do {                                                      \
    if (!(condition)) [[unlikely]] {                        \
      ::cdc::assert_failed(#condition, __FILE__, __LINE__); \
    }                                                       \
  } while (false)
