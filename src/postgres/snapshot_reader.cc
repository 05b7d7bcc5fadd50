#include "postgres/snapshot_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <poll.h>

#include <libpq-fe.h>

#include "base/format.h"
#include "base/log.h"
#include "expr/table_pattern.h"
#include "postgres/internal/copy_text.h"
#include "postgres/internal/snapshot_sql.h"
#include "postgres/server_error.h"

namespace cdc::postgres {

namespace {

constexpr std::uint32_t kBlocksMax = 8'192;
constexpr std::uint32_t kBlockEnd = 0xFFFF'FFFF;
constexpr std::uint64_t kRowsPerBlockGuess = 64;

// Chunks are read by index or by block and nothing else: their cost must not depend on statistics.
constexpr std::string_view kSessionSettings =
    "SET row_security = off; SET statement_timeout = 0; SET enable_seqscan = off;"
    " SET enable_bitmapscan = off; SET enable_sort = off; SET synchronize_seqscans = off;"
    " SET max_parallel_workers_per_gather = 0; SET jit = off; SET lock_timeout = {}";

struct FreeMemory {
  void operator()(char* memory) const noexcept { PQfreemem(memory); }
};

using CopyRow = std::unique_ptr<char, FreeMemory>;

// "xmin:xmax:a,b,c"
bool parse_snapshot(std::string_view text, SnapshotView& view) {
  const char* cursor = text.data();
  const char* const end = text.data() + text.size();
  const auto take = [&](std::uint64_t& number, char separator) {
    const auto [next, fault] = std::from_chars(cursor, end, number);
    cursor = next;
    if (fault != std::errc{} || (next != end && *next != separator)) {
      return false;
    }
    cursor += next != end ? 1 : 0;
    return true;
  };
  if (!take(view.xmin, ':') || !take(view.xmax, ':')) {
    return false;
  }
  while (cursor != end) {
    view.in_progress.emplace_back();
    if (!take(view.in_progress.back(), ',')) {
      return false;
    }
  }
  std::ranges::sort(view.in_progress);
  return true;
}

std::optional<std::uint32_t> parse_block(std::string_view text) {
  std::uint32_t block = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), block);
  const bool whole = fault == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(block) : std::nullopt;
}

// "(12,3)"
std::optional<std::uint32_t> block_of(std::string_view ctid) {
  const std::size_t comma = ctid.find(',');
  if (!ctid.starts_with('(') || comma == std::string_view::npos) {
    return std::nullopt;
  }
  return parse_block(ctid.substr(1, comma - 1));
}

// What the server is asked for one chunk.
struct Plan {
  const SnapshotPart* part = nullptr;
  std::string select;
  std::uint64_t rows_max = 0;     // by key
  std::uint32_t first_block = 0;  // by block
  std::uint32_t end_block = 0;    // likewise, not included
  std::uint32_t upper_block = kBlockEnd;
};

// What came of it so far.
struct Reading {
  const ChunkRequest* request = nullptr;
  const Plan* plan = nullptr;
  SnapshotChunk chunk;
  UnixMicros began;
  bool viewed = false;
  bool cut = false;
  std::uint32_t block = 0;  // by block: of the last row taken
  std::uint64_t pages = 0;  // by block: of the part
  Lsn flushed;              // zero: not known
  std::optional<ServerReport> failure;
};

}  // namespace

struct SnapshotReader::State {
  State(Connection opened, const StopSignal& signal, std::string source_id)
      : connection(std::move(opened)), stop(&signal), encoder(std::move(source_id)) {}

  Connection connection;
  const StopSignal* stop;
  EventEncoder encoder;
  RowMessage row;
  bool broken = false;
  bool standby = false;
  bool may_emit = true;  // pg_logical_emit_message was not refused yet
  // Rendered bytes per row or block of the part that was read last, to choose how much to ask for.
  std::uint32_t last_part = 0;
  std::size_t last_unit_bytes = 0;
  std::size_t last_bytes = 0;  // of its last chunk: room for the next, which is much alike

