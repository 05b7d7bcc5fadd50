#include "journal/tests/simulated_file_system.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cdc::journal {

namespace {

Error no_power() {
  return make_error(Errc::kIo, "the power is off");
}

}  // namespace

class SimulatedFileSystem::OpenFile final : public File {
 public:
  OpenFile(SimulatedFileSystem& owner, std::shared_ptr<Node> node)
      : owner_(owner), node_(std::move(node)), generation_(owner.generation_) {}

  Result<std::size_t> read_at(std::uint64_t offset, std::span<char> out) const override {
    if (owner_.off_ || generation_ != owner_.generation_) {
      return cdc::fail(no_power());
    }
    if (offset >= node_->shown.size()) {
      return std::size_t{0};
    }
    return node_->shown.copy(out.data(), out.size(), static_cast<std::size_t>(offset));
  }

  Status write_at(std::uint64_t offset, std::span<const std::string_view> pieces) override {
    bool last = false;
    CDC_TRY(begin(last));
    std::string bytes;
    for (const std::string_view piece : pieces) {
      bytes += piece;
    }
    const bool full = !owner_.grow_to(*node_, offset + bytes.size());
    if (full) {
      const std::uint64_t room = node_->shown.size() > offset ? node_->shown.size() - offset : 0;
      bytes.resize(static_cast<std::size_t>(room));
    }
    overwrite(static_cast<std::size_t>(offset), bytes);
    if (full) {
      return cdc::fail(make_os_error(ENOSPC, "simulated write"));
    }
    return finish(last);
  }

  Result<bool> allocate(std::uint64_t size) override {
    bool last = false;
    CDC_TRY(begin(last));
    if (!owner_.allocation_) {
      return false;
    }
    const std::size_t before = node_->shown.size();
    if (!owner_.grow_to(*node_, size)) {
      node_->shown.resize(before);
      return cdc::fail(make_os_error(ENOSPC, "simulated fallocate"));
    }
    node_->pending.push_back({.size = node_->shown.size(), .sectors = {}, .resize = true});
    CDC_TRY(finish(last));
    return true;
  }

  Status truncate(std::uint64_t size) override {
    bool last = false;
    CDC_TRY(begin(last));
    node_->shown.resize(static_cast<std::size_t>(size));
    node_->pending.push_back({.size = size, .sectors = {}, .resize = true});
    return finish(last);
  }

  Status sync_data() override { return sync_all(); }

  Status sync_all() override {
    bool last = false;
    CDC_TRY(begin(last));
    if (last && owner_.chance(50)) {
      return cdc::fail(no_power());
    }
    CDC_TRY(owner_.sync_node(*node_));
    return finish(last);
  }

  Result<std::uint64_t> size() const override {
    if (owner_.off_ || generation_ != owner_.generation_) {
      return cdc::fail(no_power());
    }
    return std::uint64_t{node_->shown.size()};
  }

 private:
  Status begin(bool& last) {
    if (generation_ != owner_.generation_) {
      return cdc::fail(no_power());
    }
    return owner_.begin(last);
  }

  static Status finish(bool last) {
    if (last) {
      return cdc::fail(no_power());
    }
    return {};
  }

  // The page cache merges writes, so a sector goes to disk as it looks after the write.
  void overwrite(std::size_t offset, const std::string& bytes) {
    node_->shown.replace(offset, bytes.size(), bytes);
    Change change{.size = node_->shown.size(), .sectors = {}, .resize = false};
    const std::size_t first = offset / kSectorSize * kSectorSize;
    for (std::size_t at = first; at < offset + bytes.size(); at += kSectorSize) {
      change.sectors[at] = node_->shown.substr(at, kSectorSize);
    }
    node_->pending.push_back(std::move(change));
  }

  SimulatedFileSystem& owner_;
  std::shared_ptr<Node> node_;
  std::uint64_t generation_;
};

class SimulatedFileSystem::Lock final : public FileLock {
 public:
  Lock(SimulatedFileSystem& owner, std::string path)
      : owner_(owner), path_(std::move(path)), generation_(owner.generation_) {}

  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  ~Lock() override {
    if (generation_ == owner_.generation_) {
      owner_.locks_.erase(path_);
    }
  }

 private:
  SimulatedFileSystem& owner_;
  std::string path_;
  std::uint64_t generation_;
};

// False when the disk is full; the file has then taken what was left.
bool SimulatedFileSystem::grow_to(Node& node, std::uint64_t size) {
  if (size <= node.shown.size()) {
    return true;
  }
  const std::uint64_t wanted = size - node.shown.size();
  const std::uint64_t before = used();
  const std::uint64_t room = capacity_ > before ? capacity_ - before : 0;
  node.shown.resize(static_cast<std::size_t>(node.shown.size() + std::min(wanted, room)));
  return wanted <= room;
}

std::uint64_t SimulatedFileSystem::used() const {
  std::uint64_t used = 0;
  for (const auto& [name, node] : shown_) {
    used += node->shown.size();
  }
  return used;
}

Status SimulatedFileSystem::begin(bool& last) {
  if (off_) {
    return cdc::fail(no_power());
  }
  last = operations_ == power_cut_;
  off_ = last;
  ++operations_;
  return {};
}

Status SimulatedFileSystem::sync_node(Node& node) {
  if (std::exchange(fail_sync_, false)) {
    // The kernel marks the pages clean all the same: some were written, the others never will be.
    settle(node, Loss::kSomeSectors);
    return cdc::fail(make_os_error(EIO, "simulated sync"));
  }
  node.on_disk = node.shown;
  node.pending.clear();
  return {};
}

