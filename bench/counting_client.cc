// Drains a replication slot, counts what passes and throws it away: the fastest a client could
// possibly be. How it reads is the experiment; bench/run.py compares the variants and measures
// the product against the best of them. Prints one JSON line.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/format.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/sync/thread.h"
#include "bench/receive_path.h"
#include "bench/wire.h"

namespace cdc::bench {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kPostgresEpochMicros = 946'684'800'000'000;  // 2000-01-01
constexpr std::size_t kDataHeaderBytes = 25;  // 'w', start LSN, end LSN, send time

struct Options {
  ServerAddress server;
  std::string slot;
  std::string plugin_options = "proto_version '1', publication_names 'bench'";
  std::string path = "libpq";    // libpq or socket
  std::string take = "each";     // each: parse after every read; gulp: read until empty, then parse
  std::string stamp_file;        // writes "id arrival_us" of every inserted row
  std::int64_t pause_us = 0;     // rest this long before the next read while busy
  std::int64_t pause_bytes = 1;  // ... but only after a gulp of at least so many bytes
  std::int64_t wake_us = 0;      // ... or, if set, only when the last wake-up was more recent
  std::int64_t gulp_target = 0;  // if set, the pause follows the rate: see AdaptivePause
  std::int64_t reads_max = 0;    // reads per gulp; 0: until the socket is empty
  std::int64_t read_bytes = 1 << 20;
  std::int64_t receive_buffer = 0;  // SO_RCVBUF
  std::int64_t window = 0;          // TCP_WINDOW_CLAMP
  std::int64_t segment = 0;         // TCP_MAXSEG, socket path only
  std::int64_t expect_rows = 0;
  std::int64_t timeout_s = 300;
  std::int64_t work_ns = 0;       // pretend work per row in the reading thread
  std::int64_t burn_percent = 0;  // load of a second thread
};

struct Counters {
  std::uint64_t rows = 0;
  std::uint64_t commits = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
  std::uint64_t reads = 0;
  std::uint64_t pauses = 0;
};

std::int64_t now_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * kNanosPerSecond + now.tv_nsec;
}

void rest_us(std::int64_t micros) {
  timespec span{.tv_sec = micros / 1'000'000, .tv_nsec = micros % 1'000'000 * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &span, nullptr);
}

void spin_ns(std::int64_t span) {
  const std::int64_t until = now_ns(CLOCK_MONOTONIC) + span;
  while (now_ns(CLOCK_MONOTONIC) < until) {
  }
}

// Time on a CPU of another process so far, exact to the nanosecond.
double process_cpu_seconds(int pid) {
  const std::string name = cdc::format("/proc/{}/schedstat", pid);
  std::FILE* file = std::fopen(name.c_str(), "r");
  if (file == nullptr) {
    return 0;
  }
  char text[64] = {};
  const std::size_t length = std::fread(text, 1, sizeof text - 1, file);
  std::fclose(file);
  std::uint64_t nanos = 0;
  std::from_chars(text, text + length, nanos);
  return static_cast<double>(nanos) / 1e9;
}

double own_cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// How long to rest before the next read, so that each read finds about `target` bytes while there
// is a backlog and there is no rest at all when there is none.
class AdaptivePause {
 public:
  AdaptivePause(std::int64_t target, std::int64_t pause_max_us)
      : target_(target), pause_max_us_(pause_max_us) {}

  // `taken` bytes since the last call; `idle` when the socket had been empty for long before.
  std::int64_t next_us(std::int64_t taken, bool idle) {
    if (pause_us_ == 0) {
      streak_ = idle ? taken : streak_ + taken;
      if (streak_ >= kEnterBytes) {
        pause_us_ = kFirstPauseUs;
        streak_ = 0;
      }
      return pause_us_;
    }
    if (taken < kLeaveBytes) {
      pause_us_ = 0;
      return 0;
    }
    const std::int64_t wanted = pause_us_ * target_ / taken;
    pause_us_ = std::clamp(wanted, kFirstPauseUs, std::min(pause_max_us_, 2 * pause_us_));
    return pause_us_;
  }

