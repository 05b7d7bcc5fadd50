#include "snapshot/coordinator.h"

#include <algorithm>
#include <array>
#include <utility>

#include <poll.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/log.h"
#include "expr/table_pattern.h"

namespace cdc::snapshot {

using state::BackfillState;
using state::BackfillTable;

namespace {

// Rendered rows on their way: three chunks per worker, of which one is being read.
constexpr std::size_t kChunksPerWorker = 3;
constexpr std::size_t kBytesOut = 32U << 20U;
constexpr std::size_t kChunkBytesMin = 256U << 10U;
constexpr std::size_t kChunkBytesMax = 4U << 20U;
constexpr std::size_t kRequestsMax = 1'000;
constexpr std::chrono::seconds kRetryDelay{1};
constexpr std::chrono::milliseconds kRefusedDelay{10};

ChunkLimits limits_of(const config::Config& config) {
  const std::size_t chunks = kChunksPerWorker * config.snapshot.workers;
  return {.time = config.snapshot.chunk_time,
          .bytes = std::clamp(kBytesOut / chunks, kChunkBytesMin, kChunkBytesMax)};
}

bool is_over(BackfillState state) noexcept {
  return state != BackfillState::kPending && state != BackfillState::kRunning &&
         state != BackfillState::kPaused;
}

}  // namespace

Result<std::unique_ptr<Coordinator>> Coordinator::create(const config::Config& config,
                                                         state::BackfillStore& store,
                                                         Exchange& exchange,
                                                         Options options) {
  CDC_ASSIGN(auto rules, postgres::TableRules::create(config));
  CDC_ASSIGN(const auto tables, store.load_tables(config.source_id));
  std::unique_ptr<Coordinator> made(new Coordinator(config, store, exchange, std::move(options)));
  made->rules_ = std::make_shared<const postgres::TableRules>(std::move(rules));
  for (const BackfillTable& table : tables) {
    made->publish_record(table);
  }
  return made;
}

Coordinator::Coordinator(const config::Config& config,
                         state::BackfillStore& store,
                         Exchange& exchange,
                         Options options)
    : config_(config),
      store_(store),
      exchange_(exchange),
      options_(std::move(options)),
      limits_(limits_of(config)),
      done_(std::size_t{2} * config.snapshot.workers),
      requests_(kRequestsMax) {
  for (std::size_t i = 0; i < config.snapshot.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>(i, config_, done_));
    idle_.push_back(i);
  }
}

Coordinator::~Coordinator() {
  stop();
}

void Coordinator::start() {
  for (const auto& worker : workers_) {
    worker->start();
  }
  thread_.start("backfill", [this] { run(); });
}

void Coordinator::stop_reading() {
  reading_stop_.request();
  for (const auto& worker : workers_) {
    worker->request_stop();
  }
  for (const auto& worker : workers_) {
    worker->join();
  }
}

void Coordinator::stop() {
  stop_reading();
  stop_.request();
  thread_.join();
}

// ---- the thread ---------------------------------------------------------------------------------

void Coordinator::run() {
  reported_ = monotonic_now();
  for (;;) {
    const bool last = stop_.requested();
    if (Status status = round(); !status) {
      log::error("backfill: stopped", {{"error", status.error().to_string()}});
      if (options_.on_failure) {
        options_.on_failure(status.error());
      }
      return;
    }
    if (last) {
      return;
    }
    wait();
  }
}

Status Coordinator::round() {
  now_ = monotonic_now();
  for (FromStream& message : exchange_.from_stream.take_all()) {
    CDC_TRY(handle(message));
  }
  for (JobDone& done : done_.take_all()) {
    CDC_TRY(handle(done));
  }
  for (const Request& request : requests_.take_all()) {
    CDC_TRY(handle(request));
  }
  return reading_stop_.requested() ? Status{} : schedule();
}

