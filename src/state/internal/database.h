#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cdc::state::internal {

// A prepared statement being run. Parameters count from 1, columns from 0.
class Statement {
 public:
  Statement(sqlite3* database, sqlite3_stmt* statement) noexcept;

  Statement& bind(int parameter, std::string_view text);
  Statement& bind(int parameter, std::int64_t number);
  Statement& bind_blob(int parameter, std::string_view bytes);

  // True: a row is there. False: done.
  [[nodiscard]] Result<bool> step();
  [[nodiscard]] Status run();  // to the end
  void reset();                // to be run again; what is bound stays until it is bound anew

  [[nodiscard]] std::string text(int column) const;  // of text and blobs
  [[nodiscard]] std::int64_t integer(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

struct DatabaseOptions {
  std::filesystem::path path;
  int schema_version = 1;          // of this program; kept in user_version
  std::string schema;              // statements that make an empty database one of this version
  bool sync_every_commit = false;  // survives a loss of power, not only of the process
};

// One SQLite database in WAL mode, file mode 0600, waiting up to five seconds for another process.
//
// Errors  kVersion: written by a newer version. kCorrupt: not a database, or damaged. kNoSpace,
//         kIo.
// Thread  One call at a time; the connection is serialised by SQLite itself besides.
class Database {
 public:
  [[nodiscard]] static Result<Database> open(const DatabaseOptions& options);
  // Changes nothing, and reads while another process writes. kNotFound without a file, or when its
  // tables were never made.
  [[nodiscard]] static Result<Database> open_read_only(const DatabaseOptions& options);

  [[nodiscard]] Result<Statement> prepare(std::string_view sql);
  [[nodiscard]] Status execute(const std::string& sql);

 private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };

  explicit Database(sqlite3* handle) : handle_(handle) {}

  [[nodiscard]] Status check_pages(const DatabaseOptions& options);
  [[nodiscard]] Result<std::int64_t> checked_version(const DatabaseOptions& options);
  [[nodiscard]] Status prepare_schema(const DatabaseOptions& options);

  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace cdc::state::internal
