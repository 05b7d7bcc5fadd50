#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cdc::state::testing {

// A directory of the test's own, gone at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "kaptanto_state_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }

  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace cdc::state::testing
