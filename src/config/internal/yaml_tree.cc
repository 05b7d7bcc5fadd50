#include "config/internal/yaml_tree.h"

#include <exception>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/format.h"

namespace cdc::config {
namespace {

struct Place {
  std::size_t line = 0;
  std::size_t column = 0;
};

Place place_at(const YAML::Mark& mark) noexcept {
  if (mark.is_null()) {
    return {};
  }
  return {.line = static_cast<std::size_t>(mark.line) + 1,
          .column = static_cast<std::size_t>(mark.column) + 1};
}

// The library's message, without the piece of the file that one of them repeats: an unquoted
// password that begins with * is an unknown anchor.
std::string message_of(const YAML::Exception& exception) {
  constexpr std::string_view kUnknownAnchor = "the referenced anchor is not defined";
  if (exception.msg.starts_with(kUnknownAnchor)) {
    return std::string(kUnknownAnchor) + "; put a text that begins with * in quotes";
  }
  return exception.msg;
}

// Builds the tree from the parser's events. The library's own tree would lose keys given twice, and
// its loader does not end on some malformed files.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view file, std::vector<Fault>& faults) : file_(file), faults_(faults) {}

  // The document; null after a fault that leaves nothing to read.
  [[nodiscard]] YamlNode take() { return gave_up_ ? YamlNode{} : std::move(root_); }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    complete(node_at(YamlNode::Kind::kNull, mark), anchor, 1);
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& /*tag*/,
                YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = node_at(YamlNode::Kind::kScalar, mark);
    node.text = value;
    complete(std::move(node), anchor, 1);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      give_up(place_at(mark), "an alias stands inside what it refers to");
      return;
    }
    // Counted before it is copied, because aliases of aliases make a small file large.
    if (count(found->second.nodes, place_at(mark))) {
      complete(YamlNode(found->second.node), YAML::NullAnchor, 0);
    }
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& /*tag*/,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kSequence, mark, anchor);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& /*tag*/,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(YamlNode::Kind::kMap, mark, anchor);
  }

  void OnMapEnd() override { close(); }

 private:
  // A sequence or map that is not complete yet.
  struct Frame {
    YamlNode node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    std::size_t nodes_before = 0;
    std::set<std::string, std::less<>> seen = {};  // keys
    std::optional<YamlNode::Entry> pending = std::nullopt;
    bool drops_value = false;  // of a key that was at fault
  };

  struct Anchored {
    YamlNode node;
    std::size_t nodes = 0;
  };

  static YamlNode node_at(YamlNode::Kind kind, const YAML::Mark& mark) {
    const Place place = place_at(mark);
    YamlNode node;
    node.kind = kind;
    node.line = place.line;
    node.column = place.column;
    return node;
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (gave_up_ || !count(1, place_at(mark))) {
      return;
    }
    if (frames_.size() == kYamlDepthMax) {
      give_up(place_at(mark), cdc::format("nests deeper than {} levels", kYamlDepthMax));
      return;
    }
    frames_.push_back({.node = node_at(kind, mark), .anchor = anchor, .nodes_before = nodes_ - 1});
  }

  void close() {
    if (gave_up_) {
      return;
    }
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const std::size_t nodes = nodes_ - frame.nodes_before;
    remember(frame.anchor, frame.node, nodes);
    if (!gave_up_) {
      attach(std::move(frame.node));
    }
  }

  // A node without parts, or a copy, of which `nodes` were not counted yet.
  void complete(YamlNode node, YAML::anchor_t anchor, std::size_t nodes) {
    if (gave_up_ || !count(nodes, {.line = node.line, .column = node.column})) {
      return;
    }
    remember(anchor, node, nodes);
    attach(std::move(node));
  }

  void remember(YAML::anchor_t anchor, const YamlNode& node, std::size_t nodes) {
    if (anchor != YAML::NullAnchor && count(nodes, {.line = node.line, .column = node.column})) {
      anchors_[anchor] = {.node = node, .nodes = nodes};
    }
  }

  // Puts a whole node into the collection it belongs to.
  void attach(YamlNode node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == YamlNode::Kind::kSequence) {
      frame.node.items.push_back(std::move(node));
    } else if (frame.drops_value) {
      frame.drops_value = false;
    } else if (frame.pending) {
      frame.pending->value = std::move(node);
      frame.node.entries.push_back(std::move(*frame.pending));
      frame.pending.reset();
    } else {
      take_key(frame, std::move(node));
    }
  }

  void take_key(Frame& frame, YamlNode node) {
    const Place place{.line = node.line, .column = node.column};
    if (node.kind != YamlNode::Kind::kScalar) {
      add_fault(place, path(), "a key is not a text");
      frame.drops_value = true;
      return;
    }
    frame.pending = {
        .key = std::move(node.text), .line = place.line, .column = place.column, .value = {}};
    if (!frame.seen.insert(frame.pending->key).second) {
      add_fault(place, path(), "this key is given twice", "keep one of them");
      frame.pending.reset();
      frame.drops_value = true;
    }
  }

  [[nodiscard]] std::string path() const {
    std::string path;
    for (const Frame& frame : frames_) {
      if (frame.pending) {
        path += path.empty() ? "" : ".";
        path += frame.pending->key;
      }
    }
    return path;
  }

  // Adds to the number of nodes; false, with a fault, above the bound.
  bool count(std::size_t nodes, Place place) {
    nodes_ += nodes;
    if (nodes_ > kYamlNodesMax && !gave_up_) {
      give_up(place, cdc::format("holds more than {} values", kYamlNodesMax));
    }
    return !gave_up_;
  }

  void give_up(Place place, std::string message) {
    if (!gave_up_) {
      gave_up_ = true;
      add_fault(place, path(), std::move(message));
    }
  }

  void add_fault(Place place, std::string key, std::string message, std::string hint = {}) {
    faults_.push_back({.place = place_of(file_, place.line, place.column),
                       .key = std::move(key),
                       .message = std::move(message),
                       .hint = std::move(hint)});
  }

  std::string_view file_;
  std::vector<Fault>& faults_;
  YamlNode root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t nodes_ = 0;
  bool gave_up_ = false;
};

