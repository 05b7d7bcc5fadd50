// Parses arbitrary text as a condition; what parses must evaluate for operands of every kind, and a
// refusal must be one line with a place.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "expr/condition.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cdc::expr::Operand;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto condition = cdc::expr::Condition::parse(text);
  if (!condition) {
    CDC_ASSERT(condition.error().code == cdc::Errc::kConfigInvalid);
    CDC_ASSERT(condition.error().message.find('\n') == std::string::npos);
    return 0;
  }
  const std::vector<Operand> kinds{
      {.kind = Operand::Kind::kMissing, .text = {}},
      {.kind = Operand::Kind::kNull, .text = {}},
      {.kind = Operand::Kind::kText, .text = text},
      {.kind = Operand::Kind::kNumber, .text = "-12.50"},
      {.kind = Operand::Kind::kNumber, .text = "NaN"},
      {.kind = Operand::Kind::kBoolean, .text = "t"},
  };
  std::vector<Operand> values(condition->columns().size());
  for (std::size_t shift = 0; shift < kinds.size(); ++shift) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = kinds[(i + shift) % kinds.size()];
    }
    const bool result = condition->evaluate(values);
    CDC_ASSERT(result == condition->evaluate(values));
  }
  return 0;
}