 private:
  static constexpr std::int64_t kEnterBytes = 65536;
  static constexpr std::int64_t kLeaveBytes = 8192;
  static constexpr std::int64_t kFirstPauseUs = 500;

  std::int64_t target_;
  std::int64_t pause_max_us_;
  std::int64_t pause_us_ = 0;
  std::int64_t streak_ = 0;
};

class CountingClient {
 public:
  CountingClient(const Options& options, std::unique_ptr<ReceivePath> path)
      : options_(options),
        path_(std::move(path)),
        adaptive_(options.gulp_target, options.pause_us) {
    if (!options_.stamp_file.empty()) {
      stamps_ = std::fopen(options_.stamp_file.c_str(), "w");
    }
  }

  CountingClient(const CountingClient&) = delete;
  CountingClient& operator=(const CountingClient&) = delete;
  CountingClient(CountingClient&&) = delete;
  CountingClient& operator=(CountingClient&&) = delete;

  ~CountingClient() {
    if (stamps_ != nullptr) {
      std::fclose(stamps_);
    }
  }

  Status run() {
    set_socket_options();
    server_cpu_before_ = process_cpu_seconds(path_->backend_pid());
    started_ = now_ns(CLOCK_MONOTONIC);
    next_status_ = started_ + kNanosPerSecond;
    CDC_TRY(path_->start(cdc::format(
        "START_REPLICATION SLOT \"{}\" LOGICAL 0/0 ({})", options_.slot, options_.plugin_options)));
    const std::int64_t deadline = started_ + options_.timeout_s * kNanosPerSecond;
    while (!done_) {
      CDC_ASSIGN(const std::uint64_t taken, take());
      const std::int64_t now = now_ns(CLOCK_MONOTONIC);
      if (now > deadline) {
        return fail(Errc::kUnavailable, cdc::format("only {} rows in time", counters_.rows));
      }
      if (now >= next_status_ || reply_now_) {
        CDC_TRY(send_status());
        next_status_ = now + kNanosPerSecond;
      }
      wait(taken, now);
    }
    return {};
  }

  void report() const {
    const auto seconds = [](std::int64_t from, std::int64_t to) {
      return static_cast<double>(to - from) / 1e9;
    };
    const std::string line =
        cdc::format(R"({{"rows":{},"commits":{},"messages":{},"bytes":{},"reads":{},"pauses":{},)"
                    R"("wall":{:.6f},"wall_from_first":{:.6f},"cpu":{:.6f},"server_cpu":{:.6f}}})",
                    counters_.rows,
                    counters_.commits,
                    counters_.messages,
                    counters_.bytes,
                    counters_.reads,
                    counters_.pauses,
                    seconds(started_, last_),
                    seconds(first_, last_),
                    own_cpu_seconds(RUSAGE_SELF),
                    process_cpu_seconds(path_->backend_pid()) - server_cpu_before_);
    std::puts(line.c_str());
  }

