// Prints what one render_value costs, in nanoseconds, for the values that rows are made of. Each
// line is the best of several rounds over a set of different texts, so that branches meet a mix
// of lengths.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "json/text_buffer.h"
#include "postgres/value_kind.h"

namespace {

using cdc::postgres::ValueKind;
using cdc::postgres::ValueType;

// Rounds shorter than a time slice, so that a busy machine still leaves some whole.
constexpr int kRounds = 1000;
constexpr int kPassesPerRound = 8;

std::vector<std::string> integers() {
  std::vector<std::string> texts;
  std::uint64_t value = 12345;
  for (int i = 0; i < 256; ++i) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    texts.push_back(std::to_string(value >> (24U + value % 40U)));
  }
  return texts;
}

// Cuts of a sentence, `size_min` to `size_max` bytes long.
std::vector<std::string> texts_of(std::string_view sentence,
                                  std::size_t size_min,
                                  std::size_t size_max) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 256; ++i) {
    texts.emplace_back(sentence.substr(i % 7, size_min + (i * 37) % (size_max - size_min + 1)));
  }
  return texts;
}

std::vector<std::string> timestamps(std::string_view zone) {
  std::vector<std::string> texts;
  for (int i = 0; i < 256; ++i) {
    char text[40];
    std::snprintf(text,
                  sizeof text,
                  "2026-%02d-%02d %02d:%02d:%02d.%d",
                  i % 12 + 1,
                  i % 28 + 1,
                  i % 24,
                  i % 60,
                  (i * 7) % 60,
                  1 + (i * 7919) % 999'999);
    texts.push_back(std::string(text) + std::string(zone));
  }
  return texts;
}

std::vector<std::string> integer_arrays() {
  const std::vector<std::string> elements = integers();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 256; ++i) {
    std::string text = "{";
    for (std::size_t k = 0; k < 10; ++k) {
      text += (k > 0 ? "," : "") + elements[(i * 10 + k) % elements.size()].substr(0, 6);
    }
    texts.push_back(text + "}");
  }
  return texts;
}

std::vector<std::string> documents() {
  std::vector<std::string> texts;
  for (int i = 0; i < 256; ++i) {
    texts.push_back("{\"id\": " + std::to_string(1000 + i) +
                    ", \"name\": \"Widget, large, blue\", \"tags\": [\"new\", \"sale\", "
                    "\"outdoor\"], \"price\": 19.90, "
                    "\"stock\": {\"berlin\": 12, \"lyon\": 0, \"porto\": 104}, \"active\": true, "
                    "\"note\": null, "
                    "\"text\": \"ships \\\"as is\\\"\"}");
  }
  return texts;
}

void measure(const char* name, ValueType type, const std::vector<std::string>& texts) {
  cdc::json::TextBuffer out;
  std::size_t bytes = 0;
  for (const std::string& text : texts) {
    bytes += text.size();
  }
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int pass = 0; pass < kPassesPerRound; ++pass) {
      out.clear();
      for (const std::string& text : texts) {
        cdc::postgres::render_value(type, text, out);
      }
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count() / kPassesPerRound / static_cast<double>(texts.size()));
  }
  std::printf("%-28s %7.1f ns %8.1f bytes\n",
              name,
              best,
              static_cast<double>(bytes) / static_cast<double>(texts.size()));
}

}  // namespace

int main() {
  const ValueType number{.kind = ValueKind::kNumber};
  const ValueType text;
  const ValueType json{.kind = ValueKind::kJson};
  constexpr std::string_view kAscii =
      "The quick brown fox jumps over the lazy dog, twice if it must. ";
  const std::string long_ascii = std::string(kAscii) + std::string(kAscii) + std::string(kAscii);
  constexpr std::string_view kUmlauts =
      "Grün süß öde Äpfel, größer als Übergrößen für Würze und Blüte";
  measure("integer", number, integers());
  measure("numeric 12.34", number, {"12.34", "1.50", "99999.99", "-0.25", "1234567.891"});
  measure("boolean", {.kind = ValueKind::kBoolean}, {"t", "f", "t", "t", "f"});
  measure("text 4 to 20", text, texts_of(kAscii, 4, 20));
  measure("text 100 to 180", text, texts_of(long_ascii, 100, 180));
  measure("text 30 to 50, umlauts", text, texts_of(kUmlauts, 30, 50));
  measure("timestamp", {.kind = ValueKind::kTimestamp}, timestamps(""));
  measure("timestamptz", {.kind = ValueKind::kTimestampTz}, timestamps("+00"));
  measure("integer array, 10",
          {.kind = ValueKind::kArray, .element = ValueKind::kNumber},
          integer_arrays());
  measure("text array, 4",
          {.kind = ValueKind::kArray},
          {"{alpha,beta,\"gamma delta\",NULL}", "{a,b,\"say \\\"so\\\"\",d}"});
  measure("jsonb", json, documents());
  return 0;
}
