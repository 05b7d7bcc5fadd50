#!/usr/bin/env python3
"""Checks the rules of STYLE.md that compilers and clang-tidy cannot see.

    tools/tidy.py            checks the whole tree
    tools/tidy.py FILE...    checks only the given files, and what concerns the tree as a whole

Prints one line per fault, `path:line: what, and what to do instead`, and exits 1 if there is any.
"""

import pathlib
import re
import subprocess
import sys

# The module graph: each module, and the modules it may use. Includes and CMake must say the same.
MODULES = {
    "base": [],
    "json": ["base"],
    "model": ["base", "json"],
    "config": ["base", "expr", "json", "model"],
    "expr": ["base"],
    "journal": ["base", "json", "model"],
    "state": ["base"],
    "postgres": ["base", "config", "expr", "json", "model", "state"],
    "delivery": ["base", "journal", "model", "state"],
    "sink_stdout": ["base", "delivery", "journal"],
    "snapshot": ["base", "config", "expr", "model", "postgres", "state"],
    "capture": ["base", "config", "model", "postgres", "snapshot", "state"],
    "http": ["base", "json"],
    "serve": ["base", "expr", "http", "journal", "json", "model", "snapshot", "state"],
    "app": ["base", "capture", "config", "delivery", "http", "journal", "json", "postgres", "serve",
            "sink_stdout", "snapshot", "state"],
}

# Third-party headers, and the one module that may include them (tests are free).
THIRD_PARTY = {
    r"fmt/": "base",
    r"xxhash\.h": "base",
    r"yaml-cpp/": "config",
    r"sqlite3\.h": "state",
    r"libpq-fe\.h|libpq/|postgres_ext\.h": "postgres",
    r"CLI/": "app",
    r"boost/json": "json",
    r"boost/(?!json)": "http",
    r"openssl/ssl\.h": "postgres",
    r"openssl/crypto\.h": "app",
}

LINE_MAX = 100
FILE_LINES_MAX = 800
HEADER_LINES_MAX = 300
FUNCTION_LINES_MAX = 70

