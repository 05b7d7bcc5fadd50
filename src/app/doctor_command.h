#pragma once

#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/console.h"
#include "config/config.h"
#include "postgres/doctor.h"

namespace cdc::app {

// `doctor`: examines the source and prints one line per check. The result is the exit status:
// kExitDoctorFault when a check fails.
[[nodiscard]] Result<int> doctor_command(const CommandLine& line,
                                         const config::Config& config,
                                         Console& console);

// The report for people, and as one JSON object:
// {"ok":..,"checks":[{"name","verdict","detail","fix"}]}.
[[nodiscard]] std::string doctor_report(const std::vector<postgres::Check>& checks);
[[nodiscard]] std::string doctor_report_json(const std::vector<postgres::Check>& checks);

}  // namespace cdc::app
