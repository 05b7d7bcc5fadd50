#pragma once

#include <string>

namespace cdc::config {

// What `kaptanto schema` prints, published as schemas/kaptanto.schema.json: JSON Schema 2020-12 of
// the configuration file, for editors. It accepts `${VAR}` wherever the program does.
[[nodiscard]] std::string json_schema();

// The text of docs/operating/configuration.md.
[[nodiscard]] std::string configuration_markdown();

}  // namespace cdc::config
