#include "base/format.h"
#include "json/escape.h"
#include "postgres/snapshot_reader.h"

namespace cdc::postgres {

namespace {

void encode_fact(const SnapshotFacts& facts,
                 std::string_view type,
                 Lsn place,
                 const std::string& members,
                 model::EventBatch& batch) {
  EventEncoder encoder{facts.source_id};
  encoder.begin_transaction(
      TransactionInfo{.commit_lsn = place, .commit_time = facts.time, .id_time = facts.time});
  const std::string name = facts.table.empty()
                               ? format("{}:{}:{}:", facts.source_id, type, facts.snapshot_id)
                               : format("{}:{}.{}:{}:{}:",
                                        facts.source_id,
                                        facts.schema,
                                        facts.table,
                                        type,
                                        facts.snapshot_id);
  const std::string escaped = json::quote(name);
  encoder.encode_control(ControlFact{.schema = facts.schema,
                                     .table = facts.table,
                                     .name_prefix = escaped.substr(1, escaped.size() - 2),
                                     .members = format(R"("control_type":"{}","snapshot_id":{}{})",
                                                       type,
                                                       json::quote(facts.snapshot_id),
                                                       members)},
                         batch);
}

}  // namespace

void encode_snapshot_started(const SnapshotFacts& facts, model::EventBatch& batch) {
  encode_fact(facts, "snapshot_started", facts.from, "", batch);
}

void encode_snapshot_complete(const SnapshotFacts& facts, model::EventBatch& batch) {
  encode_fact(facts,
              "snapshot_complete",
              facts.to,
              format(R"(,"rows_read":{},"rows_emitted":{},"rows_dropped":{},)"
                     R"("from_lsn":"{}","to_lsn":"{}")",
                     facts.rows_read,
                     facts.rows_emitted,
                     facts.rows_dropped,
                     to_string(facts.from),
                     to_string(facts.to)),
              batch);
}

void encode_snapshot_all_complete(const SnapshotFacts& facts, model::EventBatch& batch) {
  encode_fact(facts, "snapshot_all_complete", facts.to, "", batch);
}

}  // namespace cdc::postgres
