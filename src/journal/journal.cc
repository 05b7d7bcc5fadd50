#include "journal/journal.h"

#include <utility>

#include "journal/internal/journal_writer.h"

namespace cdc::journal {

Result<std::unique_ptr<Journal>> Journal::open(FileSystem& file_system, Options options) {
  CDC_TRY(file_system.create_directory(options.directory));
  CDC_ASSIGN(auto lock, file_system.lock(options.directory / kLockName));
  auto journal = std::make_unique<JournalWriter>(file_system, std::move(options), std::move(lock));
  CDC_TRY(journal->start());
  return journal;
}

}  // namespace cdc::journal
