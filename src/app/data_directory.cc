#include "app/data_directory.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format.h"

namespace cdc::app {

namespace {

namespace fs = std::filesystem;

Status make_private_directory(const fs::path& path) {
  const std::string hint = "choose a directory that this user can write with --data-dir";
  std::error_code error;
  // Parents keep the usual mode; only the directory itself holds our data.
  if (path.has_parent_path()) {
    fs::create_directories(path.parent_path(), error);
  }
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return fail(
        make_os_error(errno, format("cannot create data directory {}", path.string()), hint));
  }
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return fail(make_os_error(errno, format("cannot open data directory {}", path.string()), hint));
  }
  if (!S_ISDIR(info.st_mode)) {
    return fail(Errc::kIo, format("{} is not a directory", path.string()), hint);
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0 && ::chmod(path.c_str(), S_IRWXU) != 0) {
    return fail(make_os_error(errno,
                              format("cannot make data directory {} private", path.string()),
                              "it must belong to the user that runs this process"));
  }
  return {};
}

std::string holder_of(int lock) {
  char text[32] = {};
  const ssize_t size = ::pread(lock, text, sizeof text - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') {
    pid.pop_back();
  }
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

Result<DataDirectory> DataDirectory::open(const fs::path& path) {
  CDC_TRY(make_private_directory(path));
  const fs::path lock_path = path / "lock";
  UniqueFd lock{::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (!lock) {
    return fail(make_os_error(errno,
                              format("cannot write data directory {}", path.string()),
                              "choose a directory that this user can write with --data-dir"));
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return fail(Errc::kLocked,
                  format("data directory {} is in use by {}", path.string(), holder_of(lock.get())),
                  "stop that process, or give this one another --data-dir and --source-id");
    }
    return fail(make_os_error(errno, format("cannot lock {}", lock_path.string())));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return fail(make_os_error(errno, format("cannot write {}", lock_path.string())));
  }
  return DataDirectory{path, std::move(lock)};
}

}  // namespace cdc::app
