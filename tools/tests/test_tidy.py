"""Proves that tidy.py finds each fault it claims to find, and leaves correct code alone: every test
writes a small tree into a temporary folder and looks at the faults."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tidy  # noqa: E402


class TidyTest(unittest.TestCase):
    def faults(self, tree, tree_checks=False):
        with tempfile.TemporaryDirectory() as root:
            for name, content in tree.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
            checker = tidy.Tidy(root, sorted(tree))
            for name in checker.files:
                checker.check_file(name)
            if tree_checks:
                checker.check_tree()
            return [message for _, _, message in checker.faults]

    def assert_fault(self, tree, words, tree_checks=False):
        found = self.faults(tree, tree_checks)
        self.assertTrue(any(words in message for message in found), f"{words!r} not in {found}")

    def assert_clean(self, tree):
        self.assertEqual(self.faults(tree), [])

    def test_clean_file_has_no_faults(self):
        self.assert_clean({"src/base/a.h": "#pragma once\n\nint f(int x);\n"})

    def test_layout(self):
        self.assert_fault({"src/base/a.cc": "int a;  \n"}, "white space")
        self.assert_fault({"src/base/a.cc": "\tint a;\n"}, "tab")
        self.assert_fault({"src/base/a.cc": "int a;"}, "no line break")
        self.assert_fault({"src/base/a.cc": "// " + "x" * 98 + "\n"}, "101 columns")
        self.assert_clean({"src/base/a.cc": "// " + "x" * 97 + "\n"})
        self.assert_clean({"src/base/a.cc": "// " + "é" * 97 + "\n"})
        self.assert_clean({"a.md": "x" * 500 + "\n"})

    def test_file_length(self):
        self.assert_fault({"src/base/a.cc": "int a;\n" * 801}, "801 lines")
        self.assert_clean({"src/base/a.cc": "int a;\n" * 800})
        self.assert_fault({"src/base/a.h": "#pragma once\n" * 301}, "301 lines")

    def test_function_length(self):
        def function(lines, head="int f(int x = g(1))"):
            return head + " {\n" + "  x();\n" * (lines - 2) + "}\n"
        self.assert_clean({"src/base/a.cc": function(70)})
        self.assert_fault({"src/base/a.cc": function(71)}, "function of 71 lines")
        member = "class A {\n" + function(71, "A() : x_(1)") + "};\n"
        self.assert_fault({"src/base/a.cc": member}, "function of 71 lines")
        templated = function(71, "template <class T>\nvoid f(T t)")
        self.assert_fault({"src/base/a.cc": templated}, "function of 71 lines")
        many = "namespace a {\n" + function(40) * 5 + "}\n"
        self.assert_clean({"src/base/a.cc": many})
        table = "constexpr int kTable[] = {\n" + "  f(1),\n" * 90 + "};\n"
        self.assert_clean({"src/base/a.cc": table})

    def test_braces_in_strings_and_comments_do_not_count(self):
        text = "int f() {\n  g(\"}{{\");  // }}\n  /* { */ h('{');\n  k(R\"({{{)\");\n}\n" * 40
        self.assert_clean({"src/base/a.cc": text})

    def test_pragma_once(self):
        self.assert_fault({"src/base/a.h": "int a;\n"}, "#pragma once")

    def test_format_headings(self):
        head = "".join(f"// {heading}   text\n" for heading in tidy.FORMAT_HEADINGS)
        self.assert_clean({"src/base/x_format.h": head + "#pragma once\n"})
        self.assert_fault({"src/base/x_protocol.h": "// Purpose\n#pragma once\n"}, "`Layout`")

    def test_banned_names(self):
        for code in ("std::this_thread::sleep_for(t);", "system(c);", "std::regex r;",
                     "std::cout << 1;", "auto p = new Thing;", "delete p;", "malloc(1);",
                     "std::expected<int, int> e;", "std::views::all(x);", "std::format(x);",
                     "throw 1;", "localtime(&t);", "namespace util {}", "#include <mutex>",
                     "#include <regex>"):
            self.assert_fault({"src/json/a.cc": code + "\n"}, "banned")

    def test_banned_names_in_comments_strings_and_longer_words(self):
        self.assert_clean({"src/json/a.cc": '// throw new X\nauto s = "throw std::regex";\n'
                           "int newest = filesystem(1); /* malloc(1) */\nA(const A&) = delete;\n"})

    def test_exemptions(self):
        self.assert_clean({"src/json/a.cc": "std::unique_ptr<A> a(new A(1));\n"})
        self.assert_clean({"src/base/result.h": "#pragma once\nusing R = std::expected<A, B>;\n"})
        self.assert_clean({"src/base/sync/a.cc": "#include <mutex>\n"})
        self.assert_clean({"src/json/tests/a_test.cc": "#include <thread>\n"})

    def test_nolint_names_its_check(self):
        self.assert_fault({"src/base/a.cc": "f();  // NOLINT\n"}, "NOLINT")
        self.assert_clean({"src/base/a.cc": "f();  // NOLINT(bugprone-x): reason\n"
                                            "// NOLINTNEXTLINE(bugprone-x): reason\n"})

    def test_include_edges(self):
        self.assert_fault({"src/base/a.cc": '#include "json/a.h"\n'}, "may not use module json")
        self.assert_clean({"src/expr/a.cc": '#include "base/ids.h"\n#include "expr/glob.h"\n'})
        self.assert_fault({"src/json/a.cc": "#include <libpq-fe.h>\n"}, "belongs to module post")
        self.assert_clean({"src/postgres/a.cc": "#include <libpq-fe.h>\n"})
        self.assert_clean({"src/json/tests/a_test.cc": '#include "model/event_batch.h"\n'})

    def test_graph_equals_cmake(self):
        cmake = "cdc_module(NAME expr SRCS a.cc DEPS cdc::base PRIVATE_DEPS cdc::model dep::x)\n"
        tree = {"src/expr/CMakeLists.txt": cmake, "src/expr/a.cc": '#include "base/ids.h"\n'}
        self.assert_fault(tree, "CMake says expr uses ['base', 'model']", tree_checks=True)
        tree = {"src/expr/CMakeLists.txt": "cdc_module(NAME expr SRCS a.cc DEPS cdc::base)\n",
                "src/expr/a.cc": "int a;\n"}
        self.assert_fault(tree, "expr does not use base", tree_checks=True)

    def test_graph_has_no_cycle(self):
        self.assertEqual(tidy.cycles(tidy.MODULES), [])
        self.assertTrue(tidy.cycles({"a": ["b"], "b": ["a"]}))

    def test_unlisted_source(self):
        self.assert_fault({"src/base/CMakeLists.txt": "cdc_module(NAME base SRCS a.cc)\n",
                           "src/base/b.cc": "int b;\n"}, "no CMakeLists.txt", tree_checks=True)

    def test_licence(self):
        self.assert_fault({"LICENSE": "all rights reserved\n"}, "licence", tree_checks=True)

    def test_module_table(self):
        table = "## Modules\n\n| module | holds |\n|---|---|\n| `json` | x |\n\n## Next\n"
        self.assert_fault({"ARCHITECTURE.md": table}, "module json: in the module table only",
                          tree_checks=True)
        self.assert_fault({"ARCHITECTURE.md": table, "src/model/a.h": "#pragma once\n"},
                          "module model: missing", tree_checks=True)

    def test_links(self):
        self.assert_fault({"docs/a.md": "[x](b.md)\n"}, "dead link: b.md")
        self.assert_fault({"docs/a.md": "[x](b.md#two)\n", "docs/b.md": "# One\n"}, "no heading")
        self.assert_clean({"docs/a.md": "[x](b.md#one--two) [y](https://e.org) `[z](q.md)`\n"
                                        "```\n[w](v.md)\n```\n", "docs/b.md": "# One & `two`\n"})

    def test_documents_are_in_the_index(self):
        self.assert_fault({"docs/README.md": "# x\n", "docs/a.md": "# a\n"}, "does not link",
                          tree_checks=True)

    def test_open_points_need_an_issue(self):
        word = "TO" + "DO"
        self.assert_fault({"src/base/a.cc": f"// {word}: later\n"}, "without an issue")
        self.assert_clean({"src/base/a.cc": f"// {word}(#12): later\n"})

    def test_machine_paths(self):
        self.assert_fault({"a.md": "see /home/" + "someone/x\n"}, "path of one machine")
        self.assert_clean({"a.md": "see src/network/x and /tmp/what\n"})


if __name__ == "__main__":
    unittest.main()