// Until something comes in, or a table may be tried again. An idle coordinator sleeps for good.
void Coordinator::wait() {
  std::array<pollfd, 4> pollers{{{stop_.fd(), POLLIN, 0},
                                 {exchange_.from_stream.event().fd(), POLLIN, 0},
                                 {done_.event().fd(), POLLIN, 0},
                                 {requests_.event().fd(), POLLIN, 0}}};
  std::optional<MonotonicTime> next;
  for (const auto& [name, job] : jobs_) {
    if (job->retry_at > now_) {
      next = next ? std::min(*next, job->retry_at) : job->retry_at;
    }
  }
  int timeout = -1;
  if (next) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - monotonic_now());
    timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  ::poll(pollers.data(), pollers.size(), timeout);
}

void Coordinator::send(ToStream message) {
  const bool posted = exchange_.to_stream.post(std::move(message));
  CDC_ASSERT(posted);
}

// ---- from the stream ----------------------------------------------------------------------------

Status Coordinator::handle(FromStream& message) {
  if (auto* session = std::get_if<SessionBegins>(&message)) {
    return session_begins(*session);
  }
  if (const auto* watching = std::get_if<Watching>(&message)) {
    for (const auto& [name, job] : jobs_) {
      if (job->published().oid == watching->table && job->phase == TableJob::Phase::kWatching) {
        job->phase = TableJob::Phase::kDescribing;
      }
    }
    return {};
  }
  if (auto* done = std::get_if<Delivered>(&message)) {
    return delivered(*done);
  }
  if (const auto* answer = std::get_if<Moved>(&message)) {
    moved(*answer);
    return {};
  }
  refused(std::get<Refused>(message).ticket);
  return {};
}

// What this table's backfill should be at the start of a session; nothing: as it is.
std::optional<BackfillTable> Coordinator::fresh_record(const postgres::PublishedTable& table,
                                                       bool gap) {
  const std::string name = table.name();
  const config::SnapshotMode mode = mode_of(table);
  MutexLock lock(mutex_);
  const auto known = records_.find(name);
  if (known == records_.end()) {
    return BackfillTable{.table = name,
                         .state = mode == config::SnapshotMode::kNever ? BackfillState::kSkipped
                                                                       : BackfillState::kPending,
                         .updated = unix_now()};
  }
  BackfillTable record = known->second;
  const bool wanted =
      record.state == BackfillState::kSkipped && mode != config::SnapshotMode::kNever;
  const bool always = !session_known_ && mode == config::SnapshotMode::kAlways &&
                      is_over(record.state) && record.state != BackfillState::kSkipped;
  // What people have stopped stays stopped.
  const bool missed = gap && record.state != BackfillState::kSkipped &&
                      record.state != BackfillState::kPaused &&
                      record.state != BackfillState::kCancelled;
  if (wanted || always || missed) {
    return BackfillTable{.table = name, .state = BackfillState::kPending, .updated = unix_now()};
  }
  if (!session_known_ && record.state == BackfillState::kFailed) {
    // Whatever was wrong may have been mended since; what was read stays read.
    record.state = BackfillState::kRunning;
    record.reason_code.clear();
    record.reason.clear();
    return record;
  }
  return std::nullopt;
}

Status Coordinator::session_begins(SessionBegins& session) {
  publication_ = session.publication;
  std::vector<BackfillTable> changed;
  std::map<std::string, postgres::PublishedTable> published;
  for (postgres::PublishedTable& table : session.tables) {
    if (auto record = fresh_record(table, session.gap)) {
      changed.push_back(*std::move(record));
    }
    published.emplace(table.name(), std::move(table));
  }
  CDC_TRY(store_.save_tables(config_.source_id, changed));
  for (const BackfillTable& record : changed) {
    drop_job(record.table);  // with a gap, what it has read says nothing any more
    publish_record(record);
  }
  for (const auto& [name, table] : published) {
    const auto job = jobs_.find(name);
    if (job != jobs_.end() && job->second->published().oid != table.oid) {
      CDC_TRY(end(name, BackfillState::kPending));
    }
  }
  {
    MutexLock lock(mutex_);
    published_ = std::move(published);
    for (const auto& [name, table] : published_) {
      if (mode_of(table) == config::SnapshotMode::kInitialOnly) {
        send(Mute{.table = table.oid});
      }
    }
  }
  session_known_ = true;
  return fail_unpublished();
}

