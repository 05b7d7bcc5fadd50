#include "config/load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/format.h"
#include "base/unique_handle.h"
#include "config/dsn.h"
#include "config/internal/table_section.h"
#include "config/internal/yaml_tree.h"
#include "config/option.h"
#include "config/suggestion.h"

namespace cdc::config {
namespace {

constexpr std::size_t kSecretBytesMax = 64UZ * 1024;

// Blocks of outputs in `sinks`.
constexpr std::array<std::string_view, 7> kSinkNames{
    "kafka", "nats", "sqs", "pubsub", "rabbitmq", "webhook", "vector"};

enum class Layer : std::uint8_t {
  kDefault,
  kFile,
  kEnvironment,
  kFlag
};

// Where the value of an option that was set last came from.
struct Origin {
  Layer layer = Layer::kDefault;
  std::string place;
};

// A wrong path is a fault of the configuration, not of the disk.
Error unreadable(int os_error) {
  Error error = make_os_error(os_error, "cannot be read");
  error.code = Errc::kConfigInvalid;
  return error;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return fail(unreadable(errno));
  }
  const UniqueFd file(descriptor);
  struct stat info{};
  if (::fstat(file.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return fail(unreadable(EISDIR));
  }
  std::string text;
  std::array<char, 16'384> buffer{};
  while (text.size() <= bytes_max) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) {
      return text;
    }
    if (got < 0 && errno != EINTR) {
      return fail(unreadable(errno));
    }
    text.append(buffer.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  }
  return fail(Errc::kConfigInvalid, cdc::format("is larger than {} bytes", bytes_max));
}

// Whether a block of a later version asks for it, in the words of each block.
bool block_is_off(std::string_view path, const YamlNode& node) {
  if (node.is_empty()) {
    return true;
  }
  if (node.kind != YamlNode::Kind::kMap) {
    return false;
  }
  const auto find = [&](std::string_view key) {
    const auto found = std::ranges::find_if(
        node.entries, [&](const YamlNode::Entry& entry) { return entry.key == key; });
    return found == node.entries.end() ? nullptr : &found->value;
  };
  if (path == "mcp") {
    const YamlNode* enabled = find("enabled");
    return enabled == nullptr || enabled->is_empty() || enabled->text == "false";
  }
  if (path == "enrichment") {
    const YamlNode* url = find("url");
    const YamlNode* tables = find("tables");
    return url == nullptr || url->is_empty() || tables == nullptr || tables->is_empty();
  }
  return false;
}

class Loader {
 public:
  explicit Loader(const LoadInputs& inputs) : inputs_(inputs) {}

  void apply_defaults() {
    for (const OptionSpec& option : options()) {
      if (option.default_text.empty()) {
        continue;
      }
      const auto value = parse_option(option, option.default_text);
      CDC_ASSERT(value.has_value());
      option.store(loaded_.config, *value);
    }
  }

  // False when the text is no YAML map, so that nothing is known of what it was to say.
  bool apply_file(std::string_view text, std::string_view name) {
    const YamlNode root = read_yaml(name, text, loaded_.faults);
    const FileView file{.name = name, .environment = inputs_.environment, .faults = loaded_.faults};
    if (root.is_null()) {
      return loaded_.faults.empty();
    }
    if (root.kind != YamlNode::Kind::kMap) {
      file.add_fault(
          root, {}, make_error(Errc::kConfigInvalid, "the file must be a map of keys to values"));
      return false;
    }
    apply_section(root, {}, file);
    return true;
  }

  void apply_environment() {
    for (const OptionSpec& option : options()) {
      if (!option.in_environment()) {
        continue;
      }
      const std::string name = environment_name(option);
      const auto found = inputs_.environment.find(name);
      if (found == inputs_.environment.end() || found->second.empty()) {
        continue;
      }
      // Kubernetes gives every container KAPTANTO_PORT=tcp://... when a service is called kaptanto.
      if (option.path == "port" && found->second.starts_with("tcp://")) {
        continue;
      }
      apply_text(option, found->second, {.layer = Layer::kEnvironment, .place = name});
    }
  }

