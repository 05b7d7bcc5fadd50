#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/format.h"
#include "base/result.h"
#include "journal/journal.h"
#include "journal/reader.h"
#include "model/event_batch.h"

// What the tests of the journal share: events that can be told apart, and short ways to write and
// read them.
namespace cdc::journal {

// The value, or a failed test with the error's text.
template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().to_string());
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(result).value();
  }
}

struct TestEvent {
  std::string table = "public.orders";
  Position position;
  std::string line;

  bool operator==(const TestEvent&) const = default;
};

// An event whose line names its position and is `size` bytes long or a little more.
inline TestEvent make_event(std::uint64_t commit, std::uint64_t index, std::size_t size = 0) {
  std::string line = format(R"({{"commit":{},"index":{},"fill":")", commit, index);
  line.append(size > line.size() + 3 ? size - line.size() - 3 : 0, 'x');
  line += "\"}\n";
  return {.table = commit % 2 == 0 ? "public.orders" : "sales.\xC3\xA4 \"b\"",
          .position = {Lsn{commit}, index},
          .line = std::move(line)};
}

inline std::uint32_t table_index(model::EventBatch& batch, const std::string& name) {
  const auto found = std::ranges::find(batch.tables(), name);
  return found == batch.tables().end() ? batch.add_table(name)
                                       : static_cast<std::uint32_t>(found - batch.tables().begin());
}

inline void add(model::EventBatch& batch, const TestEvent& event) {
  batch.text().append(event.line);
  batch.add_event({.table = table_index(batch, event.table),
                   .operation = model::Operation::kUpdate,
                   .key_hash = event.position.commit.value * 31,
                   .old_key_hash = event.position.index,
                   .commit_lsn = event.position.commit.value,
                   .index = event.position.index});
}

// One transaction of `count` events.
inline std::vector<TestEvent> make_transaction(std::uint64_t commit,
                                               std::size_t count,
                                               std::size_t size = 0) {
  std::vector<TestEvent> events;
  events.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    events.push_back(make_event(commit, i, size));
  }
  return events;
}

inline model::EventBatch whole_batch(const std::vector<TestEvent>& events) {
  model::EventBatch batch;
  for (const TestEvent& event : events) {
    add(batch, event);
  }
  batch.mark_boundary(events.back().position.commit);
  return batch;
}

inline model::EventBatch part_batch(const std::vector<TestEvent>& events, bool continues) {
  model::EventBatch batch;
  batch.reset(continues, 0);
  for (const TestEvent& event : events) {
    add(batch, event);
  }
  return batch;
}

inline model::EventBatch last_part_batch(const std::vector<TestEvent>& events, Lsn acknowledge) {
  model::EventBatch batch = part_batch(events, true);
  batch.mark_boundary(acknowledge);
  return batch;
}

inline model::EventBatch position_batch(Lsn acknowledge) {
  model::EventBatch batch;
  batch.mark_boundary(acknowledge);
  return batch;
}

// The events of a view, checked for their sequence numbers.
inline void collect(const FrameView& view, std::vector<TestEvent>& out) {
  for (std::size_t i = 0; i < view.events.size(); ++i) {
    out.push_back({.table = std::string(view.tables.at(view.events[i].table)),
                   .position = view.events[i].position(),
                   .line = std::string(view.line(i))});
  }
}

// Everything from `from` to the durable end.
inline std::vector<TestEvent> read_all(Journal& journal, Sequence from = {1}) {
  Reader reader(journal.segment_list(), from);
  std::vector<TestEvent> events;
  const Sequence limit{journal.durable_sequence().load()};
  Sequence expected = from.value <= 1 ? reader.oldest() : from;
  while (const auto view = must(reader.next(limit))) {
    if (view->first != expected) {
      throw std::runtime_error(
          format("frame begins at {}, not {}", view->first.value, expected.value));
    }
    collect(*view, events);
    expected.value += view->events.size();
  }
  return events;
}

// A directory that disappears with the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no temporary directory");
    }
    path_ = pattern;
  }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cdc::journal
