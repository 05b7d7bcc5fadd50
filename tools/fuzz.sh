#!/usr/bin/env bash
# Runs every fuzzer, or those named, for a while under AddressSanitizer and UBSan.
#
#   tools/fuzz.sh SECONDS [NAME...]
#
# New inputs that reach new code are kept in build/asan/.../NAME_found; inputs that fail are written
# to build/asan/fuzz-failures. To keep one for ever, copy it to the fuzzer's corpus folder.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: tools/fuzz.sh SECONDS [NAME...]}
shift
jobs=${JOBS:-$(nproc)}

cmake --preset asan >/dev/null
cmake --build build/asan -j "$jobs"
failures=$PWD/build/asan/fuzz-failures
mkdir -p "$failures"
export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_SYMBOLIZER_PATH=/usr/lib/llvm-19/bin/llvm-symbolizer

run_one() {
  local program=$1 name corpus
  name=$(basename "$program")
  corpus=$(find src -type d -path "*/fuzz/corpus/${name%_fuzz}" -print -quit)
  echo "== $name, $seconds s"
  "$program" "-max_total_time=$seconds" -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
    "-artifact_prefix=$failures/$name-" "${program}_found" ${corpus:+"$corpus"}
}

status=0
for program in $(find build/asan/src -type f -name '*_fuzz' -perm -u+x | sort); do
  if [ $# -eq 0 ] || [[ " $* " == *" $(basename "$program") "* ]]; then
    run_one "$program" || status=1
  fi
done
if [ $status -ne 0 ]; then
  echo "fuzz: failing inputs are in $failures" >&2
fi
exit $status
