#include "app/journal_command.h"

#include <utility>

#include "journal/file_system.h"
#include "journal/inspect.h"

namespace cdc::app {

Result<int> journal_inspect_command(const CommandLine& line, Console& console) {
  journal::PosixFileSystem files;
  // What cannot be printed is remembered and told at the end: the inspection has no way to stop.
  Status printed;
  auto inspection = journal::inspect(files,
                                     line.argument,
                                     {.events = line.has("events"), .json = line.json},
                                     [&](std::string_view text) {
                                       if (printed) {
                                         printed = console.print(text);
                                       }
                                     });
  CDC_TRY(printed);
  if (!inspection) {
    Error error = std::move(inspection.error());
    if (error.code == Errc::kNotFound) {
      error.code = Errc::kInvalidArgument;
    }
    return fail(std::move(error));
  }
  return 0;
}

}  // namespace cdc::app
