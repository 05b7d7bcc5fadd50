#include "capture/slot_monitor.h"

#include <algorithm>
#include <utility>

#include <poll.h>

#include "base/clock.h"
#include "postgres/slot.h"
#include "postgres/slot_catalog.h"

namespace cdc::capture {
namespace {

constexpr std::chrono::milliseconds kInterval{10'000};
// While there is no slot yet, or nobody answers: a start is soon over.
constexpr std::chrono::milliseconds kFirstInterval{1'000};

}  // namespace

SlotMonitor::SlotMonitor(const config::Config& config, SourceStatus& status)
    : config_(config), status_(status), watch_(config.health.stall_time, monotonic_now()) {}

void SlotMonitor::start() {
  thread_.start("monitor", [this] { run(); });
}

void SlotMonitor::stop() {
  stop_.request();
  thread_.join();
}

void SlotMonitor::run() {
  while (!stop_.requested()) {
    std::chrono::milliseconds interval = kFirstInterval;
    if (auto figures = look(); figures) {
      interval = figures->wal_status.empty() ? kFirstInterval : kInterval;
      status_.slot_seen(std::move(*figures));
    } else {
      connection_.reset();
      status_.slot_unknown(figures.error().message);
    }
    status_.stalled(watch_.look(status_.view(), monotonic_now()));
    // A stall must not be told later than its own measure.
    interval = std::min<std::chrono::milliseconds>(interval, config_.health.stall_time);
    pollfd poller{stop_.fd(), POLLIN, 0};
    ::poll(&poller, 1, static_cast<int>(interval.count()));
  }
  connection_.reset();
}

Result<SlotFigures> SlotMonitor::look() {
  if (!connection_) {
    CDC_ASSIGN(connection_,
               postgres::Connection::open(
                   {.dsn = config_.source, .application_name = "kaptanto monitor"}, stop_));
  }
  CDC_ASSIGN(const auto slot, postgres::find_slot(*connection_, postgres::slot_name(config_)));
  if (!slot) {
    return SlotFigures{};
  }
  return SlotFigures{.wal_status = slot->wal_status,
                     .retained_bytes = slot->retained_bytes,
                     .safe_bytes = slot->safe_bytes,
                     .server_end = slot->wal_end};
}

}  // namespace cdc::capture