void SimulatedFileSystem::settle(Node& node, Loss loss) {
  for (const Change& change : node.pending) {
    apply(node, change, loss);
  }
  node.pending.clear();
}

void SimulatedFileSystem::apply(Node& node, const Change& change, Loss loss) {
  if (loss == Loss::kAll || (loss != Loss::kNothing && change.resize && chance(50))) {
    return;
  }
  if (change.resize) {
    node.on_disk.resize(static_cast<std::size_t>(change.size));
    return;
  }
  if (loss == Loss::kSomeChanges && chance(50)) {
    return;
  }
  for (const auto& [offset, image] : change.sectors) {
    if (loss == Loss::kSomeSectors && chance(50)) {
      continue;
    }
    const auto at = static_cast<std::size_t>(offset);
    node.on_disk.resize(std::max(node.on_disk.size(), at + image.size()));
    node.on_disk.replace(at, image.size(), image);
  }
}

void SimulatedFileSystem::apply(Names& names, const NameChange& change) {
  if (!change.removed.empty()) {
    names.erase(change.removed);
  }
  if (change.node) {
    names[change.given] = change.node;
  }
}

void SimulatedFileSystem::change_names(NameChange change) {
  apply(shown_, change);
  pending_names_.push_back(std::move(change));
}

// File systems keep changes of names in order; what they do not promise is not relied upon, so half
// of the time any of them may be missing.
void SimulatedFileSystem::settle_names() {
  const bool in_order = chance(50);
  const std::size_t kept = random_() % (pending_names_.size() + 1);
  for (std::size_t i = 0; i < pending_names_.size(); ++i) {
    if (in_order ? i < kept : chance(50)) {
      apply(on_disk_, pending_names_[i]);
    }
  }
  pending_names_.clear();
}

void SimulatedFileSystem::restart() {
  const Loss loss = static_cast<Loss>(random_() % 4);
  settle_names();
  for (const auto& [name, node] : on_disk_) {
    settle(*node, loss);
    node->shown = node->on_disk;
  }
  shown_ = on_disk_;
  locks_.clear();
  ++generation_;
  off_ = false;
  fail_sync_ = false;
  power_cut_ = UINT64_MAX;
  operations_ = 0;
}

std::string SimulatedFileSystem::content(const std::filesystem::path& path) const {
  return shown_.at(path.string())->shown;
}

void SimulatedFileSystem::set_content(const std::filesystem::path& path, std::string content) {
  auto node = std::make_shared<Node>();
  node->on_disk = content;
  node->shown = std::move(content);
  shown_[path.string()] = node;
  on_disk_[path.string()] = node;
}

Status SimulatedFileSystem::create_directory(const std::filesystem::path& /*path*/) {
  return {};
}

Result<std::unique_ptr<File>> SimulatedFileSystem::open(const std::filesystem::path& path,
                                                        OpenMode mode) {
  if (off_) {
    return cdc::fail(no_power());
  }
  const std::string name = path.string();
  if (mode == OpenMode::kCreate) {
    bool last = false;
    CDC_TRY(begin(last));
    change_names({.removed = "", .given = name, .node = std::make_shared<Node>()});
    if (last) {
      return cdc::fail(no_power());
    }
  }
  const auto found = shown_.find(name);
  if (found == shown_.end()) {
    return cdc::fail(Errc::kNotFound, "no such file " + name);
  }
  return std::make_unique<OpenFile>(*this, found->second);
}

Status SimulatedFileSystem::rename(const std::filesystem::path& from,
                                   const std::filesystem::path& to) {
  bool last = false;
  CDC_TRY(begin(last));
  const auto found = shown_.find(from.string());
  if (found == shown_.end()) {
    return cdc::fail(Errc::kNotFound, "no such file " + from.string());
  }
  change_names({.removed = from.string(), .given = to.string(), .node = found->second});
  if (last) {
    return cdc::fail(no_power());
  }
  return {};
}

Status SimulatedFileSystem::remove(const std::filesystem::path& path) {
  bool last = false;
  CDC_TRY(begin(last));
  if (!shown_.contains(path.string())) {
    return cdc::fail(Errc::kNotFound, "no such file " + path.string());
  }
  change_names({.removed = path.string(), .given = "", .node = nullptr});
  if (last) {
    return cdc::fail(no_power());
  }
  return {};
}

Result<std::vector<std::string>> SimulatedFileSystem::list(const std::filesystem::path& directory) {
  if (off_) {
    return cdc::fail(no_power());
  }
  std::vector<std::string> names;
  for (const auto& [name, node] : shown_) {
    const std::filesystem::path path(name);
    if (path.parent_path() == directory) {
      names.push_back(path.filename().string());
    }
  }
  return names;
}

Status SimulatedFileSystem::sync_directory(const std::filesystem::path& /*directory*/) {
  bool last = false;
  CDC_TRY(begin(last));
  if (last && chance(50)) {
    return cdc::fail(no_power());
  }
  if (std::exchange(fail_sync_, false)) {
    return cdc::fail(make_os_error(EIO, "simulated directory sync"));
  }
  on_disk_ = shown_;
  pending_names_.clear();
  if (last) {
    return cdc::fail(no_power());
  }
  return {};
}

Result<std::unique_ptr<FileLock>> SimulatedFileSystem::lock(const std::filesystem::path& path) {
  if (off_) {
    return cdc::fail(no_power());
  }
  if (!locks_.insert(path.string()).second) {
    return cdc::fail(Errc::kLocked, path.string() + " is locked");
  }
  return std::make_unique<Lock>(*this, path.string());
}

}  // namespace cdc::journal
