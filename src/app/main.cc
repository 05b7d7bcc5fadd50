#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "app/console.h"
#include "app/environment.h"
#include "app/program.h"
#include "app/standard_descriptors.h"

int main(int argc, char** argv) {
  cdc::app::occupy_standard_descriptors();
  cdc::app::Console console(stdout, stderr);
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    cdc::app::hide_secret_arguments(argc, argv);
    return cdc::app::run_program(arguments, cdc::app::read_environment(), console);
  } catch (const std::exception& exception) {
    // Memory ran out, or a fault of ours.
    console.report(cdc::make_error(cdc::Errc::kInternal, exception.what()), false);
    return cdc::exit_status(cdc::Errc::kInternal);
  }
}
