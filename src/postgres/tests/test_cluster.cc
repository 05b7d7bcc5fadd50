#include "postgres/tests/test_cluster.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unique_handle.h"

namespace cdc::postgres {

namespace {

constexpr const char* kDebianBin = "/usr/lib/postgresql/15/bin";

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "test cluster: " << why << '\n';
  std::abort();
}

std::string last_os_error() {
  return std::generic_category().message(errno);
}

std::string read_file(const std::filesystem::path& path) {
  const std::ifstream file{path};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// PostgreSQL refuses to run as root.
struct Account {
  uid_t user = 0;
  gid_t group = 0;
};

std::optional<Account> server_account() {
  if (::geteuid() != 0) {
    return std::nullopt;
  }
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> memory{};
  if (::getpwnam_r("postgres", &entry, memory.data(), memory.size(), &found) != 0 ||
      found == nullptr) {
    give_up("run as root, and there is no user postgres to run the server as");
  }
  return Account{.user = entry.pw_uid, .group = entry.pw_gid};
}

// Runs in the forked child: only calls that are safe there, then the program.
[[noreturn]] void become_program(const std::optional<Account>& account,
                                 const std::filesystem::path& log,
                                 char* const* arguments) {
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (output < 0 || ::dup2(output, STDOUT_FILENO) < 0 || ::dup2(output, STDERR_FILENO) < 0) {
    ::_exit(125);
  }
  if (account && (::setgroups(0, nullptr) != 0 || ::setgid(account->group) != 0 ||
                  ::setuid(account->user) != 0)) {
    ::_exit(126);
  }
  // After the change of user, which clears it: SIGQUIT is PostgreSQL's immediate shutdown.
  ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
  ::execvp(arguments[0], arguments);
  ::_exit(127);
}

pid_t spawn(std::vector<std::string> arguments, const std::filesystem::path& log) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  const auto account = server_account();
  const pid_t child = ::fork();
  if (child < 0) {
    give_up("fork: " + last_os_error());
  }
  if (child == 0) {
    become_program(account, log, pointers.data());
  }
  return child;
}

std::uint16_t free_port() {
  const UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, size) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0) {
    give_up("no free port: " + last_os_error());
  }
  return ::ntohs(address.sin_port);
}

// A value of a keyword/value connection string.
std::string quoted(std::string_view value) {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') {
      out.push_back('\\');
    }
    out.push_back(c);
  }
  return out + "'";
}

void pause_between_attempts() {
  constexpr int kPauseMs = 10;
  ::poll(nullptr, 0, kPauseMs);
}

}  // namespace

TestCluster::TestCluster(Options options) : options_(std::move(options)) {
  // Tests set no variable while a cluster starts.
  const char* chosen = std::getenv("KAPTANTO_TEST_PG_BIN");  // NOLINT(concurrency-mt-unsafe)
  bin_ = chosen == nullptr || *chosen == '\0' ? kDebianBin : chosen;
  if (!std::filesystem::exists(bin_ / "postgres")) {
    give_up("no PostgreSQL server in " + bin_.string() +
            "; install postgresql-15, or set KAPTANTO_TEST_PG_BIN");
  }
  create();
  // Another process may take the port between its choice and the server's start.
  start();
}

TestCluster::~TestCluster() {
  // Immediately: a walsender whose client does not read would hold a fast shutdown up.
  end_server(SIGQUIT);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TestCluster::create() {
  std::string name = (std::filesystem::temp_directory_path() / "kaptanto-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    give_up("mkdtemp: " + last_os_error());
  }
  folder_ = name;
  if (const auto account = server_account()) {
    if (::chown(folder_.c_str(), account->user, account->group) != 0) {
      give_up("chown: " + last_os_error());
    }
  }
  const std::filesystem::path data = folder_ / "data";
  run_program({(bin_ / "initdb").string(),
               "-D",
               data.string(),
               "-U",
               "postgres",
               "-A",
               "trust",
               "-E",
               "UTF8",
               "--locale=C",
               "--no-sync"},
              folder_ / "initdb.log");
  std::ofstream conf{data / "postgresql.conf", std::ios::app};
  conf << "\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '" << folder_.string()
       << "'\nwal_level = logical\nfsync = off\nmax_wal_senders = 10\nmax_replication_slots = 10\n"
          "shared_buffers = 16MB\nautovacuum = off\n";
  for (const std::string& setting : options_.settings) {
    conf << setting << '\n';
  }
  std::ofstream hba{data / "pg_hba.conf", std::ios::trunc};
  hba << "local all postgres trust\n" << options_.hba;
}

void TestCluster::start() {
  constexpr int kAttempts = 5;
  constexpr auto kPatience = std::chrono::seconds{60};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    port_ = port_ == 0 || attempt > 0 ? free_port() : port_;
    server_ = spawn({(bin_ / "postgres").string(),
                     "-D",
                     (folder_ / "data").string(),
                     "-p",
                     std::to_string(port_)},
                    folder_ / "server.log");
    const MonotonicTime deadline = monotonic_now() + kPatience;
    while (monotonic_now() < deadline) {
      if (::waitpid(server_, nullptr, WNOHANG) != 0) {
        server_ = -1;
        break;
      }
      ConnectOptions options;
      options.dsn = socket_dsn();
      if (const auto connection = Connection::open(options, no_stop_)) {
        version_ = connection->server_version();
        return;
      }
      pause_between_attempts();
    }
  }
  give_up("the server does not start\n" + read_file(folder_ / "server.log"));
}

