#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "journal/file_system.h"

namespace cdc::journal {

// A file system in memory that behaves as badly as a real one may: what was not synced can be lost
// when the power goes, whole, in part, or sector by sector in any order; names change durably only
// with their directory; a failed sync loses what it should have saved; and the disk can fill up.
//
// The model: each file has what the disk holds and what the kernel would show, and between them
// a list of pending changes. A sector is written whole or not at all. Of the names changed
// since their directory was synced, any may have reached the disk.
class SimulatedFileSystem final : public FileSystem {
 public:
  static constexpr std::size_t kSectorSize = 512;

  explicit SimulatedFileSystem(std::uint64_t seed) : random_(seed) {}

  // The operation with this number (from 0, counting those that change something) is the last that
  // begins; it and all later ones fail.
  void cut_power_at(std::uint64_t operation) { power_cut_ = operation; }

  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  [[nodiscard]] bool power_is_off() const { return off_; }

  // Power comes back: files hold what had reached the disk. Everything open is dead.
  void restart();

  void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }

  [[nodiscard]] std::uint64_t used() const;

  void fail_next_sync() { fail_sync_ = true; }

  // fallocate says that it is not supported.
  void refuse_allocation() { allocation_ = false; }

  // For tests that damage files: the content as the kernel shows it, also made durable.
  [[nodiscard]] std::string content(const std::filesystem::path& path) const;
  void set_content(const std::filesystem::path& path, std::string content);

  Status create_directory(const std::filesystem::path& path) override;
  Result<std::unique_ptr<File>> open(const std::filesystem::path& path, OpenMode mode) override;
  Status rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  Status remove(const std::filesystem::path& path) override;
  Result<std::vector<std::string>> list(const std::filesystem::path& directory) override;
  Status sync_directory(const std::filesystem::path& directory) override;
  Result<std::unique_ptr<FileLock>> lock(const std::filesystem::path& path) override;

  std::uint64_t random64() override { return random_(); }

 private:
  class OpenFile;
  class Lock;

  // A change that the kernel has shown and the disk may not have.
  struct Change {
    std::uint64_t size = 0;                        // of the file afterwards
    std::map<std::uint64_t, std::string> sectors;  // whole images, by offset
    bool resize = false;
  };

  struct Node {
    std::string on_disk;
    std::string shown;
    std::vector<Change> pending;
  };

  using Names = std::map<std::string, std::shared_ptr<Node>>;

  // A name that was given (`node`) or taken away (`removed`), or both: a rename.
  struct NameChange {
    std::string removed;
    std::string given;
    std::shared_ptr<Node> node;
  };

  // How much of the pending changes a power cut lets through.
  enum class Loss : unsigned char {
    kAll,
    kNothing,
    kSomeChanges,
    kSomeSectors
  };

  // Counts an operation. `last`: power goes off with it, so its effect is left to chance.
  [[nodiscard]] Status begin(bool& last);
  [[nodiscard]] Status sync_node(Node& node);
  [[nodiscard]] bool grow_to(Node& node, std::uint64_t size);
  void settle(Node& node, Loss loss);
  void settle_names();
  void change_names(NameChange change);
  static void apply(Names& names, const NameChange& change);
  void apply(Node& node, const Change& change, Loss loss);

  [[nodiscard]] bool chance(unsigned percent) { return random_() % 100 < percent; }

  std::mt19937_64 random_;
  Names shown_;
  Names on_disk_;
  std::vector<NameChange> pending_names_;
  std::set<std::string> locks_;
  std::uint64_t generation_ = 0;
  std::uint64_t operations_ = 0;
  std::uint64_t power_cut_ = UINT64_MAX;
  std::uint64_t capacity_ = UINT64_MAX;
  bool off_ = false;
  bool fail_sync_ = false;
  bool allocation_ = true;
};

}  // namespace cdc::journal
