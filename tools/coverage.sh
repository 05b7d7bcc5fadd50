#!/usr/bin/env bash
# Line coverage of the unit tests, per source file; the pages are in build/coverage/html.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
tree=build/coverage

cmake --preset coverage >/dev/null
cmake --build "$tree" -j "$jobs"
rm -rf "$tree/profiles"
LLVM_PROFILE_FILE="$PWD/$tree/profiles/%p-%m.profraw" \
  ctest --test-dir "$tree" -L '^unit$' -j "$jobs" --output-on-failure --no-tests=error
llvm-profdata-19 merge -sparse "$tree"/profiles/*.profraw -o "$tree/all.profdata"

# Paths in the coverage map are relative to the tree, so this runs in its root.
objects=()
while IFS= read -r program; do
  objects+=(-object "$program")
done < <(find "$tree/src" -type f -perm -u+x \( -name '*_test' -o -name '*_fuzz' \) | sort)
common=(-instr-profile="$tree/all.profdata" -ignore-filename-regex='/(tests|fuzz)/|^/usr/')
llvm-cov-19 show "${common[@]}" "${objects[@]}" -format=html -output-dir="$tree/html" >/dev/null
llvm-cov-19 report "${common[@]}" "${objects[@]}" -show-region-summary=false \
  -show-branch-summary=false
echo "coverage: $tree/html/index.html"