 private:
  void set_socket_options() const {
    if (options_.receive_buffer > 0) {
      const int bytes = static_cast<int>(options_.receive_buffer);
      setsockopt(path_->fd(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (options_.window > 0) {
      const int bytes = static_cast<int>(options_.window);
      setsockopt(path_->fd(), IPPROTO_TCP, TCP_WINDOW_CLAMP, &bytes, sizeof bytes);
    }
  }

  // Takes what the socket holds, as the options say, and gives the bytes counted.
  Result<std::uint64_t> take() {
    const std::uint64_t before = counters_.bytes;
    const bool gulp = options_.take == "gulp";
    // A client that never rests reads once per wake-up, like most clients do.
    const std::int64_t reads_max = options_.pause_us == 0 ? 1 : options_.reads_max;
    CDC_TRY(count_messages());
    for (std::int64_t read = 0; reads_max == 0 || read < reads_max; ++read) {
      if (done_ || (options_.pause_us > 0 && !path_->may_have_more())) {
        break;
      }
      ++counters_.reads;
      CDC_ASSIGN(const bool more, path_->fill());
      if (!more) {
        break;
      }
      if (!gulp) {
        CDC_TRY(count_messages());
      }
    }
    CDC_TRY(count_messages());
    return counters_.bytes - before;
  }

  Status count_messages() {
    while (!done_) {
      CDC_ASSIGN(const auto message, path_->next_message());
      if (!message) {
        break;
      }
      count(*message);
    }
    return {};
  }

  void count(std::span<const std::uint8_t> message) {
    if (first_ == 0) {
      first_ = now_ns(CLOCK_MONOTONIC);
    }
    if (message.front() == 'k') {
      received_ = std::max(received_, load_u64(message.data() + 1));
      reply_now_ = reply_now_ || message[17] != 0;
      return;
    }
    if (message.front() != 'w' || message.size() <= kDataHeaderBytes) {
      return;
    }
    ++counters_.messages;
    counters_.bytes += message.size();
    const std::uint8_t* body = message.data() + kDataHeaderBytes;
    switch (static_cast<char>(body[0])) {
      case 'I':
      case 'U':
      case 'D':
        count_row(body);
        break;
      case 'C':
        count_commit(load_u64(body + 10));
        break;
      case 'c':
        count_commit(load_u64(body + 14));
        break;
      default:
        break;
    }
  }

  void count_row(const std::uint8_t* body) {
    ++counters_.rows;
    if (options_.work_ns > 0) {
      spin_ns(options_.work_ns);
    }
    if (stamps_ == nullptr || body[0] != 'I') {
      return;
    }
    // 'I', relation, 'N', column count, then 't', length and text of the first column.
    const std::uint8_t* text = body + 13;
    const int length = static_cast<int>(load_u32(body + 9));
    std::fprintf(stamps_,
                 "%.*s %lld\n",
                 length,
                 reinterpret_cast<const char*>(text),
                 static_cast<long long>(now_ns(CLOCK_REALTIME) / 1000));
  }

  void count_commit(std::uint64_t end_lsn) {
    ++counters_.commits;
    received_ = std::max(received_, end_lsn);
    if (static_cast<std::int64_t>(counters_.rows) >= options_.expect_rows) {
      last_ = now_ns(CLOCK_MONOTONIC);
      done_ = true;
    }
  }

  void wait(std::uint64_t taken, std::int64_t now) {
    if (done_) {
      return;
    }
    if (options_.gulp_target > 0) {
      wait_adaptively(taken, now);
      return;
    }
    const bool busy = options_.wake_us > 0
                          ? now - last_wake_ < options_.wake_us * 1000
                          : taken >= static_cast<std::uint64_t>(options_.pause_bytes);
    if (options_.pause_us > 0 && busy) {
      ++counters_.pauses;
      rest_us(options_.pause_us);
      if (options_.wake_us == 0) {
        return;
      }
    }
    pollfd item{.fd = path_->fd(), .events = POLLIN, .revents = 0};
    poll(&item, 1, static_cast<int>((next_status_ - now) / 1'000'000) + 1);
    last_wake_ = now_ns(CLOCK_MONOTONIC);
  }

  void wait_adaptively(std::uint64_t taken, std::int64_t now) {
    const std::int64_t pause = adaptive_.next_us(static_cast<std::int64_t>(taken), was_idle_);
    if (pause > 0) {
      ++counters_.pauses;
      rest_us(pause);
      was_idle_ = false;
      return;
    }
    pollfd item{.fd = path_->fd(), .events = POLLIN, .revents = 0};
    poll(&item, 1, static_cast<int>((next_status_ - now) / 1'000'000) + 1);
    was_idle_ = now_ns(CLOCK_MONOTONIC) - now > 1'000'000;
  }

  Status send_status() {
    std::uint8_t body[34] = {'r'};
    for (int field = 0; field < 3; ++field) {
      store_u64(body + 1 + 8 * field, received_);
    }
    store_u64(body + 25,
              static_cast<std::uint64_t>(now_ns(CLOCK_REALTIME) / 1000 - kPostgresEpochMicros));
    reply_now_ = false;
    return path_->send(body);
  }

  const Options& options_;
  std::unique_ptr<ReceivePath> path_;
  std::FILE* stamps_ = nullptr;
  Counters counters_;
  std::uint64_t received_ = 0;
  bool reply_now_ = false;
  bool done_ = false;
  double server_cpu_before_ = 0;
  std::int64_t started_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t last_wake_ = 0;
  std::int64_t next_status_ = 0;
  AdaptivePause adaptive_;
  bool was_idle_ = true;
};

bool set_number(Options& options, std::string_view name, std::string_view value) {
  const std::pair<std::string_view, std::int64_t*> numbers[] = {
      {"pause-us", &options.pause_us},
      {"pause-bytes", &options.pause_bytes},
      {"wake-us", &options.wake_us},
      {"reads-max", &options.reads_max},
      {"gulp-target", &options.gulp_target},
      {"read-bytes", &options.read_bytes},
      {"receive-buffer", &options.receive_buffer},
      {"window", &options.window},
      {"segment", &options.segment},
      {"expect-rows", &options.expect_rows},
      {"timeout-s", &options.timeout_s},
      {"work-ns", &options.work_ns},
      {"burn-percent", &options.burn_percent}};
  std::int64_t number = 0;
  const auto parsed = std::from_chars(value.data(), value.data() + value.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != value.data() + value.size()) {
    return false;
  }
  if (name == "port") {
    options.server.port = static_cast<std::uint16_t>(number);
    return true;
  }
  for (const auto& [known, target] : numbers) {
    if (known == name) {
      *target = number;
      return true;
    }
  }
  return false;
}

bool set_option(Options& options, std::string_view name, std::string_view value) {
  const std::pair<std::string_view, std::string*> texts[] = {
      {"host", &options.server.host},
      {"user", &options.server.user},
      {"database", &options.server.database},
      {"slot", &options.slot},
      {"plugin-options", &options.plugin_options},
      {"path", &options.path},
      {"take", &options.take},
      {"stamp-file", &options.stamp_file}};
  for (const auto& [known, target] : texts) {
    if (known == name) {
      *target = value;
      return true;
    }
  }
  return set_number(options, name, value);
}

Result<Options> parse(std::span<char*> arguments) {
  Options options;
  for (const std::string_view argument : arguments) {
    const auto equals = argument.find('=');
    if (!argument.starts_with("--") || equals == std::string_view::npos ||
        !set_option(options, argument.substr(2, equals - 2), argument.substr(equals + 1))) {
      return fail(Errc::kInvalidArgument,
                  cdc::format("cannot use \"{}\"", argument),
                  "options are written --name=value");
    }
  }
  return options;
}

// Keeps a second core busy for the given share of each millisecond, as the threads of a real
// client would, until the process ends.
void burn(std::int64_t percent, const StopSignal& stop) {
  while (!stop.requested()) {
    spin_ns(percent * 10'000);
    rest_us(std::max<std::int64_t>(1, (100 - percent) * 10));
  }
}

Status run(std::span<char*> arguments) {
  CDC_ASSIGN(const Options options, parse(arguments));
  auto path = options.path == "socket"
                  ? open_socket_path(options.server,
                                     static_cast<std::size_t>(options.read_bytes),
                                     static_cast<int>(options.segment))
                  : open_libpq_path(options.server);
  if (!path) {
    return fail(std::move(path).error());
  }
  StopSignal stop;
  Thread burner;
  if (options.burn_percent > 0) {
    burner.start("burner", [&options, &stop] { burn(options.burn_percent, stop); });
  }
  CountingClient client(options, std::move(path).value());
  const Status status = client.run();
  if (status) {
    client.report();
  }
  stop.request();
  burner.join();
  return status;
}

}  // namespace
}  // namespace cdc::bench

int main(int argc, char** argv) {
  const cdc::Status status =
      cdc::bench::run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!status) {
    std::fprintf(stderr, "counting_client: %s\n", status.error().to_string().c_str());
    return cdc::exit_status(status.error().code);
  }
  return 0;
}