void TestCluster::stop() {
  end_server(SIGINT);  // fast shutdown
}

void TestCluster::end_server(int signal) {
  if (server_ > 0) {
    ::kill(server_, signal);
    while (::waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
    }
    server_ = -1;
  }
}

void TestCluster::restart(const std::vector<std::string>& settings) {
  stop();
  {
    std::ofstream conf{folder_ / "data" / "postgresql.conf", std::ios::app};
    for (const std::string& setting : settings) {
      conf << setting << '\n';
    }
  }
  start();
}

void TestCluster::restart_as_standby() {
  stop();
  {
    const std::ofstream signal{folder_ / "data" / "standby.signal"};
  }
  start();
}

void TestCluster::add_hba(std::string_view lines) {
  const std::filesystem::path path = folder_ / "data" / "pg_hba.conf";
  const std::string old = read_file(path);
  {
    std::ofstream hba{path, std::ios::trunc};
    hba << lines << old;
  }
  reload();
}

void TestCluster::configure(const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    run({"ALTER SYSTEM SET " + setting});
  }
  reload();
}

void TestCluster::reload() {
  // The load time changes once the postmaster has read the files; new sessions then follow them.
  Connection connection = connect();
  const auto before = connection.query("SELECT pg_conf_load_time()");
  if (!before || !connection.query("SELECT pg_reload_conf()")) {
    give_up("reload failed");
  }
  wait_until(connection, "SELECT pg_conf_load_time() > '" + std::string{before->text(0, 0)} + "'");
}

std::string TestCluster::dsn(std::string_view user, std::string_view database) const {
  return "host=127.0.0.1 port=" + std::to_string(port_) + " user=" + quoted(user) +
         " dbname=" + quoted(database);
}

std::string TestCluster::socket_dsn(std::string_view database) const {
  return "host=" + folder_.string() + " port=" + std::to_string(port_) +
         " user=postgres dbname=" + quoted(database);
}

Connection TestCluster::connect(std::string_view database) {
  ConnectOptions options;
  options.dsn = socket_dsn(database);
  options.application_name = "test";
  auto connection = Connection::open(options, no_stop_);
  if (!connection) {
    give_up(connection.error().to_string());
  }
  if (!connection->query("SET search_path = public")) {
    give_up("no search_path");
  }
  return *std::move(connection);
}

void TestCluster::run(const std::vector<std::string>& statements, std::string_view database) {
  Connection connection = connect(database);
  for (const std::string& sql : statements) {
    if (const auto result = connection.query(sql); !result) {
      give_up(sql + "\n" + result.error().to_string());
    }
  }
}

std::string TestCluster::ask(const std::string& sql, std::string_view database) {
  Connection connection = connect(database);
  const auto result = connection.query(sql);
  if (!result || result->rows() == 0) {
    give_up(sql + "\n" + (result ? "no row" : result.error().to_string()));
  }
  return std::string{result->text(0, 0)};
}

void run_program(std::vector<std::string> arguments, const std::filesystem::path& log) {
  const std::string name = arguments.front();
  const pid_t child = spawn(std::move(arguments), log);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) {
    give_up(name + " failed\n" + read_file(log));
  }
}

void wait_until(Connection& connection, const std::string& sql) {
  constexpr auto kPatience = std::chrono::seconds{10};
  const MonotonicTime deadline = monotonic_now() + kPatience;
  while (monotonic_now() < deadline) {
    const auto result = connection.query(sql);
    if (!result) {
      give_up(sql + "\n" + result.error().to_string());
    }
    if (result->rows() > 0 && result->boolean(0, 0)) {
      return;
    }
    pause_between_attempts();
  }
  give_up("never true: " + sql);
}

}  // namespace cdc::postgres