# (pattern in code without comments and strings, what to do instead, paths where it is allowed)
TESTS = r"/tests?/|^tests/|^bench/|/fuzz/"
BANNED = [
    (r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b", "wait with poll() and a deadline", None),
    (r"(?<![\w.>])system\s*\(", "no shell: call what you need", None),
    (r"\bstd::regex\b", "write a small parser: std::regex is slow and recursive", None),
    (r"\bstd::(?:cout|cerr|clog)\b", "use base/log.h, or write to the descriptor", TESTS),
    # Wrapped at once is fine: make_unique cannot reach a private constructor.
    (r"^(?!.*\bunique_ptr<).*?\b(new\s+[A-Za-z_(])", "use std::make_unique or a value", None),
    (r"\bdelete\s+[A-Za-z_(*]", "let an owner release it", None),
    (r"\b(?:malloc|calloc|realloc)\s*\(", "use a container", None),
    (r"\bstd::expected\b", "use Result<T> of base/result.h", r"^src/base/result\.h$"),
    (r"\bstd::(?:ranges::)?views\b", "write the loop: adaptors do not compile everywhere", None),
    (r"\bstd::(?:format|print|println)\b", "use cdc::format of base/format.h", None),
    (r"\bthrow\b", "return an Error: we do not throw", TESTS),
    (r"\b(?:rand|srand|strtok|gmtime|localtime|asctime|ctime)\s*\(", "not thread-safe", None),
    (r"\bnamespace\s+(?:util|utils|common|helper|helpers)\b", "name what it holds", TESTS),
    (r"#\s*include\s*<(?:mutex|atomic|thread|condition_variable|future|shared_mutex)>",
     "threads talk through base/sync", TESTS + r"|^src/base/sync/"),
    (r"#\s*include\s*<(?:regex|iostream|ranges|format|print|generator)>",
     "not in this tree's subset of C++23", TESTS),
]

FORMAT_HEADINGS = ("Purpose", "Layout", "Limits", "Endings", "Invariants", "Example")

TEXT_SUFFIXES = {".cc", ".h", ".c", ".py", ".sh", ".cmake", ".md", ".txt", ".json", ".yaml", ".yml"}
TEXT_NAMES = {"Makefile", "run", ".clang-format", ".clang-tidy", ".gitignore"}
CODE_SUFFIXES = {".cc", ".h", ".c"}
WIDTH_SUFFIXES = CODE_SUFFIXES | {".py", ".sh", ".cmake"}
MACHINE_PATH = re.compile(r"(?<![\w.])(?:/wor[k]/|/tmp/[w]/|/home/\w)")
COMMENT_OR_STRING = re.compile(
    r'R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"|//[^\n]*|/\*.*?\*/'
    r'|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


class Tidy:
    def __init__(self, root, files):
        self.root = pathlib.Path(root)
        self.files = files
        self.faults = []
        self.texts = {}

    def fault(self, path, line, message):
        self.faults.append((str(path), line, message))

    def text(self, path):
        if path not in self.texts:
            self.texts[path] = (self.root / path).read_bytes().decode("utf-8", "replace")
        return self.texts[path]

    # -- single files -------------------------------------------------------------------------

    def check_file(self, path):
        suffix, name = pathlib.PurePath(path).suffix, pathlib.PurePath(path).name
        if (suffix not in TEXT_SUFFIXES and name not in TEXT_NAMES) or "/corpus/" in path \
                or "/golden/" in path:
            return
        text = self.text(path)
        self.check_layout(path, text)
        if suffix in CODE_SUFFIXES:
            code = strip_comments(text)
            self.check_code(path, text, code)
            self.check_functions(path, code)
            self.check_includes(path, text)
        if suffix == ".md":
            self.check_links(path, text)

    def check_layout(self, path, text):
        suffix = pathlib.PurePath(path).suffix
        lines = text.split("\n")
        if text and not text.endswith("\n"):
            self.fault(path, len(lines), "no line break at the end of the file")
        limit = HEADER_LINES_MAX if suffix == ".h" else FILE_LINES_MAX
        if suffix in CODE_SUFFIXES and len(lines) - 1 > limit:
            self.fault(path, limit, f"{len(lines) - 1} lines; split it ({limit} at most)")
        for number, line in enumerate(lines, 1):
            if line != line.rstrip():
                self.fault(path, number, "white space at the end of the line")
            if suffix in WIDTH_SUFFIXES and len(line) > LINE_MAX and "http" not in line:
                self.fault(path, number, f"{len(line)} columns; {LINE_MAX} at most")
            if "\t" in line and suffix in CODE_SUFFIXES:
                self.fault(path, number, "tab; use spaces")
            if re.search(r"\b(?:TOD[O]|FIXM[E]|XX[X])\b(?!\(#\d+\))", line):
                self.fault(path, number, "open point without an issue: write TO" "DO(#number)")
            if MACHINE_PATH.search(line):
                self.fault(path, number, "path of one machine")

    def check_code(self, path, text, code):
        if path.endswith(".h") and "#pragma once" not in text:
            self.fault(path, 1, "header without #pragma once")
        if re.search(r"(?:_format|_protocol)\.h$", path):
            for heading in FORMAT_HEADINGS:
                if not re.search(rf"^//\s+{heading}\b", text, re.MULTILINE):
                    self.fault(path, 1, f"format header without the heading `{heading}`")
        for number, line in enumerate(code.split("\n"), 1):
            for pattern, instead, allowed in BANNED:
                found = re.search(pattern, line)
                if found and not (allowed and re.search(allowed, path)):
                    name = found.group(found.lastindex or 0).strip()
                    self.fault(path, number, f"`{name}` is banned: {instead}")
        for number, line in enumerate(text.split("\n"), 1):
            if re.search(r"NOLINT(?!\w*\([a-z])", line) and not re.search(r"NOLINTEND", line):
                self.fault(path, number, "NOLINT must name the check")

    def check_functions(self, path, code):
        for start, end in function_bodies(code):
            if end - start + 1 > FUNCTION_LINES_MAX:
                self.fault(path, start, f"function of {end - start + 1} lines; "
                           f"{FUNCTION_LINES_MAX} at most")

    def check_includes(self, path, text):
        module = module_of(path)
        if module is None or re.search(TESTS, path):
            return
        for number, line in enumerate(text.split("\n"), 1):
            ours = re.match(r'#include "(\w+)/', line)
            if ours and ours.group(1) != module and ours.group(1) not in MODULES.get(module, []):
                self.fault(path, number, f"module {module} may not use module {ours.group(1)}; "
                           "the graph is in tools/tidy.py")
            third = re.match(r'#include [<"]([^>"]+)[>"]', line)
            for pattern, owner in THIRD_PARTY.items():
                if third and re.match(pattern, third.group(1)) and owner != module:
                    self.fault(path, number, f"<{third.group(1)}> belongs to module {owner} alone")

    def check_links(self, path, text):
        text = re.sub(r"```.*?```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.DOTALL)
        for number, line in enumerate(text.split("\n"), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                file = (self.root / path).parent / name if name else self.root / path
                if not file.exists():
                    self.fault(path, number, f"dead link: {target}")
                elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
                    self.fault(path, number, f"dead link: no heading #{anchor} in {name or path}")

    # -- the tree as a whole ------------------------------------------------------------------

    def check_tree(self):
        self.check_graph()
        self.check_licence()
        self.check_architecture()
        self.check_listed()

    def check_graph(self):
        order = []
        for module, uses in MODULES.items():
            path = f"src/{module}/CMakeLists.txt"
            if path not in self.files:
                continue
            order.append(module)
            declared = cmake_deps(self.text(path))
            if declared != set(uses):
                self.fault(path, 1, f"CMake says {module} uses {sorted(declared)}, "
                           f"tools/tidy.py says {sorted(uses)}")
            used = set()
            for file in self.files:
                if module_of(file) == module and not re.search(TESTS, file):
                    used |= set(re.findall(r'^#include "(\w+)/', self.text(file), re.MULTILINE))
            for unused in sorted(set(uses) - used):
                self.fault(path, 1, f"{module} does not use {unused}: drop the dependency")
        for cycle in cycles(MODULES):
            self.fault("tools/tidy.py", 1, f"cycle in the module graph at {cycle}")

    def check_licence(self):
        if "LICENSE" not in self.files or "Apache License" not in self.text("LICENSE"):
            self.fault("LICENSE", 1, "the Apache-2.0 licence text is missing")

    def check_architecture(self):
        if "ARCHITECTURE.md" not in self.files:
            return
        text = self.text("ARCHITECTURE.md")
        section = re.search(r"^## Modules\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        rows = section.group(1) if section else ""
        named = set(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE))
        folders = {module_of(f) for f in self.files if module_of(f)}
        for name in sorted(named ^ folders):
            where = "in the module table only" if name in named else "missing in the module table"
            self.fault("ARCHITECTURE.md", 1, f"module {name}: {where}")

    def check_listed(self):
        """Every source is built by a CMakeLists.txt; every document is in the index."""
        for path in self.files:
            if path.endswith(".cc") and path.startswith(("src/", "tests/", "bench/")):
                folders = list(pathlib.PurePath(path).parents)[:-1]
                lists = [f"{f}/CMakeLists.txt" for f in folders
                         if f"{f}/CMakeLists.txt" in self.files]
                stem = pathlib.PurePath(path).stem
                if not any(re.search(rf"\b{re.escape(stem)}\b", self.text(p)) for p in lists) \
                        and path != "tests/fuzz_replay_main.cc":
                    self.fault(path, 1, "no CMakeLists.txt names this file")
            if re.match(r"docs/.+\.md$", path) and path != "docs/README.md" \
                    and "docs/README.md" in self.files:
                if f"({path.removeprefix('docs/')})" not in self.text("docs/README.md"):
                    self.fault(path, 1, "docs/README.md does not link to this document")


def strip_comments(text):
    """Blanks comments and the content of strings; line numbers stay."""
    def blank(match):
        body = match.group(0)
        keep = '""' if body[0] in "\"R" else ("''" if body[0] == "'" else "")
        return keep + "\n" * body.count("\n")
    includes = re.sub(r'^#include "[^"\n]*"', lambda m: m.group(0).replace('"', "\0"), text,
                      flags=re.MULTILINE)
    return COMMENT_OR_STRING.sub(blank, includes).replace("\0", '"')


def function_bodies(code):
    """Yields (first line, last line) of each outermost function body."""
    code = re.sub(r"^#.*(?:\\\n.*)*", lambda m: "\n" * m.group(0).count("\n"), code,
                  flags=re.MULTILINE)
    stack, head_start, line = [], 0, 1
    for i, c in enumerate(code):
        if c == "\n":
            line += 1
        elif c == "{":
            inside = any(kind == "function" for kind, _ in stack)
            is_function = not inside and opens_function(code[head_start:i])
            stack.append(("function" if is_function else "scope", line))
            head_start = i + 1
        elif c == "}" and stack:
            kind, start = stack.pop()
            if kind == "function":
                yield start, line
            head_start = i + 1
        elif c == ";":
            head_start = i + 1


def opens_function(head):
    """Whether the brace after `head` (all since the last `;` or brace) opens a function."""
    head = re.sub(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>|\boperator\s*[^\s\w(]+", "", head)
    if ")" not in head or re.search(r"\b(?:namespace|class|struct|union|enum|extern)\b", head):
        return False
    before = None
    while before != head:  # default arguments hold `=` too
        before, head = head, re.sub(r"\([^()]*\)", "", head)
    return "=" not in head


def module_of(path):
    match = re.match(r"src/(\w+)/", path)
    return match.group(1) if match else None


def cmake_deps(text):
    match = re.search(r"cdc_module\((.*?)\)", text, re.DOTALL) or \
        re.search(r"target_link_libraries\(kaptanto(.*?)\)", text, re.DOTALL)
    return set(re.findall(r"cdc::(\w+)", match.group(1))) - {"flags"} if match else set()


def anchors(markdown):
    found = set()
    for heading in re.findall(r"^#+ (.+)$", markdown, re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.add(slug)
    return found


def cycles(graph):
    done, active, found = set(), [], []

    def visit(node):
        if node in active:
            found.append(node)
        elif node not in done:
            active.append(node)
            for below in graph.get(node, []):
                visit(below)
            active.pop()
            done.add(node)

    for node in graph:
        visit(node)
    return found


def tracked_files(root):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True).stdout.decode().split("\0")
    return sorted({f for f in listed if f and (pathlib.Path(root) / f).is_file()})


def main(arguments):
    root = pathlib.Path(__file__).resolve().parent.parent
    tidy = Tidy(root, tracked_files(root))
    wanted = set(arguments)
    for path in tidy.files:
        if not wanted or path in wanted:
            tidy.check_file(path)
    tidy.check_tree()
    for path, line, message in sorted(tidy.faults):
        print(f"{path}:{line}: {message}")
    print(f"tidy.py: {len(tidy.faults)} fault(s) in {len(tidy.files)} files")
    return 1 if tidy.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