// A table that is wanted and cannot come any more says so.
Status Coordinator::fail_unpublished() {
  std::vector<BackfillTable> gone;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, record] : records_) {
      if (!is_over(record.state) && !published_.contains(name)) {
        gone.push_back(record);
      }
    }
  }
  for (BackfillTable& record : gone) {
    drop_job(record.table);
    record.state = BackfillState::kFailed;
    record.reason_code = name_of(Errc::kNotFound);
    record.reason = "the table is not published any more, or is not captured";
    record.updated = unix_now();
    CDC_TRY(put_record(record));
  }
  return {};
}

Status Coordinator::delivered(Delivered& delivered) {
  if (memory_.size() < kChunksPerWorker * workers_.size()) {
    memory_.push_back(std::move(delivered.memory));
  }
  if (delivered.ticket == all_done_ticket_) {
    all_done_ticket_ = 0;
    finish_process();
    return {};
  }
  TableJob* job = find_job(delivered.ticket);
  if (job == nullptr) {
    return {};
  }
  if (delivered.ticket == job->finishing_ticket) {
    const std::string table = job->record().table;
    log::info("backfill: table complete",
              {{"table", table},
               {"rows", job->record().rows_emitted},
               {"dropped", job->record().rows_dropped}});
    return end(table, BackfillState::kComplete);
  }
  if (!job->is_out(delivered.ticket)) {
    return {};  // the fact that it has started
  }
  tickets_.erase(delivered.ticket);
  return saved(*job, job->delivered(delivered));
}

// The last question about a table: did rows escape to a key that had been passed, by a change that
// does not have all their values?
void Coordinator::moved(const Moved& answer) {
  for (const auto& [name, job] : jobs_) {
    if (job->published().oid != answer.table || job->phase != TableJob::Phase::kAsking) {
      continue;
    }
    if (answer.keys || answer.all) {
      log::debug("backfill: reading moved rows again", {{"table", name}});
      job->repair(answer.all ? nullptr : answer.keys);
    } else {
      finish(*job);
    }
  }
}

void Coordinator::refused(std::uint64_t ticket) {
  if (TableJob* job = find_job(ticket)) {
    job->again(ticket);
    tickets_.erase(ticket);
    // A commit that waits for its synchronous standby stays invisible for a while.
    constexpr unsigned kDoublingsMax = 6;
    job->retry_at = now_ + kRefusedDelay * (1U << std::min(job->refusals++, kDoublingsMax));
  }
}

// ---- from the workers ---------------------------------------------------------------------------

Status Coordinator::handle(JobDone& done) {
  idle_.push_back(done.worker);
  TableJob* job = find_job(done.ticket);
  if (job == nullptr) {
    return {};  // of a table that was given up meanwhile
  }
  if (!done.outcome) {
    return job_failed(*job, done.ticket, done.outcome.error());
  }
  if (const auto* described_table = std::get_if<Described>(&*done.outcome)) {
    tickets_.erase(done.ticket);
    return described(*job, *described_table);
  }
  return chunk_read(*job, done.ticket, std::get<postgres::SnapshotChunk>(*std::move(done.outcome)));
}

Status Coordinator::described(TableJob& job, const Described& described) {
  if (!job.described(described, unix_now())) {
    CDC_TRY(put_record(job.record()));
    return finish_if_read(job);
  }
  CDC_TRY(store_.begin(config_.source_id, job.record(), job.ranges()));
  publish_record(job.record());
  log::info("backfill: table begins",
            {{"table", job.record().table},
             {"rows_estimated", job.record().rows_total},
             {"ranges", job.ranges().size()}});
  model::EventBatch fact;
  postgres::encode_snapshot_started(facts_of(job), fact);
  const std::uint64_t ticket = next_ticket_++;
  tickets_.emplace(ticket, job.record().table);
  offer_fact(ticket, std::move(fact));
  return finish_if_read(job);
}