// Notices whether there is a second document, and where.
class DocumentProbe final : public YAML::EventHandler {
 public:
  [[nodiscard]] Place place() const noexcept { return place_; }

  void OnDocumentStart(const YAML::Mark& mark) override { place_ = place_at(mark); }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}

  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}

  void OnScalar(const YAML::Mark&,
                const std::string&,
                YAML::anchor_t,
                const std::string&) override {}

  void OnSequenceStart(const YAML::Mark&,
                       const std::string&,
                       YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}

  void OnSequenceEnd() override {}

  void OnMapStart(const YAML::Mark&,
                  const std::string&,
                  YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}

  void OnMapEnd() override {}

 private:
  Place place_;
};

}  // namespace

std::string place_of(std::string_view file, std::size_t line, std::size_t column) {
  return line == 0 ? std::string(file) : cdc::format("{}:{}:{}", file, line, column);
}

YamlNode read_yaml(std::string_view file, std::string_view text, std::vector<Fault>& faults) {
  const auto add_fault = [&](Place place, std::string message, std::string hint = {}) {
    faults.push_back({.place = place_of(file, place.line, place.column),
                      .key = {},
                      .message = std::move(message),
                      .hint = std::move(hint)});
  };
  if (text.size() > kYamlBytesMax) {
    add_fault({}, cdc::format("the file is larger than {} bytes", kYamlBytesMax));
    return {};
  }
  if (text.contains('\0')) {
    add_fault({}, "the file holds a NUL byte, so it is not a text");
    return {};
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(file, faults);
    parser.HandleNextDocument(builder);
    DocumentProbe probe;
    if (parser.HandleNextDocument(probe)) {
      add_fault(probe.place(),
                "a second document begins here, or text that belongs to no key",
                "keep one document, and remove lines that are only ---");
      return {};
    }
    return builder.take();
  } catch (const YAML::Exception& exception) {
    const bool is_reference = exception.msg.contains("flow") && text.contains("${");
    add_fault(place_at(exception.mark),
              "not valid YAML: " + message_of(exception),
              is_reference ? "put ${...} in quotes inside { } and [ ]" : "");
  } catch (const std::exception& exception) {
    add_fault({}, std::string("cannot be read as YAML: ") + exception.what());
  }
  return {};
}

}  // namespace cdc::config