  void apply_flags() {
    for (const auto& [flag, values] : inputs_.flags) {
      const Origin origin{.layer = Layer::kFlag, .place = "--" + flag};
      const std::string_view name = flag;
      const auto option = std::ranges::find_if(
          options(), [&](const OptionSpec& known) { return !name.empty() && known.flag == name; });
      if (option == options().end()) {
        add_fault(origin.place, {}, make_error(Errc::kInvalidArgument, "unknown flag"));
        continue;
      }
      if (option->kind == OptionKind::kList || option->kind == OptionKind::kTables) {
        std::vector<std::string> items;
        for (const std::string& value : values) {
          std::ranges::move(split_list(value), std::back_inserter(items));
        }
        apply_value(*option, parse_option_list(*option, std::move(items)), origin);
      } else if (!values.empty()) {
        apply_flag_text(*option, values.back(), origin);
      }
    }
  }

  void check_whole() {
    if (!resolve_source() && !inputs_.file) {
      return;  // a command without anything: what it lacks first is enough to say
    }
    resolve_token();
    const Config& config = loaded_.config;
    check_listener(config);
    if (config.tables.empty() && !config.all_tables && !failed_.contains("tables")) {
      add_fault({},
                "tables",
                make_error(Errc::kConfigInvalid,
                           "no table is named",
                           "name some with --tables or the key tables, or ask for every table with "
                           "--all-tables"));
    }
    if (config.postgres.publication_existing && config.postgres.publication.empty()) {
      add_fault(place_of_option("postgres.publication-mode"),
                "postgres.publication",
                make_error(Errc::kConfigInvalid,
                           "an existing publication has no name",
                           "set postgres.publication"));
    }
    if (config.journal.bytes_max < 2 * config.journal.segment_bytes) {
      add_fault(place_of_option("journal.max-bytes"),
                "journal.max-bytes",
                make_error(Errc::kConfigInvalid, "must be at least twice journal.segment-bytes"));
    }
  }

  void add_fault(std::string place, std::string key, Error error) {
    loaded_.faults.push_back({.place = std::move(place),
                              .key = std::move(key),
                              .message = std::move(error.message),
                              .hint = std::move(error.hint),
                              .code = error.code});
  }

  Loaded take() { return std::move(loaded_); }

 private:
  void apply_section(const YamlNode& section, const std::string& prefix, const FileView& file) {
    for (const YamlNode::Entry& entry : section.entries) {
      const std::string path = prefix + entry.key;
      if (const OptionSpec* option = find_option(path)) {
        apply_node(*option, entry, file);
      } else if (prefix.empty() && is_section(path)) {
        apply_subsection(entry, path, file);
      } else {
        file.faults.push_back({.place = place_of(file.name, entry.line, entry.column),
                               .key = path,
                               .message = "unknown key",
                               .hint = suggest_key(entry.key, prefix)});
      }
    }
  }

  void apply_subsection(const YamlNode::Entry& entry,
                        const std::string& path,
                        const FileView& file) {
    if (entry.value.kind == YamlNode::Kind::kMap) {
      apply_section(entry.value, path + ".", file);
    } else if (!entry.value.is_null()) {
      file.add_fault(
          entry.value, path, make_error(Errc::kConfigInvalid, "must be a map of keys to values"));
    }
  }

  static bool is_section(const std::string& path) {
    return std::ranges::any_of(options(), [&](const OptionSpec& option) {
      return option.path.starts_with(path) && option.path.substr(path.size()).starts_with('.');
    });
  }

  // A near key of the same section; else the full path of one that lives in another.
  static std::string suggest_key(std::string_view key, std::string_view prefix) {
    std::vector<std::string_view> siblings;
    for (const OptionSpec& option : options()) {
      if (option.path.starts_with(prefix)) {
        const std::string_view rest = option.path.substr(prefix.size());
        siblings.push_back(rest.substr(0, rest.find('.')));
      }
    }
    for (const OptionSpec& option : options()) {
      const std::size_t dot = option.path.rfind('.');
      if (option.path.substr(dot == std::string_view::npos ? 0 : dot + 1) == key) {
        return cdc::format("did you mean \"{}\"?", option.path);
      }
    }
    return did_you_mean(key, siblings);
  }

