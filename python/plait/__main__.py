"""python -m plait, in an installed wheel also plait: prints where the parts of this installation are; plait run: starts a program as
several ranks; plait bench comm: times calls among them."""

import argparse
import pathlib
import sys

from plait.inside.distributed import bench, launch
from plait.inside.distributed.launch_options import COMMAND
from plait.inside.help.names import nearest

FOLDER = pathlib.Path(__file__).resolve().parent

COMMANDS = {"run": (launch.main, "run -n N program ...", "starts a program as several ranks"),
            "bench": (bench.main, "bench comm ...", "times calls among ranks")}


def parser():
    lines = [f"  {usage:22}{text} ({COMMAND} {name} --help)" for name, (_, usage, text) in COMMANDS.items()]
    usage = " | ".join(["%(prog)s [-h]", *(usage for _, usage, _ in COMMANDS.values()), "--cmake-dir | --include-dir | --lib-dir"])
    made = argparse.ArgumentParser(prog=COMMAND, usage=usage, formatter_class=argparse.RawDescriptionHelpFormatter, description="\n".join(
        ["commands:", *lines, "", "Options print where the parts of this installation of Plait are."]))
    made.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    where = made.add_mutually_exclusive_group()
    for name, path, text in (("--cmake-dir", FOLDER / "lib" / "cmake" / "Plait", "the folder for find_package(Plait): pass it as Plait_DIR"),
                             ("--include-dir", FOLDER / "include", "the folder of the headers"),
                             ("--lib-dir", FOLDER / "lib", "the folder of the library")):
        where.add_argument(name, dest="path", action="store_const", const=path, help=text)
    return made


def main():
    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        sys.exit(COMMANDS[sys.argv[1]][0](sys.argv[2:]))
    made = parser()
    given, _ = made.parse_known_args()
    if given.command is not None:
        near = nearest(given.command, COMMANDS)
        made.error(f"unknown command {given.command!r}" + (f"; did you mean {near}?" if near else ""))
    path = made.parse_args().path
    if path is None:
        made.error("expected a command or an option")
    if not path.exists():
        made.error(f"{path} does not exist: this is not an installed wheel")
    print(path)


if __name__ == "__main__":
    main()
