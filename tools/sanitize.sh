#!/usr/bin/env bash
# Builds the tree with a sanitizer and runs what it is for.
#
#   tools/sanitize.sh asan   unit tests and a few seconds of every fuzzer: AddressSanitizer, UBSan
#   tools/sanitize.sh tsan   unit tests: ThreadSanitizer
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  asan) labels='^(unit|fuzz)$' ;;
  tsan) labels='^unit$' ;;
  *)
    echo "usage: tools/sanitize.sh asan|tsan" >&2
    exit 2
    ;;
esac
tree=build/$1
jobs=${JOBS:-$(nproc)}

cmake --preset "$1" >/dev/null
cmake --build "$tree" -j "$jobs"

symbolizer=/usr/lib/llvm-19/bin/llvm-symbolizer
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=second_deadlock_stack=1:halt_on_error=1
export ASAN_SYMBOLIZER_PATH=$symbolizer TSAN_SYMBOLIZER_PATH=$symbolizer
ctest --test-dir "$tree" -L "$labels" -j "$jobs" --output-on-failure --no-tests=error \
  --no-label-summary