  Result<SnapshotChunk> read(const ChunkRequest& request, model::EventBatch memory);
  Status note_standby(SnapshotView& view);
  Result<Plan> make_plan(const ChunkRequest& request) const;
  Status plan_blocks(const ChunkRequest& request, Plan& plan) const;
  [[nodiscard]] std::uint64_t fitting(std::uint64_t units, const ChunkRequest& request) const;
  [[nodiscard]] std::string chunk_sql(const ChunkRequest& request, const Plan& plan) const;
  [[nodiscard]] Status wait(short events) const;
  [[nodiscard]] Result<QueryResult> next_result() const;
  Status run(const std::string& sql, Reading& reading);
  Status take_result(const QueryResult& result, Reading& reading);
  Status take_view(const QueryResult& result, Reading& reading);
  Status take_rows(Reading& reading);
  [[nodiscard]] Result<CopyRow> next_row(std::size_t& size) const;
  Result<bool> take_row(std::span<char> text, Reading& reading);
  void cancel() const;
  Status end_transaction();
  void finish_chunk(Reading& reading);
  Status push_wal(const Reading& reading);
  [[nodiscard]] Error failure_of(const ServerReport& report, const SnapshotPart& part) const;
};

Status SnapshotReader::State::wait(short events) const {
  while (!stop->requested()) {
    std::array<pollfd, 2> watched{pollfd{.fd = connection.fd(), .events = events, .revents = 0},
                                  pollfd{.fd = stop->fd(), .events = POLLIN, .revents = 0}};
    if (::poll(watched.data(), watched.size(), -1) > 0 && watched[0].revents != 0) {
      return {};
    }
  }
  return fail(Errc::kClosed, "read existing rows: asked to stop");
}

// Null behind the last one.
Result<QueryResult> SnapshotReader::State::next_result() const {
  PGconn* const raw = connection.raw();
  while (true) {
    const int unsent = PQflush(raw);
    if (unsent < 0) {
      return fail(connection.last_error("read existing rows"));
    }
    if (unsent == 0 && PQisBusy(raw) == 0) {
      return QueryResult{PQgetResult(raw)};
    }
    CDC_TRY(wait(static_cast<short>(unsent == 1 ? POLLIN | POLLOUT : POLLIN)));
    if (PQconsumeInput(raw) == 0) {
      return fail(connection.last_error("read existing rows"));
    }
  }
}

// Empty behind the last one.
Result<CopyRow> SnapshotReader::State::next_row(std::size_t& size) const {
  while (true) {
    char* text = nullptr;
    const int got = PQgetCopyData(connection.raw(), &text, 1);
    CopyRow copied{text};
    if (got > 0) {
      size = static_cast<std::size_t>(got);
      return copied;
    }
    if (got == -1) {
      return CopyRow{};
    }
    if (got < 0) {
      return fail(connection.last_error("read existing rows"));
    }
    CDC_TRY(wait(POLLIN));
    if (PQconsumeInput(connection.raw()) == 0) {
      return fail(connection.last_error("read existing rows"));
    }
  }
}

// How many of `units` probably fit into the chunk's bytes.
std::uint64_t SnapshotReader::State::fitting(std::uint64_t units,
                                             const ChunkRequest& request) const {
  if (request.range.part_oid != last_part || last_unit_bytes == 0) {
    return std::max<std::uint64_t>(units, 1);
  }
  const std::uint64_t fit = request.bytes_max / last_unit_bytes + 1;
  return std::max<std::uint64_t>(std::min(units, fit), 1);
}

Status SnapshotReader::State::plan_blocks(const ChunkRequest& request, Plan& plan) const {
  const SnapshotRange& range = request.range;
  const auto lower = parse_block(range.lower.empty() ? "0" : range.lower);
  const auto upper =
      range.upper.empty() ? std::optional<std::uint32_t>(kBlockEnd) : parse_block(range.upper);
  if (!lower || !upper) {
    return fail(
        Errc::kCorrupt,
        format("a bound of the backfill of {} is no block number", request.table->published.name()),
        "begin the table's backfill again");
  }
  const SnapshotPart& part = *plan.part;
  const std::uint64_t wanted =
      part.rows > 0 ? static_cast<std::uint64_t>(static_cast<double>(request.rows_max) /
                                                 static_cast<double>(part.rows) *
                                                 static_cast<double>(part.pages))
                    : request.rows_max / kRowsPerBlockGuess;
  const auto blocks =
      static_cast<std::uint32_t>(fitting(std::min<std::uint64_t>(wanted, kBlocksMax), request));
  plan.first_block = *lower;
  plan.upper_block = *upper;
  plan.end_block = *upper - std::min(*lower, *upper) > blocks ? *lower + blocks : *upper;
  plan.select =
      internal::select_by_block_sql(*request.table, part, plan.first_block, plan.end_block);
  return {};
}

