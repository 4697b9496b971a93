#!/usr/bin/env python3
"""Changes one line of the library at a time, in a copy of the checkout under build/sabotage, and checks that the
tests of a room fail. The changes are listed in tests/<room>/damages.txt."""

import argparse
import dataclasses
import filecmp
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "sabotage"
BUILD = COPY / "build"
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "plait", "tests", "tools", "scripts", "python", "examples",
          "bench", "docs", "carried"]


@dataclasses.dataclass
class Room:
    """The tests of plait_test_<name>, which must notice the damages of the room."""

    name: str
    noticing: list  # patterns of GoogleTest's filters, which support * and ? only
    seconds: int  # a longer run counts as endless
    random: str  # options of rapidcheck: the same programs each time
    limits_memory: bool = dataclasses.field(default=True, kw_only=True)  # False: an emulated device reserves more

    @property
    def damages(self):
        return ROOT / "tests" / self.name / "damages.txt"

    def filter_of(self, _file, filter_):
        """The tests that should notice a damage to a file."""
        return filter_

    @property
    def target(self):
        return f"plait_test_{self.name}"

    def build(self):
        return subprocess.run(["ninja", "-C", str(BUILD), self.target], capture_output=True, text=True)

    def command(self, filter_):
        return [BUILD / "tests" / self.target, f"--gtest_filter={filter_}", "--gtest_brief=1"]

    def failed(self, output):
        return [line.split()[3].rstrip(",") for line in output.split("\n") if line.startswith("[  FAILED  ] ")]


@dataclasses.dataclass
class PythonRoom(Room):
    """The Python files of the package, with the core that `make build` has built. `noticing` are files of
    tests/python; `by_file` has those that notice damages to single files or folders of the package."""

    by_file: dict = dataclasses.field(default_factory=dict)
    _folder = BUILD / "package"

    def filter_of(self, file, filter_):
        path = pathlib.Path(file)
        found = self.by_file.get(path.stem) or self.by_file.get(path.parent.name)
        return ":".join(found) if found and filter_ == ":".join(self.noticing) else filter_

    def build(self):
        package = self._folder / "plait"
        shutil.rmtree(package, ignore_errors=True)
        package.mkdir(parents=True)
        core = list((ROOT / "build" / "release" / "python" / "plait").glob("_core*.so"))
        modules = COPY / "python" / "plait"
        links = {file.relative_to(modules): file for file in modules.rglob("*.py")} | {file.name: file for file in (*core, COPY / "docs" / "examples")}
        for name, file in links.items():
            (package / name).parent.mkdir(parents=True, exist_ok=True)
            (package / name).symlink_to(file)
        return subprocess.run(["true" if core else "false"], capture_output=True, text=True)

    def command(self, filter_):
        tests = " ".join(f"tests/python/*/{name}_test.py" for name in filter_.split(":"))
        run = f'for test in {tests}; do PYTHONPATH={self._folder} {ROOT}/.venv/bin/python "$test" --failfast || exit 1; done'
        return ["bash", "-c", f"cd {COPY} && {run}"]

    def failed(self, output):
        return [line.split()[1] for line in output.split("\n") if line.startswith(("FAIL: ", "ERROR: "))]


class BindingsRoom(PythonRoom):
    """The C++ of the Python module, which is built with each damage."""

    _folder = BUILD / "python"

    def build(self):
        return subprocess.run(["ninja", "-C", str(BUILD), "plait_python"], capture_output=True, text=True)


class OracleRoom(Room):
    """A room whose formulas are compared with another library's; `noticing` are files of tests/oracles."""

    target = "plait_oracle_tool"

    def command(self, filter_):
        tool = BUILD / "tests" / "oracles" / self.target
        runs = [f'"{ROOT}/.venv/bin/python" tests/oracles/{name}_oracle.py "{tool}"' for name in filter_.split(":")]
        return ["bash", "-c", " && ".join([f"cd {COPY}", *runs])]

    def failed(self, output):
        return []


