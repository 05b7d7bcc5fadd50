#!/usr/bin/env bash
# The crash loop for long: tools/crash.sh [CYCLES] [further arguments of crash_loop.py]
set -euo pipefail
cd "$(dirname "$0")/.."
cycles=${1:-300}
shift || true
exec /usr/bin/python3 tests/crash/crash_loop.py --cycles "$cycles" "$@"