Result<Plan> SnapshotReader::State::make_plan(const ChunkRequest& request) const {
  const SnapshotTable& table = *request.table;
  const auto part = std::ranges::find(table.parts, request.range.part_oid, &SnapshotPart::oid);
  if (part == table.parts.end()) {
    return fail(Errc::kNotFound,
                format("table {} has no part with OID {} any more",
                       table.published.name(),
                       request.range.part_oid));
  }
  Plan plan{.part = &*part, .select = {}};
  if (!table.by_key()) {
    CDC_TRY(plan_blocks(request, plan));
    return plan;
  }
  CDC_ASSIGN(const std::string range, internal::key_range_sql(table, request.range));
  plan.rows_max = fitting(request.rows_max, request);
  plan.select = internal::select_by_key_sql(table, *part, range, plan.rows_max);
  return plan;
}

// LOCK takes no snapshot, so the snapshot that the SELECT takes shows what the lock has waited for;
// its position is read after that.
std::string SnapshotReader::State::chunk_sql(const ChunkRequest& request, const Plan& plan) const {
  const std::string oid =
      format("pg_catalog.to_regclass({})", internal::quote_literal(plan.part->quoted));
  const bool by_key = request.table->by_key();
  return format(
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
      "LOCK TABLE ONLY {0} IN ACCESS SHARE MODE;"
      "SELECT pg_catalog.pg_current_snapshot()::text,"
      " CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()"
      " ELSE pg_catalog.pg_current_wal_insert_lsn() END, {1}::oid, {2}, {3};"
      "COPY ({4}) TO STDOUT;"
      "COMMIT;{5}",
      plan.part->quoted,
      oid,
      internal::signature_sql(oid, by_key),
      by_key ? std::string("0")
             : format("pg_catalog.pg_relation_size({}) /"
                      " pg_catalog.current_setting('block_size')::int8",
                      oid),
      plan.select,
      standby ? "" : "SELECT pg_catalog.pg_current_wal_flush_lsn()");
}

// What has been replayed before the snapshot is taken is in it. A standby can be promoted between
// two chunks; then the snapshots list the transactions in progress.
Status SnapshotReader::State::note_standby(SnapshotView& view) {
  if (!standby) {
    return {};
  }
  CDC_ASSIGN(const QueryResult result,
             connection.query("SELECT pg_catalog.pg_is_in_recovery(),"
                              " pg_catalog.pg_last_wal_replay_lsn()"));
  standby = result.boolean(0, 0);
  view.standby = standby;
  view.low = parse_lsn(result.text(0, 1)).value_or(Lsn{});
  return {};
}

Status SnapshotReader::State::take_view(const QueryResult& result, Reading& reading) {
  SnapshotView& view = reading.chunk.view;
  const auto high = parse_lsn(result.text(0, 1));
  if (!high || !parse_snapshot(result.text(0, 0), view)) {
    return fail(Errc::kProtocol,
                format("the server gave a snapshot that is none: {}", result.text(0, 0)));
  }
  view.high = *high;
  reading.viewed = true;
  reading.pages = static_cast<std::uint64_t>(result.integer(0, 4).value_or(0));
  const SnapshotPart& part = *reading.plan->part;
  reading.chunk.changed =
      result.integer(0, 2) != std::int64_t{part.oid} || result.text(0, 3) != part.signature;
  const ChunkRequest& request = *reading.request;
  encoder.begin_read(ReadInfo{.snapshot_id = request.snapshot_id,
                              .snapshot_time = request.snapshot_time,
                              .read_time = reading.began,
                              .high = view.high,
                              .chunk = request.chunk,
                              .rows_total = request.rows_total},
                     request.table->relation,
                     reading.chunk.rows);
  if (!reading.chunk.changed && part.oid == last_part) {
    char* const room = reading.chunk.rows.text().reserve(last_bytes + last_bytes / 8);
    reading.chunk.rows.text().commit(room);
  }
  return {};
}