  void apply_node(const OptionSpec& option, const YamlNode::Entry& entry, const FileView& file) {
    const YamlNode& node = entry.value;
    const Origin origin{.layer = Layer::kFile,
                        .place = place_of(file.name, node.line, node.column)};
    if (option.kind == OptionKind::kTables) {
      const std::size_t faults_before = loaded_.faults.size();
      loaded_.config.tables = read_tables(node, file);
      if (loaded_.faults.size() > faults_before) {
        failed_.insert(option.path);
      }
      return;
    }
    if (option.kind == OptionKind::kBlock) {
      apply_block(option, entry, file);
      return;
    }
    if (node.is_empty()) {
      return;  // as if it were not given, so that the default applies
    }
    if (option.kind == OptionKind::kList && node.kind != YamlNode::Kind::kScalar) {
      apply_value(option, parse_option_list(option, file.expand_list(node, option.path)), origin);
      return;
    }
    const auto text = file.expand(node, option.path);
    if (!text) {
      failed_.insert(option.path);
      return;
    }
    if (text->empty()) {
      return;
    }
    // An expanded value may be a secret that stands where it does not belong: it is not shown.
    if (*text != node.text && !parse_option(option, *text)) {
      apply_value(option, parse_option(hidden(option), *text), origin);
      return;
    }
    apply_text(option, *text, origin);
  }

  static OptionSpec hidden(OptionSpec option) {
    option.is_secret = true;
    return option;
  }

  void apply_block(const OptionSpec& option, const YamlNode::Entry& entry, const FileView& file) {
    if (option.support == Support::kLater) {
      if (!block_is_off(option.path, entry.value)) {
        add_fault(place_of(file.name, entry.line, entry.column),
                  std::string(option.path),
                  make_error(Errc::kUnsupported, "is not in this version", "remove it"));
      }
      return;
    }
    for (const YamlNode::Entry& sink : entry.value.entries) {
      if (std::ranges::find(kSinkNames, sink.key) == kSinkNames.end()) {
        file.faults.push_back({.place = place_of(file.name, sink.line, sink.column),
                               .key = cdc::format("{}.{}", option.path, sink.key),
                               .message = "unknown key",
                               .hint = did_you_mean(sink.key, kSinkNames)});
      }
    }
  }

  // An empty flag takes back what file and environment say, where nothing is a value at all.
  void apply_flag_text(const OptionSpec& option, const std::string& text, const Origin& origin) {
    if (text.empty() && !option.default_text.empty()) {
      add_fault(
          origin.place,
          {},
          make_error(Errc::kConfigInvalid,
                     "the value is empty",
                     cdc::format("leave the flag out for the default, {}", option.default_text)));
      return;
    }
    if (!text.empty() || option.kind == OptionKind::kText || option.kind == OptionKind::kPath) {
      apply_text(option, text, origin);
    }
  }

  void apply_text(const OptionSpec& option, const std::string& text, const Origin& origin) {
    if (option.path == "source-file") {
      source_file_ = text;
    } else if (option.path == "auth-token-file") {
      token_file_ = text;
    }
    apply_value(option, parse_option(option, text), origin);
  }

  void apply_value(const OptionSpec& option, Result<OptionValue> value, const Origin& origin) {
    if (!value) {
      failed_.insert(option.path);
      const bool is_in_file = origin.layer == Layer::kFile;
      add_fault(origin.place, is_in_file ? std::string(option.path) : std::string(), value.error());
      return;
    }
    origins_[option.path] = origin;
    if (option.kind == OptionKind::kTables) {
      // The rules of the file stay known, so that a flag may take up what the environment dropped.
      if (!file_rules_) {
        file_rules_ = loaded_.config.tables;
      }
      loaded_.config.tables = select_tables(
          std::get<std::vector<std::string>>(*value), *file_rules_, origin.place, loaded_.faults);
      return;
    }
    option.store(loaded_.config, *value);
  }

  [[nodiscard]] Origin origin_of(std::string_view path) const {
    const auto found = origins_.find(path);
    return found == origins_.end() ? Origin{} : found->second;
  }

  [[nodiscard]] std::string place_of_option(std::string_view path) const {
    return origin_of(path).place;
  }

