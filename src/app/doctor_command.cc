#include "app/doctor_command.h"

#include <algorithm>
#include <string_view>

#include "base/format.h"

namespace cdc::app {
namespace {

using postgres::Check;
using postgres::Verdict;

std::string_view word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      break;
  }
  return "FAIL";
}

std::string_view json_word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      break;
  }
  return "fail";
}

std::ptrdiff_t count_of(const std::vector<Check>& checks, Verdict verdict) {
  return std::ranges::count_if(checks,
                               [&](const Check& check) { return check.verdict == verdict; });
}

void append_indented(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    out += cdc::format("      {}\n", line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

}  // namespace

std::string doctor_report(const std::vector<Check>& checks) {
  std::string out;
  for (const Check& check : checks) {
    out += cdc::format("{:<5} {}: {}\n", word_of(check.verdict), check.name, check.detail);
    append_indented(out, check.fix);
  }
  const auto failed = count_of(checks, Verdict::kFail);
  const auto warned = count_of(checks, Verdict::kWarn);
  out += cdc::format("\n{} checks: {} failed, {} with a warning\n", checks.size(), failed, warned);
  return out;
}

std::string doctor_report_json(const std::vector<Check>& checks) {
  std::string out = cdc::format(R"({{"ok":{},"checks":[)", count_of(checks, Verdict::kFail) == 0);
  for (const Check& check : checks) {
    out += cdc::format(R"({}{{"name":{},"verdict":"{}","detail":{},"fix":{}}})",
                       &check == &checks.front() ? "" : ",",
                       json_text(check.name),
                       json_word_of(check.verdict),
                       json_text(check.detail),
                       json_text(check.fix));
  }
  return out + "]}\n";
}

Result<int> doctor_command(const CommandLine& line,
                           const config::Config& config,
                           Console& console) {
  // Never requested: an interrupt ends this process at once, and there is nothing to undo.
  const StopSignal stop;
  const std::vector<Check> checks = postgres::examine_source(config, stop);
  CDC_TRY(console.print(line.json ? doctor_report_json(checks) : doctor_report(checks)));
  return count_of(checks, Verdict::kFail) == 0 ? 0 : kExitDoctorFault;
}

}  // namespace cdc::app