// False: the chunk was full before this row, which is left for the next one.
Result<bool> SnapshotReader::State::take_row(std::span<char> text, Reading& reading) {
  const ChunkRequest& request = *reading.request;
  const Relation& relation = request.table->relation;
  const bool by_key = request.table->by_key();
  const std::size_t columns = relation.columns.size();
  SnapshotChunk& chunk = reading.chunk;
  if (!internal::parse_copy_row(text, columns + (by_key ? 0 : 2), row.new_row)) {
    return fail(
        Errc::kProtocol,
        format("a row of {} is not as the server described it", request.table->published.name()));
  }
  std::string_view ctid;
  std::uint32_t writer = 0;
  if (!by_key) {
    ctid = row.new_row[columns].text;
    const auto block = block_of(ctid);
    const auto xmin = parse_block(row.new_row[columns + 1].text);
    if (!block || !xmin) {
      return fail(Errc::kProtocol, format("the server sent a row at place {}", ctid));
    }
    // Blocks are taken whole, because the next chunk begins with a block.
    if (*block != reading.block && chunk.rows.text().size() >= request.bytes_max) {
      reading.block = *block;
      return false;
    }
    reading.block = *block;
    writer = *xmin;
    row.new_row.resize(columns);
  }
  ++chunk.rows_read;
  const bool passed =
      encoder.encode_read(relation, row, ctid, request.rows_done + chunk.rows_read, chunk.rows);
  if (passed && !by_key) {
    chunk.writers.push_back(writer);
  }
  if (by_key && (chunk.rows_read == reading.plan->rows_max ||
                 chunk.rows.text().size() >= request.bytes_max)) {
    std::vector<std::string> key;
    key.reserve(request.table->key.size());
    for (const SnapshotTable::KeyColumn& column : request.table->key) {
      key.emplace_back(row.new_row[column.index].text);
    }
    chunk.next = encode_bound(key);
    return chunk.rows_read == reading.plan->rows_max;
  }
  return true;
}

// Waits for the server to take the request, on a connection of its own: the only way there is.
void SnapshotReader::State::cancel() const {
  PGcancel* const handle = PQgetCancel(connection.raw());
  char fault[256] = {};
  if (handle == nullptr || PQcancel(handle, fault, sizeof fault) == 0) {
    log::debug("cannot cancel a chunk, its rest is read and left", {{"error", fault}});
  }
  PQfreeCancel(handle);
}

Status SnapshotReader::State::take_rows(Reading& reading) {
  bool taking = !reading.chunk.changed;
  if (!taking) {
    cancel();
  }
  while (true) {
    std::size_t size = 0;
    CDC_ASSIGN(const CopyRow text, next_row(size));
    if (!text) {
      return {};
    }
    if (!taking) {
      continue;
    }
    CDC_ASSIGN(taking, take_row({text.get(), size}, reading));
    if (!taking) {
      reading.cut = true;
      cancel();
    }
  }
}

Status SnapshotReader::State::take_result(const QueryResult& result, Reading& reading) {
  switch (PQresultStatus(result.raw())) {
    case PGRES_COMMAND_OK:
      return {};
    case PGRES_TUPLES_OK:
      if (!reading.viewed) {
        return take_view(result, reading);
      }
      reading.flushed = parse_lsn(result.text(0, 0)).value_or(Lsn{});
      return {};
    case PGRES_COPY_OUT:
      return take_rows(reading);
    case PGRES_FATAL_ERROR:
      if (!reading.failure) {
        reading.failure = read_report(result.raw());
      }
      return {};
    default:
      return fail(Errc::kProtocol, "read existing rows: the server answered out of turn");
  }
}

Status SnapshotReader::State::run(const std::string& sql, Reading& reading) {
  if (PQsendQuery(connection.raw(), sql.c_str()) == 0) {
    return fail(connection.last_error("read existing rows"));
  }
  while (true) {
    CDC_ASSIGN(const QueryResult result, next_result());
    if (result.raw() == nullptr) {
      return {};
    }
    CDC_TRY(take_result(result, reading));
  }
}

// A late cancellation can hit the statement behind the one it was meant for.
Status SnapshotReader::State::end_transaction() {
  constexpr int kAttempts = 3;
  for (int attempt = 1; PQtransactionStatus(connection.raw()) != PQTRANS_IDLE; ++attempt) {
    const auto ended = connection.query("ROLLBACK");
    if (!ended && attempt == kAttempts) {
      return fail(ended.error());
    }
  }
  return {};
}

Error SnapshotReader::State::failure_of(const ServerReport& report,
                                        const SnapshotPart& part) const {
  Error error = classify(report, format("read existing rows of {}", part.quoted));
  if (report.sqlstate == "42P01" || report.sqlstate == "3F000") {
    error.code = Errc::kNotFound;
  } else if (report.sqlstate == "42501") {
    error.hint =
        report.message.find("row-level security") == std::string::npos
            ? format("run GRANT SELECT ON {} TO {}",
                     part.quoted,
                     expr::quote_identifier(connection.user()))
            : format("run ALTER ROLE {} BYPASSRLS", expr::quote_identifier(connection.user()));
  } else if (report.sqlstate.starts_with("22")) {
    error.code = Errc::kSourceSetup;
  }
  return error;
}

