#!/usr/bin/env bash
# All of `make test`, from the cheapest fault to the dearest. Any stage that fails ends the run with
# its status. The last lines are the summary of the test runner over all tests of the tree.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
export CMAKE_COLOR_DIAGNOSTICS=OFF

stage() {
  local name=$1 started=$SECONDS status=0
  shift
  echo "== $name"
  "$@" || status=$?
  echo "== $name: $((SECONDS - started)) s"
  if [ $status -ne 0 ]; then
    echo "== FAILED: $name (status $status)" >&2
    exit $status
  fi
}

check_format() {
  git ls-files -z '*.cc' '*.h' '*.c' | xargs -0 clang-format-19 --dry-run --Werror
}

build_dev() {
  cmake --preset dev >/dev/null && cmake --build build/dev -j "$jobs"
}

unit_tests() {
  ctest --test-dir build/dev -L '^unit$' -j "$jobs" --output-on-failure --no-tests=error \
    --no-label-summary
}

all_tests() {
  ctest --test-dir build/dev -j "$jobs" --output-on-failure --no-tests=error --no-label-summary
}

stage "dependencies" make deps
stage "format" check_format
stage "tidy.py" python3 tools/tidy.py
stage "build, warnings as errors" build_dev
stage "unit tests" unit_tests
stage "clang-tidy" python3 tools/clang_tidy.py --build build/dev --jobs "$jobs"
stage "release binary" make build
stage "AddressSanitizer, UBSan, short fuzz run" tools/sanitize.sh asan
stage "ThreadSanitizer" tools/sanitize.sh tsan

echo "== all tests"
export KAPTANTO_BIN=$PWD/build/release/kaptanto
all_tests