  // Settles between `source` and `source-file`: the higher layer wins, the same layer is a fault.
  // False when neither is given.
  bool resolve_source() {
    const bool has_text = !loaded_.config.source.empty();
    const bool has_file = !source_file_.empty();
    const Origin text = origin_of("source");
    const Origin file = origin_of("source-file");
    if (has_text && has_file && text.layer == file.layer) {
      add_fault(file.place,
                "source-file",
                make_error(Errc::kConfigInvalid, "source is given as well", "keep one of the two"));
      return true;
    }
    if (has_file && file.layer > text.layer) {
      read_source_file(file);
      return true;
    }
    if (has_text || failed_.contains("source") || failed_.contains("source-file")) {
      return true;
    }
    add_fault({},
              "source",
              inputs_.file ? make_error(Errc::kConfigInvalid,
                                        "no database is named",
                                        "set source or source-file, or use --source")
                           : make_error(Errc::kConfigInvalid,
                                        "--source or --config is required",
                                        "for example --source postgres://user@localhost/database"));
    return false;
  }

  void read_source_file(const Origin& origin) {
    auto text = read_secret_file(source_file_, *find_option("source"));
    if (text) {
      loaded_.config.source = std::move(*text);
    } else {
      add_fault(origin.place,
                origin.layer == Layer::kFile ? "source-file" : "",
                with_context(std::move(text.error()), source_file_));
    }
  }

  // The text of the file without white space at its end, fit for `option`.
  static Result<std::string> read_secret_file(const std::string& path, const OptionSpec& option) {
    CDC_ASSIGN(std::string text, read_file(path, kSecretBytesMax));
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') {
      text.pop_back();
    }
    if (text.empty()) {
      return fail(Errc::kConfigInvalid, "is empty");
    }
    CDC_TRY(option.check(OptionValue{text}));
    return text;
  }

  // Between `auth-token` and `auth-token-file`, as for the source.
  void resolve_token() {
    const bool has_text = !loaded_.config.auth_token.empty();
    const Origin text = origin_of("auth-token");
    const Origin file = origin_of("auth-token-file");
    if (token_file_.empty() || (has_text && text.layer > file.layer)) {
      return;
    }
    const std::string key = file.layer == Layer::kFile ? "auth-token-file" : "";
    if (has_text && text.layer == file.layer) {
      add_fault(
          file.place,
          key,
          make_error(Errc::kConfigInvalid, "auth-token is given as well", "keep one of the two"));
      return;
    }
    auto token = read_secret_file(token_file_, *find_option("auth-token"));
    if (token) {
      loaded_.config.auth_token = std::move(*token);
    } else {
      failed_.insert("auth-token");
      add_fault(file.place, key, with_context(std::move(token.error()), token_file_));
    }
  }

  // Nobody may read everything who merely reaches the port.
  void check_listener(const Config& config) {
    const bool is_loopback = config.address == "::1" || config.address.starts_with("127.");
    const bool is_guarded = !config.auth_token.empty() || failed_.contains("auth-token");
    if (config.output == Output::kSse && !is_loopback && !is_guarded && !config.insecure) {
      const Origin origin = origin_of("address");
      add_fault(origin.place,
                origin.layer == Layer::kFile ? "address" : "",
                make_error(Errc::kConfigInvalid,
                           cdc::format("{} can be reached from elsewhere, and there is no token",
                                       config.address),
                           "set auth-token or auth-token-file, or set insecure to let everybody "
                           "read"));
    }
  }

  const LoadInputs& inputs_;
  Loaded loaded_;
  std::map<std::string_view, Origin> origins_;
  std::set<std::string_view> failed_;  // options with a fault, so that absence is no second one
  std::optional<std::vector<TableRule>> file_rules_;
  std::string source_file_;
  std::string token_file_;
};

}  // namespace

Loaded load(const LoadInputs& inputs) {
  if (!inputs.file) {
    return load_text({}, inputs, {});
  }
  const auto text = read_file(*inputs.file, kYamlBytesMax);
  if (text) {
    return load_text(*text, inputs, inputs.file->string());
  }
  // Flags and environment are still checked, so that one run tells of all faults; what the file may
  // have held is not guessed at.
  Loader loader(inputs);
  loader.apply_defaults();
  loader.add_fault(inputs.file->string(), {}, text.error());
  loader.apply_environment();
  loader.apply_flags();
  return loader.take();
}

Loaded load_text(std::string_view text, const LoadInputs& inputs, std::string_view name) {
  Loader loader(inputs);
  loader.apply_defaults();
  const bool is_known = loader.apply_file(text, name);
  loader.apply_environment();
  loader.apply_flags();
  if (is_known) {
    loader.check_whole();
  }
  return loader.take();
}

}  // namespace cdc::config
