"""python -m plait: prints where the parts of this installation are; python -m plait run: starts a program as several ranks;
python -m plait bench comm: times calls among them."""

import argparse
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    if sys.argv[1:2] == ["run"]:
        from plait.inside.distributed import launch

        sys.exit(launch.main(sys.argv[2:]))
    if sys.argv[1:2] == ["bench"]:
        from plait.inside.distributed import bench

        sys.exit(bench.main(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="python -m plait", description="Prints where the parts of this installation of Plait are.",
                                     epilog="python -m plait run --help: starts a program as several ranks. python -m plait bench comm --help: times "
                                     "calls among ranks.")
    what = parser.add_mutually_exclusive_group(required=True)
    for name, path, text in (("--cmake-dir", FOLDER / "lib" / "cmake" / "Plait", "the folder for find_package(Plait): pass it as Plait_DIR"),
                             ("--include-dir", FOLDER / "include", "the folder of the headers"),
                             ("--lib-dir", FOLDER / "lib", "the folder of the library")):
        what.add_argument(name, dest="path", action="store_const", const=path, help=text)
    path = parser.parse_args().path
    if not path.exists():
        parser.error(f"{path} does not exist: this is not an installed wheel")
    print(path)


if __name__ == "__main__":
    main()
