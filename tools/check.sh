#!/usr/bin/env bash
# Format, tidy.py and clang-tidy over the whole tree. Nothing is built; clang-tidy needs only the
# compile commands of build/dev, and analyses what has changed since it was last found clean.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files -z '*.cc' '*.h' '*.c' | xargs -0 clang-format-19 --dry-run --Werror
python3 tools/tidy.py
cmake --preset dev >/dev/null
python3 tools/clang_tidy.py --build build/dev
