#include "base/error.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace cdc {

std::string_view name_of(Errc code) noexcept {
  switch (code) {
    case Errc::kInternal:
      return "internal";
    case Errc::kInvalidArgument:
      return "invalid_argument";
    case Errc::kConfigInvalid:
      return "config_invalid";
    case Errc::kUnavailable:
      return "unavailable";
    case Errc::kAuthentication:
      return "authentication";
    case Errc::kPermission:
      return "permission";
    case Errc::kSourceSetup:
      return "source_setup";
    case Errc::kSlotBusy:
      return "slot_busy";
    case Errc::kSlotLost:
      return "slot_lost";
    case Errc::kSlotForeign:
      return "slot_foreign";
    case Errc::kSlotGap:
      return "slot_gap";
    case Errc::kProtocol:
      return "protocol";
    case Errc::kUnsupported:
      return "unsupported";
    case Errc::kLocked:
      return "locked";
    case Errc::kCorrupt:
      return "corrupt";
    case Errc::kVersion:
      return "version";
    case Errc::kIo:
      return "io";
    case Errc::kNoSpace:
      return "no_space";
    case Errc::kClosed:
      return "closed";
    case Errc::kNotFound:
      return "not_found";
    case Errc::kLimit:
      return "limit";
  }
  return "unknown";
}

int exit_status(Errc code) noexcept {
  switch (code) {
    case Errc::kInvalidArgument:
      return 2;
    case Errc::kConfigInvalid:
    case Errc::kUnsupported:
      return 3;
    case Errc::kUnavailable:
    case Errc::kAuthentication:
    case Errc::kPermission:
    case Errc::kSourceSetup:
    case Errc::kSlotBusy:
    case Errc::kProtocol:
      return 4;
    case Errc::kSlotLost:
    case Errc::kSlotForeign:
    case Errc::kSlotGap:
      return 5;
    case Errc::kLocked:
      return 6;
    case Errc::kCorrupt:
    case Errc::kVersion:
      return 7;
    case Errc::kIo:
    case Errc::kNoSpace:
      return 8;
    case Errc::kClosed:
      return 9;
    case Errc::kInternal:
    case Errc::kNotFound:
    case Errc::kLimit:
      return 1;
  }
  return 1;
}

std::string Error::to_string() const {
  std::string text = message;
  if (!hint.empty()) {
    text += " (";
    text += hint;
    text += ')';
  }
  return text;
}

Error make_error(Errc code, std::string message, std::string hint) {
  return Error{.code = code, .message = std::move(message), .hint = std::move(hint), .os_error = 0};
}

Error make_os_error(int os_error, std::string message, std::string hint) {
  const bool full = os_error == ENOSPC || os_error == EDQUOT;
  message += ": ";
  message += std::system_category().message(os_error);
  return Error{.code = full ? Errc::kNoSpace : Errc::kIo,
               .message = std::move(message),
               .hint = std::move(hint),
               .os_error = os_error};
}

Error with_context(Error error, std::string_view context) {
  std::string message(context);
  message += ": ";
  message += error.message;
  error.message = std::move(message);
  return error;
}

}  // namespace cdc