ROOMS = [
    Room("transform", ["Forms/Control*", "Vmap*", "Recursion.O*", "Recursion.R*", "Recursion.S*", "Recursion.T*",
                       "Checkpoints*", "AssociativeScan*", "Scan*", "Draws*", "Record.*", "NamedAxes*", "ChangingLoop*", "Custom.*",
                       "Anomaly.*", "Jit.TheSameKey*", "Nested*"], 300,
         "seed=1"),
    Room("compile", ["*"], 240, "seed=1 max_success=80"),
    Room("cpu", ["*Winograd*", "Convolution*"], 240, "seed=1"),
    Room("cuda", ["*"], 600, "seed=1", limits_memory=False),
    Room("comm", ["*"], 240, "seed=1", limits_memory=False),
    OracleRoom("nn", ["layers"], 240, ""),
    OracleRoom("optim", ["optimizers"], 240, ""),
    PythonRoom("python", ["host_state", "host_state_further", "host_effects", "first_hour", "jit", "jit_numbers", "jit_results", "host_reach",
                          "changing_bodies", "computed_names", "number_arguments", "installed_code"], 120, "",
               {"outside": ["outside"], "given": ["first_hour", "trained_trees", "tied", "jit_results"], "script_values": ["script"],
                "derivatives": ["numpy_functions", "first_hour", "trained_trees", "tied"], "numpy_protocols": ["numpy_functions"],
                "interop": ["numpy_functions", "jit_results"], "roles": ["trained_trees"], "state": ["trained_trees"],
                "recording": ["recording", "outside"], "imports": ["names"], "peers": ["peers"], "tokenizer": ["tokenizer"]}),
    PythonRoom("python/layers", ["special_layers", "module_database"], 240, "", {
        "recurrent": ["recurrent", "tied"], "attention": ["attention"], "transformer": ["attention"], "positions": ["positions"], "experts": ["experts"],
        "adapters": ["adapters"], "quantized": ["quantized"], "replaced": ["quantized", "adapters"], "dropped": ["attention", "experts"],
        "linear_cross_entropy": ["linear_cross_entropy"], "losses": ["losses"], "metrics": ["metrics", "said"], "nn": ["init"],
        "parametrizations": ["parametrizations", "tied"], "computed": ["pruning", "parametrizations"], "pruning": ["pruning"], "orthogonal": ["orthogonal"],
        "fusion": ["fusion"], "vectors": ["fusion"], "models": ["state", "tied", "nn"], "trees": ["state", "buffers"],
        "base": ["optimizers", "train_state", "state", "tied"], "transforms": ["state"]}),
    PythonRoom("python/optimizers", ["transformations", "optimizers", "torch"], 240, "", {
        "assignment": ["hungarian"], "flat_weights": ["optax_functions", "projections"], "projections": ["projections"],
        **dict.fromkeys(("second_order", "perturbations", "linear_algebra"), ["optax_functions"]), "lbfgs": ["lbfgs"], "schedule": ["schedules"], "schedules": ["schedules"], "lr_schedulers": ["schedules"], "plateau": ["schedules"],
        "transformations": ["transformations", "optax"], "train_state": ["train_state"], "boundaries": ["layer_refusals"]}),
    BindingsRoom("python/arrays", ["dlpack", "assignment"], 240, ""),
]


def read_damages(room):
    """Entries of four lines: a description, the file, a line (or part of one), and its replacement."""
    entries = []
    for block in room.damages.read_text().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith("#")]
        if lines:
            name, file, old, new = (line.strip() for line in lines)
            entries.append((name, file, old, new))
    return entries


def copy_checkout():
    """Copies files whose contents differ, whatever their times: an interrupted run leaves a damaged file."""
    wanted = set()
    for name in COPIED:
        source = ROOT / name
        files = [source] if source.is_file() else [each for each in source.rglob("*") if each.is_file()]
        for file in files:
            copy = COPY / file.relative_to(ROOT)
            wanted.add(copy)
            if not copy.exists() or not filecmp.cmp(file, copy, shallow=False):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
                shutil.copymode(file, copy)
    for name in COPIED:
        for copy in (COPY / name).rglob("*"):
            if copy.is_file() and copy not in wanted:
                copy.unlink()


