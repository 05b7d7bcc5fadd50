#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cdc {

// What went wrong, in terms a caller can act on. Values are stable: they appear in JSON output and
// decide the exit status of the process (see exit_status()).
enum class Errc : std::uint8_t {
  kInternal = 1,         // a fault of ours
  kInvalidArgument = 2,  // a flag or an argument of a call
  kConfigInvalid = 3,    // configuration file, environment or flags
  kUnavailable = 4,      // network or server away for now; worth a retry
  kAuthentication = 5,   // password, certificate, pg_hba
  kPermission = 6,       // a right or a role attribute is missing
  kSourceSetup = 7,      // server setting, publication, replica identity
  kSlotBusy = 8,         // another process streams from the slot; worth a retry
  kSlotLost = 9,         // slot missing or invalidated after it was in use
  kSlotForeign = 10,     // slot of another plugin, database or server
  kSlotGap = 11,         // the slot has moved past our durable position
  kProtocol = 12,        // the server sent what we cannot decode
  kUnsupported = 13,     // not in this version of the product or of the server
  kLocked = 14,          // another process owns the data directory
  kCorrupt = 15,         // persisted data fails its checks
  kVersion = 16,         // persisted data of a newer version
  kIo = 17,              // operating system error on a file
  kNoSpace = 18,         // disk or quota full
  kClosed = 19,          // the other end of an output is gone, or we are stopping
  kNotFound = 20,
  kLimit = 21,  // a stated bound was exceeded
};

// Stable lower-case name, e.g. "slot_lost".
[[nodiscard]] std::string_view name_of(Errc code) noexcept;

// An operating failure. `message` says what and where, `hint` how to mend it (may be empty).
// Neither ever holds a secret.
struct [[nodiscard]] Error {
  Errc code = Errc::kInternal;
  std::string message;
  std::string hint;
  int os_error = 0;  // errno, or 0

  // The same attempt may succeed later without anyone changing anything.
  [[nodiscard]] bool is_retryable() const noexcept {
    return code == Errc::kUnavailable || code == Errc::kSlotBusy;
  }

  // "message (hint)" on one line.
  [[nodiscard]] std::string to_string() const;
};

[[nodiscard]] Error make_error(Errc code, std::string message, std::string hint = {});

// Adds strerror(os_error) to the message; ENOSPC and EDQUOT become kNoSpace, the rest kIo.
[[nodiscard]] Error make_os_error(int os_error, std::string message, std::string hint = {});

// Puts `context` and ": " before the message.
[[nodiscard]] Error with_context(Error error, std::string_view context);

// Exit statuses of the process, documented in docs/operating/exit-status.md.
//   0 success or asked to stop       5 slot lost, foreign or moved on    9 output closed or failed
//   1 internal fault                 6 data directory locked or bad     10 doctor found a fault
//   2 usage                          7 journal corrupt or newer
//   3 configuration                  8 disk error
//   4 source refused us for good
[[nodiscard]] int exit_status(Errc code) noexcept;
inline constexpr int kExitDoctorFault = 10;

}  // namespace cdc
