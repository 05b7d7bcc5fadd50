// Proves the screen of `kaptanto status`, from documents as the process sends them and from others.
#include "app/status_view.h"

#include <string>

#include <gtest/gtest.h>

namespace cdc::app {
namespace {

constexpr const char* kStatus = R"({"version":"1.2","commit":"c","uptime_seconds":11100,
"ready":false,"checks":[{"name":"source","ok":false,"detail":"not streaming: \u001b[2Jgone"},
{"name":"journal","ok":true,"detail":"running"}],
"source":{"id":"default","state":"waiting","error":"gone","position":"0/10","lag_bytes":2048,
"reconnects":3,"received_bytes":1023,"transactions":1204,"events":90310},
"slot":{"name":"s","wal_status":"","retained_bytes":null,"safe_wal_bytes":5,"error":"gone"},
"journal":{"state":"running","bytes":67108864,"max_bytes":17179869184,"segments":1,
"oldest_sequence":1,"last_sequence":7},
"backfill":{"tables":2,"states":{"complete":1,"running":1},"rows_read":10},
"consumers":[{"name":"a","acknowledged":6,"lag_events":1,"delivered":6,"errors":0},
{"name":"b","acknowledged":7,"lag_events":0,"delivered":7,"errors":2}]})";

TEST(StatusScreen, ShowsEverythingAndNoControlCharacters) {
  EXPECT_EQ(status_screen(json::parse(kStatus).value()).value(),
            "kaptanto  1.2, up 3h05m, NOT READY\n"
            "          source: not streaming: ?[2Jgone\n"
            "source    default, waiting, at 0/10, 3 reconnects\n"
            "          1,204 transactions, 90,310 events, 1023 B received\n"
            "lag       2.0 KiB of WAL\n"
            "slot      s, -, the server keeps - for it, 5 B more are safe\n"
            "          unknown: gone\n"
            "journal   running, 64.0 MiB of 16.0 GiB in 1 files, events 1 to 7\n"
            "backfill  2 tables, 10 rows read, 1 complete, 1 running\n"
            "consumers a: 1 events behind, 6 delivered, 0 errors\n"
            "          b: 0 events behind, 7 delivered, 2 errors\n");
}

TEST(StatusScreen, RefusesWhatIsNoStatus) {
  for (const char* text : {"{}", "[]", "3", R"({"source":{},"slot":{}})"}) {
    const auto screen = status_screen(json::parse(text).value());
    ASSERT_FALSE(screen) << text;
    EXPECT_EQ(screen.error().code, Errc::kProtocol);
  }
}

TEST(StatusScreen, WritesSizesAndTimesForPeople) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1'536), "1.5 KiB");
  EXPECT_EQ(bytes_text((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(std::int64_t{5} << 60), "5120.0 PiB");
  EXPECT_EQ(duration_text(59), "59s");
  EXPECT_EQ(duration_text(61), "1m01s");
  EXPECT_EQ(duration_text(90'000), "1d01h");
}

}  // namespace
}  // namespace cdc::app
