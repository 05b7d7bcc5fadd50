#include "state/internal/database.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/format.h"
#include "base/unique_handle.h"

namespace cdc::state::internal {

namespace {

constexpr int kBusyTimeoutMs = 5'000;
constexpr std::string_view kCorruptHint =
    "restore the file from a backup, or move it away to begin without it";

Errc code_of(int result) noexcept {
  switch (result & 0xFF) {
    case SQLITE_FULL:
      return Errc::kNoSpace;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Errc::kCorrupt;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Errc::kLocked;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
      return Errc::kInternal;
    default:
      return Errc::kIo;
  }
}

Error error_of(sqlite3* database, int result) {
  const char* file = database != nullptr ? sqlite3_db_filename(database, "main") : nullptr;
  const std::string where = file != nullptr && *file != '\0' ? file : "state database";
  const Errc code = code_of(result);
  return make_error(code,
                    format("{}: {}", where, sqlite3_errmsg(database)),
                    std::string(code == Errc::kCorrupt ? kCorruptHint : ""));
}

// SQLite would create the file by the umask.
Status create_private(const std::filesystem::path& path) {
  const UniqueFd file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)};
  if (!file) {
    return fail(make_os_error(errno,
                              format("cannot open {}", path.string()),
                              "the data directory must be writable for this user"));
  }
  return {};
}

}  // namespace

// ---- Statement ----------------------------------------------------------------------------------

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

Statement::Statement(sqlite3* database, sqlite3_stmt* statement) noexcept
    : database_(database), statement_(statement) {}

// Binding fails only for a wrong index, which is a fault of ours, or without memory; the step that
// follows then does nothing harmful with a null.
Statement& Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(
      statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(int parameter, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), parameter, number);
  return *this;
}

Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), parameter, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW || result == SQLITE_DONE) {
    return result == SQLITE_ROW;
  }
  return fail(error_of(database_, result));
}

Status Statement::run() {
  for (;;) {
    CDC_ASSIGN(const bool row, step());
    if (!row) {
      return {};
    }
  }
}

// It answers with the failure of the last step, which step() has told already.
void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr
             ? std::string{}
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

// ---- Database -----------------------------------------------------------------------------------

void Database::Close::operator()(sqlite3* database) const noexcept {
  sqlite3_close_v2(database);
}

Result<Database> Database::open(const DatabaseOptions& options) {
  CDC_TRY(create_private(options.path));
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(
      options.path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database{handle};
  if (result != SQLITE_OK) {
    return fail(error_of(handle, result));
  }
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  CDC_TRY(database.check_pages(options));
  CDC_TRY(database.execute("PRAGMA journal_mode = WAL"));
  CDC_TRY(database.execute(options.sync_every_commit ? "PRAGMA synchronous = FULL"
                                                     : "PRAGMA synchronous = NORMAL"));
  CDC_TRY(database.prepare_schema(options));
  return database;
}

Result<Database> Database::open_read_only(const DatabaseOptions& options) {
  std::error_code code;
  if (!std::filesystem::exists(options.path, code)) {
    return fail(Errc::kNotFound, format("{} does not exist", options.path.string()));
  }
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(
      options.path.c_str(), &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database{handle};
  if (result != SQLITE_OK) {
    return fail(error_of(handle, result));
  }
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  CDC_TRY(database.check_pages(options));
  CDC_ASSIGN(const std::int64_t version, database.checked_version(options));
  if (version == 0) {
    return fail(Errc::kNotFound, format("{} is still empty", options.path.string()));
  }
  return database;
}

// SQLite notices damage only in the pages it reads. These files are small: look at all of them now,
// rather than stop in the middle of the work.
Status Database::check_pages(const DatabaseOptions& options) {
  CDC_ASSIGN(auto statement, prepare("PRAGMA quick_check(1)"));
  CDC_ASSIGN(const bool row, statement.step());
  const std::string verdict = row ? statement.text(0) : "no answer";
  if (verdict != "ok") {
    return fail(Errc::kCorrupt,
                format("{} is damaged: {}", options.path.string(), verdict),
                std::string(kCorruptHint));
  }
  return {};
}

Result<std::int64_t> Database::checked_version(const DatabaseOptions& options) {
  CDC_ASSIGN(auto statement, prepare("PRAGMA user_version"));
  CDC_ASSIGN(const bool row, statement.step());
  const std::int64_t version = row ? statement.integer(0) : 0;
  if (version > options.schema_version) {
    return fail(Errc::kVersion,
                format("{} has format version {}, this program knows {}",
                       options.path.string(),
                       version,
                       options.schema_version),
                "run the version that wrote it, or a newer one");
  }
  return version;
}

Status Database::prepare_schema(const DatabaseOptions& options) {
  CDC_TRY(execute("BEGIN IMMEDIATE"));
  CDC_ASSIGN(const std::int64_t version, checked_version(options));
  if (version == 0) {
    CDC_TRY(execute(options.schema));
    CDC_TRY(execute(format("PRAGMA user_version = {}", options.schema_version)));
  }
  return execute("COMMIT");
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v2(
      handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (result != SQLITE_OK) {
    return fail(error_of(handle_.get(), result));
  }
  return Statement{handle_.get(), statement};
}

Status Database::execute(const std::string& sql) {
  const int result = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) {
    return fail(error_of(handle_.get(), result));
  }
  return {};
}

}  // namespace cdc::state::internal