Status Coordinator::chunk_read(TableJob& job, std::uint64_t ticket, postgres::SnapshotChunk chunk) {
  if (chunk.changed) {
    job.again(ticket);
    job.describe_again();
    tickets_.erase(ticket);
    return {};
  }
  job.read(ticket, chunk);
  if (chunk.rows.events().empty()) {
    tickets_.erase(ticket);
    Delivered nothing;
    nothing.ticket = ticket;
    return saved(job, job.delivered(nothing));
  }
  auto offer = std::make_unique<Offer>();
  offer->ticket = ticket;
  offer->table = job.published().oid;
  offer->whole_rows = job.description()->table.relation.row_hash_key;
  offer->only = job.only(ticket);
  offer->view = std::move(chunk.view);
  offer->rows = std::move(chunk.rows);
  offer->writers = std::move(chunk.writers);
  send(std::move(offer));
  return {};
}

Status Coordinator::job_failed(TableJob& job, std::uint64_t ticket, const Error& error) {
  const bool was_reading = job.is_out(ticket);
  tickets_.erase(ticket);
  job.again(ticket);
  job.description_failed();
  if (error.code == Errc::kClosed) {
    return {};
  }
  // What was read is a part, so there is a first one; only a partition is not the table itself.
  if (was_reading && error.code == Errc::kNotFound &&
      job.description()->table.parts.front().oid != job.published().oid) {
    job.describe_again();
    return {};
  }
  if (error.is_retryable()) {
    job.retry_at = now_ + kRetryDelay;
    log::warn("backfill: trying again",
              {{"table", job.record().table}, {"error", error.to_string()}});
    return {};
  }
  log::error("backfill: table failed",
             {{"table", job.record().table},
              {"code", name_of(error.code)},
              {"error", error.message},
              {"hint", error.hint}});
  job.record().reason_code = name_of(error.code);
  job.record().reason = error.to_string();
  const std::string table = job.record().table;
  return end(table, BackfillState::kFailed);
}

// ---- work ---------------------------------------------------------------------------------------

Status Coordinator::schedule() {
  if (!session_known_) {
    return {};
  }
  CDC_TRY(activate_pending());
  give_work();
  if (jobs_.empty() && worked_) {
    all_done();
  }
  return {};
}

// As many tables at a time as there are workers, those that wait to be tried again not counted:
// more would only keep more state about.
Status Coordinator::activate_pending() {
  std::vector<BackfillTable> chosen;
  bool nothing_to_do = true;
  const auto active = static_cast<std::size_t>(std::ranges::count_if(
      jobs_, [this](const auto& entry) { return entry.second->retry_at <= now_; }));
  {
    MutexLock lock(mutex_);
    for (const auto& [name, record] : records_) {
      const bool wanted =
          record.state == BackfillState::kPending || record.state == BackfillState::kRunning;
      nothing_to_do = nothing_to_do && !wanted;
      if (wanted && published_.contains(name) && !jobs_.contains(name) &&
          active + chosen.size() < workers_.size()) {
        chosen.push_back(record);
      }
    }
  }
  for (const BackfillTable& record : chosen) {
    CDC_TRY(activate(record));
  }
  // Asked for nothing but rows that were all read before.
  if (nothing_to_do && jobs_.empty() && !worked_ && all_done_ticket_ == 0) {
    finish_process();
  }
  return {};
}

Status Coordinator::activate(const BackfillTable& record) {
  auto rules = rules_for(record);
  if (!rules) {
    return cdc::fail(rules.error());
  }
  postgres::PublishedTable published;
  {
    MutexLock lock(mutex_);
    published = published_.at(record.table);
  }
  auto job = std::make_unique<TableJob>(record, published, *std::move(rules), limits_);
  if (record.state == BackfillState::kRunning) {
    CDC_ASSIGN(const auto ranges, store_.load_ranges(config_.source_id, record.table));
    job->resume_ranges(ranges);
  }
  worked_ = true;
  send(Watch{.table = published.oid});
  jobs_.emplace(record.table, std::move(job));
  return {};
}

