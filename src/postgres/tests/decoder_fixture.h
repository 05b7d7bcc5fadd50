#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postgres/tests/message_builder.h"
#include "postgres/transaction_decoder.h"

namespace cdc::postgres::testing {

// Keeps shapes in memory; what a test needs of the store.
class MemoryCheckpoints final : public state::CheckpointStore {
 public:
  Result<std::optional<state::Checkpoint>> load(std::string_view) override { return std::nullopt; }

  Status save(std::string_view, const state::Checkpoint&) override { return {}; }

  Result<std::optional<state::TableShape>> load_shape(std::string_view,
                                                      std::string_view table) override {
    const auto found = shapes_.find(std::string(table));
    return found == shapes_.end() ? std::nullopt : std::optional(found->second);
  }

  Status save_shape(std::string_view,
                    std::string_view table,
                    const state::TableShape& shape) override {
    shapes_[std::string(table)] = shape;
    return {};
  }

 private:
  std::map<std::string, state::TableShape> shapes_;
};

// A decoder with everything around it, fed with messages; answers catalog questions from `catalog`.
class DecoderFixture : public ::testing::Test {
 protected:
  void start(config::Config config = {.all_tables = true}, Lsn done = {}) {
    config_ = std::move(config);
    rules_ = std::make_unique<TableRules>(TableRules::create(config_).value());
    types_ = std::make_unique<TypeCatalog>(config_.values);
    restart(done);
  }

  // A new process on the same state.
  void restart(Lsn done) {
    shapes_ = std::make_unique<ShapeHistory>(checkpoints_, config_.source_id);
    decoder_ = std::make_unique<TransactionDecoder>(TransactionDecoder::Parts{.config = config_,
                                                                              .rules = *rules_,
                                                                              .types = *types_,
                                                                              .shapes = *shapes_,
                                                                              .changes = changes_},
                                                    done);
    batch_.reset(false, 0);
    decoder_->begin_session({});
  }

  Status try_feed(std::string_view bytes) {
    auto progress = decoder_->decode(bytes, batch_);
    for (;;) {
      if (!progress) {
        return fail(progress.error());
      }
      if (*progress == TransactionDecoder::Progress::kNeedsTable) {
        const auto known = catalog_.find(decoder_->needed_table());
        decoder_->provide_table(known == catalog_.end() ? std::nullopt
                                                        : std::optional(known->second));
      }
      if (!decoder_->replaying()) {
        return {};
      }
      progress = decoder_->replay(batch_);
    }
  }

  void feed(const std::vector<std::string>& messages) {
    for (const std::string& bytes : messages) {
      const Status status = try_feed(bytes);
      ASSERT_TRUE(status.has_value()) << status.error().message;
    }
  }

  // Lines of whole transactions; the batch is handed on.
  std::vector<std::string> take() {
    std::vector<std::string> lines;
    for (const model::EventHeader& event : batch_.events()) {
      lines.emplace_back(batch_.text().view().substr(event.text_offset, event.text_size));
    }
    headers_ = batch_.events();
    const std::size_t tail = batch_.events().size() - batch_.boundary();
    batch_.reset(decoder_->handed_on(tail), 1U << 20U);
    return lines;
  }

  static std::string member(std::string_view line, std::string_view name) {
    const std::string tag = "\"" + std::string(name) + "\":";
    const auto at = line.find(tag);
    if (at == std::string_view::npos) {
      return "(none)";
    }
    std::size_t i = at + tag.size();
    int depth = 0;
    bool quoted = false;
    const std::size_t from = i;
    for (; i < line.size(); ++i) {
      const char c = line[i];
      if (quoted) {
        i += c == '\\' ? 1 : 0;
        quoted = c != '"';
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
        break;
      }
      quoted = c == '"';
      depth += (c == '{' || c == '[') ? 1 : (c == '}' || c == ']') ? -1 : 0;
    }
    return std::string(line.substr(from, i - from));
  }

  config::Config config_;
  MemoryCheckpoints checkpoints_;
  std::map<std::uint32_t, TableInfo> catalog_;
  std::unique_ptr<TableRules> rules_;
  std::unique_ptr<TypeCatalog> types_;
  std::unique_ptr<ShapeHistory> shapes_;
  RecentChanges changes_;
  std::unique_ptr<TransactionDecoder> decoder_;
  model::EventBatch batch_;
  std::vector<model::EventHeader> headers_;
};

inline const std::vector<TestColumn> kIdName = {{"id", 23, true}, {"name", 25, false}};

}  // namespace cdc::postgres::testing
