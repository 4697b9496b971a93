"""python -m plait: prints where the parts of this installation are."""

import argparse
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(prog="python -m plait", description="Prints where the parts of this installation of Plait are.")
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
