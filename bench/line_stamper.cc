// Reads events from standard input and notes when each line was there.
//
//   line_stamper COUNT FILE     ends after COUNT lines, or at the end of the input
//
// FILE: "id arrival_us" per line; the id is the number behind the first `"key":{"id":`.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/clock.h"

namespace {

struct Stamp {
  std::int64_t id = 0;
  std::int64_t arrival_us = 0;
};

std::int64_t id_of(std::string_view line) {
  constexpr std::string_view kMark = R"("key":{"id":)";
  const auto at = line.find(kMark);
  std::int64_t id = -1;
  if (at != std::string_view::npos) {
    const char* from = line.data() + at + kMark.size();
    std::from_chars(from, line.data() + line.size(), id);
  }
  return id;
}

void stamp_lines(std::string& held, std::vector<Stamp>& stamps) {
  const std::int64_t now = cdc::unix_now().value;
  std::size_t begin = 0;
  for (auto end = held.find('\n'); end != std::string::npos; end = held.find('\n', begin)) {
    stamps.push_back({id_of(std::string_view(held).substr(begin, end - begin)), now});
    begin = end + 1;
  }
  held.erase(0, begin);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: line_stamper COUNT FILE\n", stderr);
    return 2;
  }
  const std::string_view count_text = argv[1];
  std::size_t count = 0;
  std::from_chars(count_text.data(), count_text.data() + count_text.size(), count);
  std::vector<Stamp> stamps;
  stamps.reserve(count);
  std::string held;
  std::vector<char> buffer(1U << 16U);
  while (stamps.size() < count) {
    const ssize_t taken = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (taken <= 0) {
      break;
    }
    held.append(buffer.data(), static_cast<std::size_t>(taken));
    stamp_lines(held, stamps);
  }
  std::FILE* file = std::fopen(argv[2], "w");
  if (file == nullptr) {
    std::perror(argv[2]);
    return 1;
  }
  for (const Stamp& stamp : stamps) {
    std::fprintf(file,
                 "%lld %lld\n",
                 static_cast<long long>(stamp.id),
                 static_cast<long long>(stamp.arrival_us));
  }
  return std::fclose(file) == 0 ? 0 : 1;
}