// Where the range goes on, and how much the next chunk should ask for.
void SnapshotReader::State::finish_chunk(Reading& reading) {
  const Plan& plan = *reading.plan;
  SnapshotChunk& chunk = reading.chunk;
  std::uint64_t units = chunk.rows_read;
  if (reading.request->table->by_key()) {
    chunk.last = !reading.cut && chunk.rows_read < plan.rows_max;
    if (chunk.next.empty()) {
      chunk.next = reading.request->range.lower;
    }
  } else {
    const std::uint32_t next = reading.cut ? reading.block : plan.end_block;
    units = next - std::min(plan.first_block, next);
    chunk.next = format("{}", next);
    chunk.last = next >= plan.upper_block || (!reading.cut && next >= reading.pages);
  }
  last_part = plan.part->oid;
  last_bytes = chunk.rows.text().size();
  last_unit_bytes = units == 0 ? 0 : chunk.rows.text().size() / units;
}

// Without changes the server would keep WAL that ends at the view's end to itself for a while, and
// the stream would not pass it. A role that may not write messages waits for the WAL writer.
Status SnapshotReader::State::push_wal(const Reading& reading) {
  if (standby || !may_emit || reading.flushed >= reading.chunk.view.high) {
    return {};
  }
  const auto emitted =
      connection.query("SELECT pg_catalog.pg_logical_emit_message(true, 'kaptanto', '')");
  if (emitted) {
    return {};
  }
  if (emitted.error().code == Errc::kClosed) {
    return fail(emitted.error());
  }
  // Other faults are of the moment, or will show with the next chunk.
  may_emit = emitted.error().code != Errc::kPermission;
  if (!may_emit) {
    log::info("the role may not write messages into the WAL, chunks wait for the WAL writer",
              {{"error", emitted.error().message}});
  }
  return {};
}

Result<SnapshotChunk> SnapshotReader::State::read(const ChunkRequest& request,
                                                  model::EventBatch memory) {
  const MonotonicTime start = monotonic_now();
  CDC_ASSIGN(const Plan plan, make_plan(request));
  Reading reading{.request = &request, .plan = &plan, .chunk = {}, .began = unix_now()};
  reading.block = plan.first_block;
  // One row may have needed much more than a chunk should.
  memory.reset(false, 2 * request.bytes_max);
  reading.chunk.rows = std::move(memory);
  CDC_TRY(note_standby(reading.chunk.view));
  if (auto done = run(chunk_sql(request, plan), reading); !done) {
    broken = true;  // the rest of the answer is still to come
    return fail(std::move(done).error());
  }
  CDC_TRY(end_transaction());
  if (reading.chunk.changed) {
    reading.chunk.rows.reset(false, 0);
    return std::move(reading.chunk);
  }
  const bool cancelled = reading.cut && reading.failure && reading.failure->sqlstate == "57014";
  if (reading.failure && !cancelled) {
    return fail(failure_of(*reading.failure, *plan.part));
  }
  if (!reading.viewed) {
    return fail(Errc::kProtocol, "read existing rows: the server gave no snapshot");
  }
  finish_chunk(reading);
  CDC_TRY(push_wal(reading));
  reading.chunk.took =
      std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now() - start);
  return std::move(reading.chunk);
}

SnapshotReader::SnapshotReader(std::unique_ptr<State> state) : state_(std::move(state)) {}

SnapshotReader::~SnapshotReader() = default;

Result<std::unique_ptr<SnapshotReader>> SnapshotReader::open(const Options& options,
                                                             const StopSignal& stop) {
  CDC_ASSIGN(Connection connection, Connection::open(ConnectOptions{.dsn = options.dsn}, stop));
  CDC_TRY(connection.query(format(kSessionSettings, options.lock_timeout.count())));
  CDC_ASSIGN(const QueryResult recovery, connection.query("SELECT pg_catalog.pg_is_in_recovery()"));
  const bool standby = recovery.boolean(0, 0);
  auto state = std::make_unique<State>(std::move(connection), stop, options.source_id);
  state->standby = standby;
  state->row.operation = model::Operation::kRead;
  return std::unique_ptr<SnapshotReader>(new SnapshotReader(std::move(state)));
}

Result<SnapshotChunk> SnapshotReader::read(const ChunkRequest& request, model::EventBatch memory) {
  return state_->read(request, std::move(memory));
}

bool SnapshotReader::is_broken() const noexcept {
  return state_->broken || PQstatus(state_->connection.raw()) != CONNECTION_OK;
}

Connection& SnapshotReader::connection() noexcept {
  return state_->connection;
}

}  // namespace cdc::postgres
