"""Times an all_reduce of f32 among processes of this host: Plait's engines, Gloo, Open MPI, and torch.distributed, in turn.

Each side is a program that times its own calls, and is started several times; a figure is the median. Microseconds a call."""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MPI = ["mpirun.openmpi", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
NAMES = ("plait local", "plait gloo", "plait mpi", "gloo", "mpi", "torch gloo")


def build(folder, library):
    """Compiles the programs that are not built with Plait."""
    common = ["-std=c++20", "-O2", f"-I{ROOT}", "-o"]
    subprocess.run(["mpicxx.openmpi", *common, folder / "mpi", HERE / "all_reduce_mpi.cpp"], check=True)
    # Debian's Gloo lacks a header that its others include.
    subprocess.run(["g++", *common, folder / "gloo", HERE / "all_reduce_gloo.cpp", "-idirafter", ROOT / "cmake" / "missing_headers", "-lgloo", "-lpthread"],
                   check=True)
    shutil.copy(library, folder / "plait")


def ranks_of(commands):
    """Runs a command for each rank; the lines that rank 0 prints."""
    running = [subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) for command in commands]
    out = [each.communicate(timeout=600)[0] for each in running]
    if any(each.returncode for each in running):
        sys.exit(f"{commands[0][0]} failed")
    return out[0]


def run(name, programs, size, most):
    """{bytes: microseconds} of one start."""
    with tempfile.TemporaryDirectory() as folder:
        if name == "mpi":
            out = ranks_of([[*MPI, "-n", size, programs / "mpi", most]])
        elif name == "plait mpi":
            script = f'exec {programs / "plait"} mpi $OMPI_COMM_WORLD_RANK {size} {folder}/store {most}'
            out = ranks_of([[*MPI, "-n", size, "sh", "-c", script]])
        elif name == "gloo":
            out = ranks_of([[programs / "gloo", rank, size, folder, most] for rank in range(size)])
        elif name == "torch gloo":
            out = ranks_of([[sys.executable, HERE / "all_reduce_torch.py", rank, size, folder, most] for rank in range(size)])
        else:
            out = ranks_of([[programs / "plait", name.split()[1], rank, size, f"{folder}/store", most] for rank in range(size)])
    return {int(line.split()[0]): float(line.split()[1]) for line in out.splitlines()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build" / "bench" / "processes" / "all_reduce_plait", help="all_reduce_plait, as it was built")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--bytes", type=int, default=256 << 20, help="the largest size")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        programs = pathlib.Path(name)
        build(programs, given.program)
        for size in given.ranks:
            rounds = {side: [] for side in given.only}
            for _ in range(given.rounds):
                for side in given.only:
                    rounds[side].append(run(side, programs, size, given.bytes))
            print(f"\nall_reduce of f32, {size} ranks, µs" + "".join(f"{side:>14}" for side in given.only))
            for length in rounds[given.only[0]][0]:
                times = [statistics.median(each[length] for each in rounds[side]) for side in given.only]
                print(f"{length:>33} B" + "".join(f"{each:14.1f}" for each in times), flush=True)


if __name__ == "__main__":
    main()
