"""The checks of make lint: what scripts/house.py, check_rooms.py and check_words.py count and report; scripts/common.sh; which tests
scripts/sabotage_lines.py runs."""

import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import check_rooms  # noqa: E402
import check_words  # noqa: E402
import house  # noqa: E402
import sabotage_lines  # noqa: E402


def long_function(head, indent=""):
    return [indent + head, *[f"{indent}  step();"] * 50, indent + "}"]


class House(unittest.TestCase):
    def lengths(self, lines):
        return [count for count, _ in house.functions_of_cpp(lines)]

    def test_functions_of_any_head_are_counted(self):
        for head in ("void f() {", "int f(int x = 3) {", "Code f(std::array<int, 3> (&x)[3]) const {", "int operator[](size_t i) {",
                     "std::vector<int> State::operator()(int x, std::any& y) const {", "auto f(int x) -> int {"):
            with self.subTest(head):
                self.assertEqual(self.lengths(long_function(head)), [52])

    def test_a_function_with_lambdas_is_one_function(self):
        lambdas = ["  call([](const A& a, nb::handle given,", "         int more) {", "    return a;", "  });"]
        lines = ["void bind(nb::module_& module) {", *lambdas * 15, "}"]
        self.assertEqual(self.lengths(lines), [62])

    def test_heads_of_other_blocks_are_not_counted(self):
        for head in ("class A {", "if (a(x) &&", "const auto f = [&](int x) {", "namespace a {", "// A function f() {"):
            with self.subTest(head):
                self.assertEqual(self.lengths(long_function(head)), [])

    def test_the_table_of_the_manual_is_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "architecture.md")
            page.write_text(house.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
            rows = [("functions of more than 40 lines", "77", "60 may")]
            with unittest.mock.patch.multiple(house, PAGE=page, counted_rows=lambda: rows):
                problems = list(house.table_problems())
                self.assertEqual(len(problems), 2, problems)
                self.assertRegex(problems[0], r"but there are 77: scripts/house.py --fix$")
                self.assertRegex(problems[1], r"77, where 60 may$")
                list(house.table_problems(fix=True))
                self.assertEqual(len(list(house.table_problems())), 1)  # the limit


class Rooms(unittest.TestCase):
    def test_a_switch_over_structures_has_no_default(self):
        switch = "void f() {\n  switch (x.structure()) {\n    case Structure::call: return;\n    DEFAULT\n  }\n}\n"
        self.assertEqual(list(check_rooms.switches_with_default(switch.replace("DEFAULT", "default: return;"))), [2])
        self.assertEqual(list(check_rooms.switches_with_default(switch.replace("DEFAULT", "case Structure::pull: return;"))), [])

    def test_a_source_inside_is_of_the_unit_of_its_public_header(self):
        self.assertEqual(check_rooms.unit_of("plait/text/vocabulary_parts.h"), check_rooms.unit_of("plait/text/inside/files/vocabulary_parts.cpp"))

    def test_the_table_of_passes_has_each_pass_and_no_other(self):
        sources, table = ((ROOT / name).read_text(encoding="utf-8") for name in (check_rooms.PASSES, check_rooms.TABLE_OF_PASSES))
        self.assertEqual(list(check_rooms.pass_problems(sources, table)), [])
        for wrong in (sources.replace('{"hoist",', '{"lift",'), sources.replace("constexpr Pass kPasses", "constexpr Pass kSteps")):
            self.assertIn("the table has the passes inline, ", list(check_rooms.pass_problems(wrong, table))[0])
        for wrong in (table.replace("| `rows` |", "| `columns` |"), table.replace("| `rows` | `row_updates.cpp` |\n", "")):
            self.assertIn("fission, libraries, rows, expand", list(check_rooms.pass_problems(sources, wrong))[0])
        self.assertEqual(list(check_rooms.pass_problems(sources, table.replace("`min_cut.cpp`", "a cut"))),
                         ["plait/compile/README.md: does not name min_cut.cpp"])


class Words(unittest.TestCase):
    def test_names_with_phrases_are_found(self):
        # The phrases are in parts, since this file is checked too.
        code = "int {}_size = {}Now();  // {}\n".format("bo" + "rn", "at" + "Once", "at_once")
        self.assertEqual([name for _, name, _ in check_words.poor_names(pathlib.Path("a.cpp"), code)], ["bo" + "rn_size", "at" + "OnceNow"])
        self.assertEqual(list(check_words.poor_names(pathlib.Path("a.cpp"), "int reborn, what_is_not;\n")), [])

    def test_names_of_the_library_have_further_phrases(self):
        poor = lambda name: list(check_words.poor_names(pathlib.Path("a.cpp"), f"int {name};\n", check_words.NAMES_OF_THE_LIBRARY))  # noqa: E731
        for name in ("w" + "ay", "Wa" + "ys", "wa" + "y_", "other_w" + "ays", "the" + "Way"):
            self.assertEqual(len(poor(name)), 1, name)
        for name in ("always", "gateway", "away_from", "// in this way"):
            self.assertEqual(poor(name), [], name)

    def test_phrases_of_scripts_are_found(self):
        lines = "run ${#names}  # again, " + "an" + "ew\necho \"done " + "at" + " once\"\n"
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.sh", "Makefile", "CMakeLists.txt", "a.cmake"):
                file = pathlib.Path(folder, name)
                file.write_text(lines, encoding="utf-8")
                self.assertEqual([line for line, *_ in sorted(check_words.findings(file))], [1, 2], name)

    def test_comments_behind_code_begin_with_a_noun(self):
        for word in ("of", "what", "whether"):
            self.assertEqual(list(check_words.poor_beginnings(f"int x;  // {word} it\n")), [(1, word)])
        self.assertEqual(list(check_words.poor_beginnings("// The sum\n//" + " of it.\nint x;  // sum of it\n")), [])


class Sabotage(unittest.TestCase):
    def test_tests_that_fail_anyway_notice_nothing(self):
        room = sabotage_lines.PythonRoom("python", ["jit"], 120, "", {"given": ["tied"]})
        options = types.SimpleNamespace(only=[], count=None, first=0, filter=None)
        entries = [("a line", "python/plait/inside/trees/given.py", "", ""), ("another", "python/plait/inside/jit/jitting.py", "", "")]
        for failing in "jit", "tied":
            with unittest.mock.patch.multiple(sabotage_lines, read_damages=lambda _: entries, is_there=lambda _: True, damage=self.fail,
                                              notices=lambda _, tests, failing=failing: f"{failing} fails" if tests == failing else None), \
                    unittest.mock.patch.object(room, "build", lambda: types.SimpleNamespace(returncode=0)):
                with self.assertRaisesRegex(SystemExit, f"with nothing damaged: {failing} fails"):
                    sabotage_lines.sabotage(room, options)

    def test_the_tests_that_should_notice_exist(self):
        for room in sabotage_lines.ROOMS:
            if isinstance(room, sabotage_lines.PythonRoom):
                for name in {*room.noticing, *(name for names in room.by_file.values() for name in names)}:
                    self.assertEqual(len(list(ROOT.glob(f"tests/python/*/{name}_test.py"))), 1, name)


class Turns(unittest.TestCase):
    def in_turn(self, commit, names):
        script = f"source scripts/common.sh; commit_count() {{ echo {commit}; }}; for name in {names}; do is_in_turn $name && echo $name; done; true"
        return subprocess.run(["bash", "-c", script], cwd=ROOT, env={"PLAIT_SHARE": "0.25", "PATH": "/usr/bin:/bin"}, capture_output=True,
                              text=True, check=True).stdout.split()

    def test_four_commits_check_all_whatever_else_there_is(self):
        turns = [self.in_turn(commit, "a b c d e f g h") for commit in range(7, 11)]
        self.assertEqual(sorted(sum(turns, [])), list("abcdefgh"))
        fewer = [self.in_turn(commit, "a c d f g h") for commit in range(7, 11)]
        self.assertEqual(fewer, [[name for name in turn if name not in "be"] for turn in turns])


if __name__ == "__main__":
    unittest.main()
