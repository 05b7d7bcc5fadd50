// Proves what the backfill commands ask of a running process, what they show of it and of one that
// does not run, and how they fail.
#include "app/backfill_command.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "app/backfill_view.h"
#include "app/program.h"
#include "base/format.h"
#include "http/server.h"
#include "serve/admin_api.h"

namespace cdc::app {
namespace {

using state::BackfillState;
using state::BackfillTable;

struct Finished {
  int status = -1;
  std::string out;
  std::string error;
};

Finished run_words(const std::vector<std::string>& words) {
  char* texts[2] = {nullptr, nullptr};
  std::size_t sizes[2] = {0, 0};
  std::FILE* streams[2] = {::open_memstream(&texts[0], &sizes[0]),
                           ::open_memstream(&texts[1], &sizes[1])};
  Console console(streams[0], streams[1]);
  Finished finished;
  finished.status = run_program(words, {}, console);
  std::fclose(streams[0]);
  std::fclose(streams[1]);
  finished.out.assign(texts[0], sizes[0]);
  finished.error.assign(texts[1], sizes[1]);
  std::free(texts[0]);
  std::free(texts[1]);
  return finished;
}

BackfillTable running_table() {
  BackfillTable table;
  table.table = "public.orders";
  table.state = BackfillState::kRunning;
  table.rows_total = 4000;
  table.rows_read = 1000;
  table.started = UnixMicros{1'700'000'000'000'000};
  table.updated = UnixMicros{1'700'000'010'000'000};
  return table;
}

BackfillTable failed_table() {
  BackfillTable table;
  table.table = "public.t";
  table.state = BackfillState::kFailed;
  table.reason_code = "permission";
  table.reason = "no right to read\npublic.t";
  return table;
}

class FakeControl final : public snapshot::Control {
 public:
  [[nodiscard]] std::vector<BackfillTable> status() const override {
    return {running_table(), failed_table()};
  }

  Result<std::string> start(std::string_view table, std::string_view where) override {
    return asked(format("start {} where {}", table, where));
  }

  Result<std::string> pause(std::string_view table) override {
    return asked(format("pause {}", table));
  }

  Result<std::string> resume(std::string_view table) override {
    return asked(format("resume {}", table));
  }

  Result<std::string> cancel(std::string_view table) override {
    return asked(format("cancel {}", table));
  }

  Errc refusal = Errc::kInternal;  // none
  std::vector<std::string> requests;

 private:
  Result<std::string> asked(std::string request) {
    requests.push_back(std::move(request));
    if (refusal != Errc::kInternal) {
      return fail(refusal, "it is complete", "start it anew");
    }
    return "public.orders";
  }
};

// A directory, and a process that listens on the port after `port()` until stopped.
class BackfillCommand : public ::testing::Test {
 protected:
  BackfillCommand() {
    std::string name = (std::filesystem::temp_directory_path() / "backfill-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    http::Router router;
    serve::add_admin_routes(router, control_);
    server_ = http::Server::listen({}, std::move(router)).value();
    server_->start();
    admin_port_ = server_->port();
  }

  ~BackfillCommand() override { std::filesystem::remove_all(directory_); }

  Finished command(std::vector<std::string> words) const {
    words.insert(words.begin(), "backfill");
    words.insert(words.end(),
                 {"--port", std::to_string(admin_port_ - 1), "--data-dir", directory_.string()});
    return run_words(words);
  }

  FakeControl control_;
  std::unique_ptr<http::Server> server_;
  int admin_port_ = 0;
  std::filesystem::path directory_;
};

TEST_F(BackfillCommand, StatusShowsTheRunningProcess) {
  const Finished all = command({"status"});
  EXPECT_EQ(all.status, 0) << all.error;
  EXPECT_EQ(all.out,
            "TABLE          STATE    ROWS  EXPECTED     %  ROWS/S  LEFT\n"
            "public.orders  running  1000      4000  25.0     100   30s\n"
            "public.t       failed      0         -     -       -     -\n"
            "    permission: no right to read?public.t\n");
  const Finished one = command({"status", "\"orders\""});
  EXPECT_TRUE(one.out.contains("public.orders")) << one.error;
  EXPECT_FALSE(one.out.contains("public.t"));
  const Finished json = command({"status", "orders", "--json"});
  EXPECT_TRUE(json.out.starts_with(
      "{\"running\":true,\"backfills\":[{\"table\":\"public.orders\",\"state\":\"running\","))
      << json.out;
  const Finished none = command({"status", "other"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.error,
            "kaptanto: no table \"other\" is captured (`kaptanto backfill status` lists those that "
            "are)\n");
}

TEST_F(BackfillCommand, ChangesAreAskedOfTheRunningProcess) {
  const Finished started = command({"start", "public.\"or/ders\"", "--where", "a = \"b\""});
  EXPECT_EQ(started.status, 0) << started.error;
  EXPECT_EQ(started.out,
            "public.orders: start is under way; `kaptanto backfill status` shows it\n");
  EXPECT_EQ(command({"start", "orders"}).status, 0);
  for (const char* verb : {"pause", "resume", "cancel"}) {
    EXPECT_EQ(command({verb, "\"a/b\""}).status, 0);
  }
  EXPECT_EQ(control_.requests,
            (std::vector<std::string>{"start public.\"or/ders\" where a = \"b\"",
                                      "start orders where ",
                                      "pause \"a/b\"",
                                      "resume \"a/b\"",
                                      "cancel \"a/b\""}));
  EXPECT_EQ(command({"pause", "orders", "--json"}).out, "{\"table\":\"public.orders\"}\n");
}

TEST_F(BackfillCommand, RefusalsAreToldInTheWordsOfTheProcess) {
  control_.refusal = Errc::kInvalidArgument;
  const Finished refused = command({"pause", "orders"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.error, "kaptanto: it is complete (start it anew)\n");
  control_.refusal = Errc::kNotFound;
  EXPECT_EQ(command({"pause", "orders"}).status, 2);
  control_.refusal = Errc::kUnavailable;
  EXPECT_EQ(command({"pause", "orders"}).status, 4);
}

TEST_F(BackfillCommand, WithoutAProcessStatusShowsWhatWasSaved) {
  server_->stop(std::chrono::milliseconds{0});
  const Finished nothing = command({"status"});
  EXPECT_EQ(nothing.status, 4);
  EXPECT_TRUE(nothing.error.contains("Connection refused, and ")) << nothing.error;
  EXPECT_TRUE(nothing.error.contains("backfill.db does not exist (is kaptanto running?"))
      << nothing.error;

  auto store = state::BackfillStore::open(directory_ / "backfill.db").value();
  ASSERT_TRUE(store->save_tables("default", {running_table()}).has_value());
  const Finished saved = command({"status"});
  EXPECT_EQ(saved.status, 0) << saved.error;
  EXPECT_EQ(saved.out,
            format("kaptanto is not running (127.0.0.1:{}: Connection refused); as it was last "
                   "saved:\n"
                   "TABLE          STATE    ROWS  EXPECTED     %  ROWS/S  LEFT\n"
                   "public.orders  running  1000      4000  25.0     100     -\n",
                   admin_port_));
  EXPECT_TRUE(command({"status", "--json"}).out.starts_with("{\"running\":false,"));
  EXPECT_EQ(command({"status", "--source-id", "other"}).out,
            format("kaptanto is not running (127.0.0.1:{}: Connection refused); as it was last "
                   "saved:\nno table has a backfill yet\n",
                   admin_port_));

  const Finished start = command({"start", "orders"});
  EXPECT_EQ(start.status, 4);
  EXPECT_EQ(start.error,
            format("kaptanto: 127.0.0.1:{}: Connection refused (is kaptanto running? --config, or "
                   "--port and --admin-address, must be those of the process)\n",
                   admin_port_));
}

TEST_F(BackfillCommand, AdminApiThatIsOffIsSaid) {
  const Finished off = command({"start", "orders", "--admin-enabled=false"});
  EXPECT_EQ(off.status, 4);
  EXPECT_EQ(off.error,
            "kaptanto: the admin API is off (set admin.enabled to true and restart the process)\n");
  EXPECT_TRUE(control_.requests.empty());
}

TEST_F(BackfillCommand, OtherProgramsAreRecognised) {
  const auto other = http::Server::listen({}, {}).value();
  other->start();
  admin_port_ = other->port();
  const Finished finished = command({"status"});
  EXPECT_EQ(finished.status, 2);  // a server of ours that has no such path
  EXPECT_EQ(finished.error, "kaptanto: there is nothing at this path\n");
}

TEST_F(BackfillCommand, FaultsElsewhereInTheConfigurationDoNotMatter) {
  EXPECT_EQ(command({"status", "--admin-address", "0.0.0.0"}).status, 0);
  const Finished faulty = command({"status", "--admin-address", "here"});
  EXPECT_EQ(faulty.status, 3);
  EXPECT_TRUE(faulty.error.contains("--admin-address: is not an IP address")) << faulty.error;
}

TEST(BackfillView, AlignsByCharactersAndRoundsTimes) {
  BackfillTable slow = running_table();
  slow.table = "public.\xC3\xA9t\xC3\xA9";
  slow.rows_total = 2'000'000'000;
  BackfillTable finished = running_table();
  finished.state = BackfillState::kComplete;
  finished.finished = UnixMicros{1'700'000'001'000'000};
  BackfillTable hours = running_table();
  hours.rows_total = 1'001'000;
  EXPECT_EQ(backfill_table({slow, finished, hours}, true),
            "TABLE          STATE     ROWS    EXPECTED      %  ROWS/S    LEFT\n"
            "public.\xC3\xA9t\xC3\xA9     running   1000  2000000000    0.0     100  99d00h\n"
            "public.orders  complete  1000        4000  100.0    1000       -\n"
            "public.orders  running   1000     1001000    0.1     100   2h46m\n");
  EXPECT_EQ(backfill_table({}, true), "no table has a backfill yet\n");
}

}  // namespace
}  // namespace cdc::app