def configure():
    subprocess.run(["cmake", "-S", COPY, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS=-g1", "-DPLAIT_TESTS=ON",
                    f"-DPLAIT_PYTHON_EXECUTABLE={ROOT}/.venv/bin/python"], check=True, stdout=subprocess.DEVNULL)


def limit_memory():
    """An endless recursion must end before the memory of the machine is exhausted."""
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))


def notices(room, filter_, damaged=""):
    """How the tests noticed the damage; None if they pass. Code from a damaged code generator is not cached."""
    environment = dict(os.environ, RC_PARAMS=room.random, PLAIT_VERIFY="on", GTEST_FAIL_FAST="1",
                       PLAIT_CACHE="off" if damaged.startswith("plait/cpu/") else str(BUILD / "test_cache"))
    try:
        run = subprocess.run(room.command(filter_), capture_output=True, text=True, errors="replace", timeout=room.seconds,
                             env=environment, preexec_fn=limit_memory if room.limits_memory else None)
    except subprocess.TimeoutExpired:
        return f"it never ended ({room.seconds} s)"
    if run.returncode == 0:
        return None
    failed = room.failed(run.stdout + run.stderr)
    return f"{failed[0]} fails" if failed else f"the tests end with status {run.returncode}"


def damage(room, filter_, entries):
    """The number of damages that are not noticed."""
    unnoticed = 0
    for name, file, old, new in entries:
        start = time.monotonic()
        path = COPY / file
        text = path.read_text()
        path.write_text(text.replace(old, new))
        built = room.build()
        how = notices(room, room.filter_of(file, filter_), file) if built.returncode == 0 else "it does not compile"
        path.write_text(text)
        unnoticed += how is None or how == "it does not compile"
        print(f"   {name}: {how or 'NOT NOTICED'} ({time.monotonic() - start:.0f} s)", flush=True)
    return unnoticed


def is_there(entry):
    """The line must occur exactly once in the file: otherwise there would be no damage, or several."""
    name, file, old, _ = entry
    path = ROOT / file
    count = path.read_text().count(old) if path.exists() else 0
    if count != 1:
        print(f"{name}: `{old}` is there {count} times in {file}, expected once")
    return count == 1


def check(rooms):
    entries = [entry for room in rooms for entry in read_damages(room)]
    there = [is_there(entry) for entry in entries]
    print(f"{len(there)} damages, {there.count(False)} to lines that are not there")
    return 0 if all(there) else 1


def sabotage(room, options):
    """The number of damages, and of those that are not noticed."""
    entries = [entry for entry in read_damages(room) if not options.only or entry[0] in options.only]
    last = None if options.count is None else options.first + options.count
    entries = entries[options.first:last]
    if not all([is_there(entry) for entry in entries]):
        sys.exit(1)
    if not entries:
        return 0, 0
    first = room.build()
    if first.returncode != 0:
        sys.exit(first.stdout[-3000:])
    filter_ = options.filter or ":".join(room.noticing)
    for each in dict.fromkeys(room.filter_of(file, filter_) for _, file, _, _ in entries):  # a test that fails anyway notices nothing
        if how := notices(room, each):
            sys.exit(f"room {room.name}, with nothing damaged: {how}")
    return len(entries), damage(room, filter_, entries)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", choices=[room.name for room in ROOMS], help="the room whose lines are damaged; by default every room")
    parser.add_argument("--filter", help="the tests that should notice; by default those of the room")
    parser.add_argument("--first", type=int, default=0, help="the number of damages to skip in each room")
    parser.add_argument("--count", type=int, help="the number of damages to try in each room; by default all")
    parser.add_argument("--check", action="store_true", help="damage nothing: only check that all lines exist")
    parser.add_argument("only", nargs="*", help="names of damages; by default all")
    options = parser.parse_args()
    rooms = [room for room in ROOMS if options.room in (None, room.name)]
    if options.check:
        return check(rooms)
    copy_checkout()
    configure()
    counts = [sabotage(room, options) for room in rooms]
    damaged, unnoticed = (sum(numbers) for numbers in zip(*counts))
    if damaged == 0:
        sys.exit("no damage has such a name")
    print(f"   {damaged} damages, {unnoticed} not noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