void Coordinator::give_work() {
  while (!idle_.empty()) {
    auto job = next_job();
    if (!job) {
      return;
    }
    workers_[idle_.back()]->give(*std::move(job));
    idle_.pop_back();
  }
}

std::optional<Job> Coordinator::next_job() {
  std::size_t out = 0;
  for (const auto& [name, job] : jobs_) {
    out += job->out();
  }
  for (const auto& [name, job] : jobs_) {
    if (job->retry_at > now_) {
      continue;
    }
    if (job->wants_description()) {
      tickets_.emplace(next_ticket_, name);
      return job->describe(next_ticket_++, publication_);
    }
    if (out >= kChunksPerWorker * workers_.size()) {
      continue;
    }
    if (auto read = job->read_next(next_ticket_)) {
      tickets_.emplace(next_ticket_++, name);
      if (!memory_.empty()) {
        read->memory = std::move(memory_.back());
        memory_.pop_back();
      }
      return *std::move(read);
    }
  }
  return std::nullopt;
}

Status Coordinator::saved(TableJob& job, const RangeProgress* moved) {
  job.record().updated = unix_now();
  if (moved != nullptr) {
    CDC_TRY(store_.advance(config_.source_id, job.record(), moved->range()));
  }
  publish_record(job.record());
  if (const SharedView oldest = job.take_oldest_view()) {
    send(Prune{.table = job.published().oid, .oldest = *oldest});
  }
  report_progress();
  return finish_if_read(job);
}

void Coordinator::report_progress() {
  const MonotonicTime now = monotonic_now();
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - reported_);
  if (!options_.on_progress || elapsed < options_.progress_interval) {
    return;
  }
  reported_ = now;
  for (const auto& [name, job] : jobs_) {
    const BackfillTable& record = std::as_const(*job).record();
    const std::uint64_t before = std::exchange(reported_rows_[name], record.rows_read);
    Progress progress{.table = name, .rows = record.rows_read, .rows_total = record.rows_total};
    if (record.rows_read > before) {
      progress.rows_per_second =
          (record.rows_read - before) * 1'000 / static_cast<std::uint64_t>(elapsed.count());
    }
    const std::int64_t left = record.rows_total - static_cast<std::int64_t>(record.rows_read);
    if (left >= 0 && progress.rows_per_second > 0) {
      progress.seconds_left = left / static_cast<std::int64_t>(progress.rows_per_second);
    }
    options_.on_progress(progress);
  }
}

Status Coordinator::finish_if_read(TableJob& job) {
  if (job.phase != TableJob::Phase::kReading || !job.all_read()) {
    return {};
  }
  job.phase = TableJob::Phase::kAsking;
  send(AskMoved{.table = job.published().oid});
  return {};
}

void Coordinator::finish(TableJob& job) {
  job.phase = TableJob::Phase::kFinishing;
  job.record().finished = unix_now();
  model::EventBatch fact;
  postgres::encode_snapshot_complete(facts_of(job), fact);
  const std::uint64_t ticket = next_ticket_++;
  tickets_.emplace(ticket, job.record().table);
  job.finishing_ticket = ticket;
  offer_fact(ticket, std::move(fact));
}

// Takes the table off the list of those that are worked on.
Status Coordinator::end(const std::string& table, BackfillState state) {
  const auto found = jobs_.find(table);
  BackfillTable record = found->second->record();
  record.state = state;
  record.updated = unix_now();
  drop_job(table);
  return put_record(record);
}

void Coordinator::drop_job(const std::string& table) {
  const auto found = jobs_.find(table);
  if (found == jobs_.end()) {
    return;
  }
  send(Forget{.table = found->second->published().oid});
  jobs_.erase(found);
  reported_rows_.erase(table);
  std::erase_if(tickets_, [&table](const auto& entry) { return entry.second == table; });
}

