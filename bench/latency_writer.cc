// Writes one-row transactions at a steady rate and notes when each COMMIT was acknowledged.
//
//   latency_writer PORT DATABASE RATE COUNT FILE
//
// Row: (id, the writer's clock in microseconds just before it sent the statement).
// FILE: "id sent_us acknowledged_us" per line.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/format.h"
#include "base/result.h"

namespace cdc::bench {
namespace {

struct Finish {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};

struct Sample {
  std::int64_t sent_us = 0;
  std::int64_t acknowledged_us = 0;
};

Result<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value <= 0) {
    return fail(Errc::kInvalidArgument, cdc::format("\"{}\" is not a positive number", text));
  }
  return value;
}

Status check(PGconn* connection, PGresult* result) {
  const bool good = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  if (!good) {
    return fail(Errc::kUnavailable, PQerrorMessage(connection));
  }
  return {};
}

void wait_until(std::int64_t monotonic_ns) {
  timespec until{.tv_sec = monotonic_ns / 1'000'000'000, .tv_nsec = monotonic_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

Status write_rows(PGconn* connection, std::int64_t rate, std::vector<Sample>& samples) {
  CDC_TRY(check(connection,
                PQprepare(connection, "row", "insert into latency values ($1, $2)", 0, nullptr)));
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t start = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  std::int64_t id = 0;
  for (Sample& sample : samples) {
    wait_until(start + (id + 1) * (1'000'000'000 / rate));
    sample.sent_us = unix_now().value;
    const std::string texts[] = {std::to_string(id), std::to_string(sample.sent_us)};
    const char* values[] = {texts[0].c_str(), texts[1].c_str()};
    CDC_TRY(check(connection, PQexecPrepared(connection, "row", 2, values, nullptr, nullptr, 0)));
    sample.acknowledged_us = unix_now().value;
    ++id;
  }
  return {};
}

Status run(std::span<char*> arguments) {
  if (arguments.size() != 5) {
    return fail(Errc::kInvalidArgument, "usage: latency_writer PORT DATABASE RATE COUNT FILE");
  }
  CDC_ASSIGN(const std::int64_t rate, number(arguments[2]));
  CDC_ASSIGN(const std::int64_t count, number(arguments[3]));
  const std::string parameters = cdc::format(
      "host=127.0.0.1 port={} user=postgres dbname={} sslmode=disable gssencmode=disable",
      arguments[0],
      arguments[1]);
  const std::unique_ptr<PGconn, Finish> connection(PQconnectdb(parameters.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    return fail(Errc::kUnavailable, PQerrorMessage(connection.get()));
  }
  std::vector<Sample> samples(static_cast<std::size_t>(count));
  CDC_TRY(write_rows(connection.get(), rate, samples));

  std::FILE* file = std::fopen(arguments[4], "w");
  if (file == nullptr) {
    return fail(Errc::kIo, cdc::format("cannot write {}", arguments[4]));
  }
  std::int64_t id = 0;
  for (const Sample& sample : samples) {
    const std::string line =
        cdc::format("{} {} {}\n", id++, sample.sent_us, sample.acknowledged_us);
    std::fputs(line.c_str(), file);
  }
  std::fclose(file);
  return {};
}

}  // namespace
}  // namespace cdc::bench

int main(int argc, char** argv) {
  const cdc::Status status =
      cdc::bench::run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!status) {
    std::fprintf(stderr, "latency_writer: %s\n", status.error().to_string().c_str());
    return 1;
  }
  return 0;
}
