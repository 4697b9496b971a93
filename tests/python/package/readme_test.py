"""README.md and docs/cpp.md: their programs are those of examples/, and do what is said; each row of README's table gives what
stands there."""

import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import plait as pl  # noqa: E402
import torch  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CPP = (ROOT / "docs/cpp.md").read_text(encoding="utf-8")
NAMES = {"pl": pl, "jax": jax, "jnp": jnp, "torch": torch}


def block(language, page=README):
    return re.search(rf"^```{language}\n(.*?)^```", page, re.M | re.S)[1]


def rows():
    """(expression, result, text under `elsewhere`) of each row."""
    table = README.partition("| what you get |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")][1:] for line in table.splitlines()[2:]]


def outcome(code):
    """The value, or the name of the error."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return repr(eval(code, {**NAMES, "traced": []}))  # noqa: S307
    except Exception as error:  # noqa: BLE001
        return type(error).__name__


class Readme(unittest.TestCase):
    def test_the_programs_are_those_of_the_examples(self):
        for language, ending in (("python", "py"), ("cpp", "cpp")):
            self.assertEqual(block(language), (ROOT / f"examples/first_steps.{ending}").read_text(encoding="utf-8"))

        for found, name in zip(re.findall(r"^```cpp\n(.*?)^```", CPP, re.M | re.S), ("line_fit", "resumed_run"), strict=True):
            self.assertEqual(found, (ROOT / f"examples/{name}.cpp").read_text(encoding="utf-8"))

    def printed(self, *command):
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def test_they_train(self):
        said = re.search(r"It prints `(.*?)`", README)[1]
        self.assertEqual(self.printed(sys.executable, ROOT / "examples/first_steps.py"), said)
        program = pathlib.Path(pl.__file__).parents[2] / "bin/plait-first-steps"
        if not program.exists():
            self.skipTest("the examples are not built")
        self.assertEqual(self.printed(program), said)

    def test_the_line_of_the_page_for_cpp(self):
        program = pathlib.Path(pl.__file__).parents[2] / "bin/plait-line-fit"
        if not program.exists():
            self.skipTest("the examples are not built")
        self.assertEqual(self.printed(program), block("", CPP.partition("It prints:")[2]).strip())

    def test_a_killed_run_goes_on(self):
        program = pathlib.Path(pl.__file__).parents[2] / "bin/plait-resumed-run"
        if not program.exists():
            self.skipTest("the examples are not built")
        with tempfile.TemporaryDirectory() as folder:
            whole = self.printed(program, f"{folder}/whole")
            killed = subprocess.Popen([program, f"{folder}/killed"], stdout=subprocess.PIPE)
            end = time.monotonic() + 60
            while not list(pathlib.Path(folder).glob("killed/*.safetensors")) and time.monotonic() < end:
                time.sleep(0.0005)
            killed.kill()
            killed.communicate()
            continues, _, found = self.printed(program, f"{folder}/killed").partition("\n")
            self.assertRegex(continues, "continues at step [1-9]")
            self.assertEqual(found, whole)

    def test_it_leads_to_every_page(self):
        pages = {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
        self.assertEqual(pages - set(re.findall(r"\]\((docs/[^)#]+)", README)), set())

    def test_each_row_gives_what_it_says(self):
        self.assertGreater(len(rows()), 5)
        for tried, gives, elsewhere in rows():
            with self.subTest(tried):
                self.assertEqual(outcome(tried.strip("`")), gives.strip("`") if gives.startswith("`") else "None")
                theirs = re.match(r"(JAX|PyTorch) (refuses|compiles 19 times): `(.*)`$", elsewhere)
                if theirs:
                    found = outcome(theirs[3])
                    self.assertTrue(found.endswith("Error") if theirs[2] == "refuses" else found == "19", found)


if __name__ == "__main__":
    unittest.main()
