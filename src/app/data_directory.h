#pragma once

#include <filesystem>

#include "base/result.h"
#include "base/unique_handle.h"

namespace cdc::app {

// The state directory, ours alone while this object lives: created with mode 0700, narrowed to it
// when it has another, and locked against a second process.
//
// Errors  kLocked names the process that holds it; kIo says what could not be done. Thread: any.
class DataDirectory {
 public:
  [[nodiscard]] static Result<DataDirectory> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  DataDirectory(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  UniqueFd lock_;
};

}  // namespace cdc::app
