// Feeds arbitrary message sequences to the whole decoder: no input may crash it, leave a batch with
// a line that does not end, or break the batch's invariants.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "base/assert.h"
#include "postgres/transaction_decoder.h"

namespace {

using namespace cdc;  // NOLINT(google-build-using-namespace)

class NoCheckpoints final : public state::CheckpointStore {
 public:
  Result<std::optional<state::Checkpoint>> load(std::string_view) override { return std::nullopt; }

  Status save(std::string_view, const state::Checkpoint&) override { return {}; }

  Result<std::optional<state::TableShape>> load_shape(std::string_view, std::string_view) override {
    return std::nullopt;
  }

  Status save_shape(std::string_view, std::string_view, const state::TableShape&) override {
    return {};
  }
};

void check(const model::EventBatch& batch) {
  std::size_t end = 0;
  for (const model::EventHeader& event : batch.events()) {
    CDC_ASSERT(event.text_offset == end && event.text_size > 0);
    end += event.text_size;
    CDC_ASSERT(batch.text().view()[end - 1] == '\n');
  }
  CDC_ASSERT(end == batch.text().size());
}

}  // namespace

// Input: messages, each behind a 16-bit little-endian length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static NoCheckpoints checkpoints;
  config::Config config;
  config.all_tables = true;
  config.postgres.message_prefixes = {"*"};
  const auto rules = postgres::TableRules::create(config).value();
  postgres::TypeCatalog types{config.values};
  postgres::ShapeHistory shapes{checkpoints, "default"};
  postgres::RecentChanges changes;
  postgres::TransactionDecoder decoder{
      {.config = config, .rules = rules, .types = types, .shapes = shapes, .changes = changes},
      Lsn{}};
  decoder.begin_session({});
  model::EventBatch batch;
  std::string_view left{reinterpret_cast<const char*>(data), size};
  while (left.size() >= 2) {
    const std::size_t length =
        static_cast<unsigned char>(left[0]) + 256U * static_cast<unsigned char>(left[1]);
    const std::string_view message = left.substr(2, length);
    left.remove_prefix(2 + message.size());
    auto progress = decoder.decode(message, batch);
    while (progress) {
      if (*progress == postgres::TransactionDecoder::Progress::kNeedsTable) {
        decoder.provide_table(std::nullopt);
      }
      if (!decoder.replaying()) {
        break;
      }
      progress = decoder.replay(batch);
    }
    check(batch);
    if (!progress) {
      return 0;
    }
  }
  return 0;
}
