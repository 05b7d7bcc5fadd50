#include "app/status_command.h"

#include <string>
#include <string_view>

#include <poll.h>
#include <unistd.h>

#include "app/admin_client.h"
#include "app/run.h"
#include "app/status_view.h"
#include "base/format.h"
#include "json/value.h"

namespace cdc::app {
namespace {

constexpr int kWatchMillis = 2'000;
// Clears a terminal and goes to its top.
constexpr std::string_view kClear = "\x1B[H\x1B[2J";

Result<std::string> status_text(const CommandLine& line, const config::Config& config) {
  CDC_ASSIGN(const auto reply, ask_process(config, http::Method::kGet, "/api/v1/status", {}));
  if (reply.status != 200) {
    return fail(refusal_in(reply));
  }
  if (line.json) {
    return reply.body;
  }
  const auto status = json::parse(reply.body);
  if (!status) {
    return fail(Errc::kProtocol,
                "the answer is not one of kaptanto",
                "another program may listen on that port");
  }
  return status_screen(*status);
}

Result<int> watch(const CommandLine& line, const config::Config& config, Console& console) {
  const UniqueFd signals = take_signals();
  const bool clears = !line.json && ::isatty(STDOUT_FILENO) == 1;
  for (bool first = true;; first = false) {
    auto text = status_text(line, config);
    if (!text && first) {
      return fail(text.error());
    }
    // What was last seen stays while the process is away, with the reason below.
    if (!text) {
      console.report(text.error(), line.json);
    } else {
      CDC_TRY(console.print(clears ? cdc::format("{}{}", kClear, *text) : *text));
    }
    CDC_TRY(console.flush());
    pollfd poller{signals.get(), POLLIN, 0};
    if (::poll(&poller, 1, kWatchMillis) > 0) {
      return 0;
    }
  }
}

}  // namespace

Result<int> status_command(const CommandLine& line,
                           const config::LoadInputs& inputs,
                           Console& console) {
  CDC_ASSIGN(const config::Config config, admin_configuration(inputs));
  if (line.has("watch")) {
    return watch(line, config, console);
  }
  CDC_ASSIGN(const std::string text, status_text(line, config));
  CDC_TRY(console.print(text));
  return 0;
}

}  // namespace cdc::app
