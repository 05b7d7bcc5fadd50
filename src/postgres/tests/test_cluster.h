#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/sync/thread.h"
#include "postgres/connection.h"

namespace cdc::postgres {

// A real PostgreSQL server for tests: made on construction, stopped and deleted on destruction, and
// by the kernel if the test dies. It listens on 127.0.0.1 on a free port and on a socket in its own
// folder; wal_level is logical unless the settings say otherwise.
//
// Programs   KAPTANTO_TEST_PG_BIN names the folder of initdb and postgres; otherwise Debian's
//            PostgreSQL 15. A test run as root runs them as user postgres.
// Errors     Aborts with the server's log when the server does not come up: a test without its
//            server has failed, never been skipped.
// Thread     The thread that made it must outlive it: the server dies with that thread.
class TestCluster {
 public:
  struct Options {
    std::vector<std::string> settings;  // "name = value", as in postgresql.conf
    // pg_hba.conf; the superuser `postgres` may always come in by the socket.
    std::string hba = "host all all 127.0.0.1/32 trust\n";
  };

  explicit TestCluster(Options options);

  TestCluster() : TestCluster(Options{}) {}

  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;
  ~TestCluster();

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  [[nodiscard]] int version() const noexcept { return version_; }  // 150020

  // Keyword form, by TCP and by the socket.
  [[nodiscard]] std::string dsn(std::string_view user = "postgres",
                                std::string_view database = "postgres") const;
  [[nodiscard]] std::string socket_dsn(std::string_view database = "postgres") const;

  // A session of the superuser with search_path public. Aborts on failure, as do the next two.
  [[nodiscard]] Connection connect(std::string_view database = "postgres");
  // Runs statements, each on its own, in a fresh session of the superuser.
  void run(const std::vector<std::string>& statements, std::string_view database = "postgres");
  // The first column of the first row.
  [[nodiscard]] std::string ask(const std::string& sql, std::string_view database = "postgres");

  // Puts `lines` in front of pg_hba.conf, or settings behind postgresql.conf, and reloads.
  void add_hba(std::string_view lines);
  // Sets as ALTER SYSTEM does, for sessions that begin afterwards.
  void configure(const std::vector<std::string>& settings);
  void restart(const std::vector<std::string>& settings = {});
  void restart_as_standby();  // of nobody: in recovery for ever, readable
  void stop();

  [[nodiscard]] const StopSignal& no_stop() const noexcept { return no_stop_; }

 private:
  void create();
  void start();
  void reload();
  void end_server(int signal);

  Options options_;
  std::filesystem::path bin_;
  std::filesystem::path folder_;
  std::uint16_t port_ = 0;
  int version_ = 0;
  pid_t server_ = -1;
  StopSignal no_stop_;
};

// Runs a program to its end as the account of the server, so that the files it makes are the
// server's; its output goes to `log`. Aborts when it fails.
void run_program(std::vector<std::string> arguments, const std::filesystem::path& log);

// Waits until `sql` gives `t` in its first column; aborts when it has not after ten seconds.
void wait_until(Connection& connection, const std::string& sql);

}  // namespace cdc::postgres