// Every table that was wanted has been read, or has failed.
void Coordinator::all_done() {
  bool left = false;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, record] : records_) {
      left = left || (!is_over(record.state) && published_.contains(name));
    }
  }
  if (left) {
    return;
  }
  worked_ = false;
  memory_.clear();
  if (const std::size_t failed = failed_tables(); failed > 0) {
    log::warn("backfill: over, but tables failed; see `kaptanto backfill status`",
              {{"tables", failed}});
    finish_process();
    return;
  }
  const UnixMicros now = unix_now();
  model::EventBatch fact;
  postgres::encode_snapshot_all_complete(
      {.source_id = config_.source_id,
       .snapshot_id = format("{}_all_{}", config_.source_id, now.value),
       .time = now},
      fact);
  all_done_ticket_ = next_ticket_++;
  offer_fact(all_done_ticket_, std::move(fact));
}

std::size_t Coordinator::failed_tables() const {
  MutexLock lock(mutex_);
  return static_cast<std::size_t>(std::ranges::count_if(
      records_, [](const auto& entry) { return entry.second.state == BackfillState::kFailed; }));
}

// Mode `initial_only`: there is nothing to stay for.
void Coordinator::finish_process() {
  if (config_.snapshot.mode == config::SnapshotMode::kInitialOnly && options_.on_finished &&
      !std::exchange(finished_, true)) {
    options_.on_finished(failed_tables());
  }
}

void Coordinator::offer_fact(std::uint64_t ticket, model::EventBatch fact) {
  auto offer = std::make_unique<Offer>();
  offer->ticket = ticket;
  offer->rows = std::move(fact);
  send(std::move(offer));
}

postgres::SnapshotFacts Coordinator::facts_of(const TableJob& job) const {
  const BackfillTable& record = job.record();
  return {.source_id = config_.source_id,
          .schema = job.published().schema,
          .table = job.published().table,
          .snapshot_id = record.snapshot_id,
          .time = record.started,
          .rows_read = record.rows_read,
          .rows_emitted = record.rows_emitted,
          .rows_dropped = record.rows_dropped,
          .from = record.from,
          .to = record.to};
}

TableJob* Coordinator::find_job(std::uint64_t ticket) {
  const auto table = tickets_.find(ticket);
  if (table == tickets_.end()) {
    return nullptr;
  }
  const auto job = jobs_.find(table->second);
  return job == jobs_.end() ? nullptr : job->second.get();
}

Status Coordinator::put_record(const BackfillTable& record) {
  CDC_TRY(store_.save_tables(config_.source_id, {record}));
  publish_record(record);
  return {};
}

void Coordinator::publish_record(const BackfillTable& record) {
  MutexLock lock(mutex_);
  records_[record.table] = record;
}

// With a condition of its own, the rules of a backfill are those of the table and that.
Result<Coordinator::Rules> Coordinator::rules_for(const BackfillTable& record) const {
  if (record.where.empty()) {
    return rules_;
  }
  postgres::PublishedTable published;
  {
    MutexLock lock(mutex_);
    published = published_.at(record.table);
  }
  config::Config narrowed = config_;
  narrowed.all_tables = false;
  config::TableRule rule{.name = expr::quote_table(published.schema, published.table)};
  for (const config::TableRule& known : config_.tables) {
    CDC_ASSIGN(const auto pattern, expr::TablePattern::parse(known.name));
    if (pattern.matches(published.schema, published.table)) {
      rule.columns = known.columns;
      rule.operations = known.operations;
      rule.where = known.where;
      break;
    }
  }
  rule.where =
      rule.where.empty() ? record.where : format("({}) AND ({})", rule.where, record.where);
  narrowed.tables = {std::move(rule)};
  CDC_ASSIGN(auto rules, postgres::TableRules::create(narrowed));
  return std::make_shared<const postgres::TableRules>(std::move(rules));
}

config::SnapshotMode Coordinator::mode_of(const postgres::PublishedTable& table) const {
  const postgres::TableRule& rule = rules_->find(table.schema, table.table);
  return rule.snapshot.value_or(config_.snapshot.mode);
}

}  // namespace cdc::snapshot
