#include "app/admin_client.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/format.h"
#include "json/value.h"

namespace cdc::app {
namespace {

constexpr std::array<std::string_view, 5> kNeededKeys{
    "port", "data-dir", "source-id", "admin.address", "admin.enabled"};

// Where the process can be reached that listens on this address: one that stands for every network
// is no place to go.
std::string reachable(const std::string& address) {
  if (address == "0.0.0.0") {
    return "127.0.0.1";
  }
  return address == "::" ? "::1" : address;
}

Errc code_named(std::string_view name) {
  if (name == cdc::name_of(Errc::kUnavailable)) {
    return Errc::kUnavailable;
  }
  // What the process refuses to do is what the user asked wrongly.
  const bool is_wrong_use =
      name == cdc::name_of(Errc::kNotFound) || name == cdc::name_of(Errc::kInvalidArgument);
  return is_wrong_use ? Errc::kInvalidArgument : Errc::kInternal;
}

}  // namespace

// A fault without a key is one of the whole file, of a flag or of a variable.
Result<config::Config> admin_configuration(const config::LoadInputs& inputs) {
  config::Loaded loaded = config::load(inputs);
  std::erase_if(loaded.faults, [](const config::Fault& fault) {
    return !fault.key.empty() && std::ranges::find(kNeededKeys, fault.key) == kNeededKeys.end();
  });
  if (!loaded.ok()) {
    return fail(config::to_error(loaded.faults));
  }
  return std::move(loaded.config);
}

Result<http::Reply> ask_process(const config::Config& config,
                                http::Method method,
                                std::string target,
                                std::string body) {
  if (!config.admin.enabled) {
    return fail(Errc::kUnavailable,
                "the admin API is off",
                "set admin.enabled to true and restart the process");
  }
  auto reply = http::call({.address = reachable(config.admin.address),
                           .port = static_cast<std::uint16_t>(config.port + 1),
                           .method = method,
                           .target = std::move(target),
                           .body = std::move(body)});
  if (!reply && reply.error().code == Errc::kUnavailable) {
    reply.error().hint =
        "is kaptanto running? --config, or --port and --admin-address, must be those of the "
        "process";
  }
  return reply;
}

Error refusal_in(const http::Reply& reply) {
  const auto document = json::parse(reply.body);
  const json::Value* error = document ? document->find("error") : nullptr;
  const auto message = error == nullptr ? std::nullopt : error->text_of("message");
  if (!message) {
    return make_error(
        Errc::kProtocol,
        cdc::format("the answer, with status {}, is not one of kaptanto", reply.status),
        "another program may listen on that port");
  }
  return make_error(code_named(error->text_of("code").value_or("")),
                    std::string(*message),
                    std::string(error->text_of("hint").value_or("")));
}

}  // namespace cdc::app
