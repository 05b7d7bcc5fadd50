#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build folder, two at a time, and remembers clean results.

    tools/clang_tidy.py [--build build/dev] [FILE...]     (default: every source of the product)

A result is remembered under a hash of everything it depends on: the source and all headers of ours
that it reaches, its compile command, .clang-tidy, and the versions of clang-tidy and of the
packages whose headers are included. An unchanged file costs nothing, in this clone or another.
Only clean results are kept. The cache is $KAPTANTO_TIDY_CACHE, or ~/.cache/kaptanto/clang-tidy.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_TIDY = "clang-tidy-19"
HEADER_PACKAGES = [
    "clang-tidy-19", "libboost1.81-dev", "libc6-dev", "libcli11-dev", "libfmt-dev", "libpq-dev",
    "libsqlite3-dev", "libssl-dev", "libstdc++-12-dev", "libyaml-cpp-dev",
]
# Tests, fuzzers and benchmarks are not analysed: what is wrong with them shows when they run, and
# the macros of the test framework take the analyser several times as long as the product itself.


def is_test(path):
    return re.search(r"(^|/)(tests?|bench|fuzz)/", path) is not None


def reached_headers(path, seen):
    """All files of ours that `path` includes, directly or not."""
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', (ROOT / path).read_text(), re.MULTILINE):
        for candidate in (f"src/{name}", str(pathlib.PurePath(path).parent / name)):
            if candidate not in seen and (ROOT / candidate).is_file():
                seen.add(candidate)
                reached_headers(candidate, seen)
    return seen


def environment_hash():
    versions = subprocess.run(
        ["dpkg-query", "-W", *HEADER_PACKAGES], capture_output=True, text=True, check=False).stdout
    return hashlib.sha256((versions + (ROOT / ".clang-tidy").read_text()).encode()).hexdigest()


def key_of(path, command, environment):
    parts = [environment, command.replace(str(ROOT), "")]
    for file in [path, *sorted(reached_headers(path, set()))]:
        parts.append(file)
        parts.append((ROOT / file).read_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compile_commands(build):
    """Source path -> its compile command without the folders of this build."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if path.endswith(".cc") and not path.startswith(("..", "build/")) and not is_test(path):
            flags = [word for word in entry["command"].split() if word.startswith(("-D", "-std"))]
            commands[path] = " ".join(flags)
    return commands


def analyse(path, build):
    command = [CLANG_TIDY, "-p", str(build), "--quiet", str(ROOT / path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.replace(f"{ROOT}/", "") or done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/dev", help="folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()

    build = ROOT / options.build
    commands = compile_commands(build)
    wanted = [f for f in sorted(commands) if not options.files or f in options.files]
    cache = pathlib.Path(os.environ.get("KAPTANTO_TIDY_CACHE")
                         or pathlib.Path.home() / ".cache/kaptanto/clang-tidy")
    cache.mkdir(parents=True, exist_ok=True)

    environment = environment_hash()
    keys = {path: key_of(path, commands[path], environment) for path in wanted}
    pending = [path for path in wanted if not (cache / keys[path]).exists()]
    started, failed = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for path, (status, output) in zip(
                pending, pool.map(lambda path: analyse(path, build), pending), strict=True):
            if status == 0:
                (cache / keys[path]).touch()
            else:
                failed += 1
                print(f"-- {path}\n{output}", flush=True)
    print(f"clang-tidy: {len(wanted)} files, {len(pending)} analysed in "
          f"{time.monotonic() - started:.0f} s, {failed} with faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
