#!/usr/bin/env python3
"""Compiles the kernels that ran on the emulated device by NVIDIA's NVRTC, for the real ones.

The texts are those of the cache folder (PLAIT_CACHE of the tests). Reported for each kind of kernel: the most registers
that a thread takes, the most bytes of spilled registers and of arrays in local memory, and how many texts move 16 bytes
in one access. An error is: a text that NVRTC refuses; a spill of a kind that SPILLING does not list; a text that is
written for accesses of 16 bytes whose code has none. Needs no GPU.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import dataclasses
import os
import pathlib
import re
import struct
import sys
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Kinds of kernel that may spill registers: special functions and draws of many values, and quotients of bytes, of which
# a thread computes 16.
SPILLING = {"plait_betainc", "plait_betainc_grad_a", "plait_betainc_grad_b", "plait_gcd", "plait_i1e", "plait_polygamma",
            "plait_random_gamma_grad", "plait_remainder", "plait_zeta", "random_gamma", "random_multinomial"}
MOST_SPILLED = 128  # bytes
# compile_text.cpp has the same.
OPTIONS = ("--std=c++17", "--fmad=false", "--disable-warnings", "--ptxas-options=-v")
WIDE_ACCESS = re.compile(r"\b(?:ld|st)\.global[\w.:]*\.(?:v4\.[bufs]32|v2\.[bufs]64|b128)\b")


def find_nvrtc():
    """NVIDIA's library, of pip's packages or of a toolkit."""
    found = sorted(path for folder in (*sys.path, *map(str, ROOT.glob(".venv/lib/python3*/site-packages")))
                   for path in pathlib.Path(folder or ".").glob("nvidia/*/lib/libnvrtc.so.*"))
    for name in (*map(str, found), "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@dataclasses.dataclass(frozen=True)
class Kernel:
    kind: str  # the name of its text
    text: str  # with all that comes before it


@dataclasses.dataclass
class Compiled:
    kernel: Kernel
    problem: str
    registers: int = 0
    spilled: int = 0
    local: int = 0
    is_wide: bool = False


def kernels_in(folder, prelude):
    """The texts of the cache, without those of other versions of Plait."""
    found = set()
    for path in sorted(folder.glob("*.cubin")):
        content = path.read_bytes()
        start = content.find(b'#line 1 "prelude"')
        if start < 8:
            continue
        length = struct.unpack("<Q", content[start - 8:start])[0]
        text = content[start:start + length].decode()
        kind = re.findall(r'^#line 1 "([^"]*)"', text, re.MULTILINE)[-1]
        if not prelude or prelude in text:
            found.add(Kernel(kind, text))
    return sorted(found, key=lambda kernel: (kernel.kind, kernel.text))


def newest_prelude(folder):
    """The text before that of the newest file: other versions of Plait wrote another one."""
    newest = max(folder.glob("*.cubin"), key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        return ""
    content = newest.read_bytes()
    return content[content.find(b'#line 1 "prelude"'):].split(b"\n#line 1", 2)[0].decode(errors="replace")


class Nvrtc:
    def __init__(self, library):
        self.library = library

    def taken(self, program, what):
        size = ctypes.c_size_t()
        getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        getattr(self.library, f"nvrtcGet{what}")(program, buffer)
        return buffer.value.decode(errors="replace")

    def compile(self, kernel, architecture):
        options = [option.encode() for option in (f"--gpu-architecture=sm_{architecture}", *OPTIONS)]
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), kernel.text.encode(), f"{kernel.kind}.cu".encode(), 0,
                                        None, None)
        status = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.taken(program, "ProgramLog")
        if status != 0:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))
            return Compiled(kernel, f"does not compile for sm_{architecture}:\n{log}")
        ptx = self.taken(program, "PTX")
        self.library.nvrtcDestroyProgram(ctypes.byref(program))

        def most(pattern):
            return max((int(number) for number in re.findall(pattern, log)), default=0)

        return Compiled(kernel, "", most(r"Used (\d+) registers"), most(r"(\d+) bytes spill stores"),
                        most(r"(\d+) bytes stack frame"), bool(WIDE_ACCESS.search(ptx)))


ELEMENT_BYTES = {"bool": 1, "i8": 1, "u8": 1, "f8e4m3": 1, "f8e5m2": 1, "i16": 2, "u16": 2, "f16": 2, "bf16": 2,
                 "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16}


def is_written_wide(text):
    """True if a printed nest loads or stores vectors of 16 bytes."""
    count = re.search(r"constexpr int kVector = (\d+);", text)
    if not count or "kAligned = true" not in text:
        return False
    dtypes = {name: dtype for dtype, name in re.findall(r"\bVector<(\w+), kVector> (\w+);", text)}
    moved = re.findall(r"\b(?:load|store)_vector<kAligned>\((\w+),", text)  # others are one number for all elements
    return any(ELEMENT_BYTES.get(dtypes.get(name), 0) * int(count[1]) == 16 for name in moved)


def signature_of(text):
    """The first line of the text that declares a kernel."""
    return next((line for line in text.splitlines() if "__global__" in line), "")


def problem_of(compiled):
    if compiled.problem:
        return compiled.problem
    if compiled.spilled > (MOST_SPILLED if compiled.kernel.kind in SPILLING else 0):
        return f"spills {compiled.spilled} bytes of registers"
    if is_written_wide(compiled.kernel.text) and not compiled.is_wide:
        return "is written for accesses of 16 bytes, and its code has none"
    return ""


def compile_all(nvrtc, kernels):
    """Each text for sm_90, the first of each kind for sm_80."""
    first = {kernel.kind: kernel for kernel in reversed(kernels)}
    work = [(kernel, 90) for kernel in kernels] + [(kernel, 80) for kernel in first.values()]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, result in enumerate(pool.map(lambda each: nvrtc.compile(*each), work), 1):
            if sys.stderr.isatty():
                print(f"   {done} of {len(work)}", end="\r", file=sys.stderr, flush=True)
            yield result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=ROOT / "build/release/test_cache")
    parser.add_argument("--most", type=int, default=0, help="try at most so many texts, others for each PLAIT_SEED")
    parser.add_argument("--texts", action="store_true", help="show the texts of those with a problem")
    options = parser.parse_args()

    library = find_nvrtc()
    if library is None:
        print("SKIP: NVIDIA's NVRTC is not installed")
        return 0
    kernels = kernels_in(options.folder, newest_prelude(options.folder))
    if not kernels:
        print(f"SKIP: {options.folder} has no kernels; the tests of devices write them")
        return 0
    if options.most:
        seed = os.environ.get("PLAIT_SEED", "0")
        kernels.sort(key=lambda kernel: zlib.crc32((seed + kernel.text).encode()))
        kernels = sorted(kernels[:options.most], key=lambda kernel: (kernel.kind, kernel.text))
    by_kind = collections.defaultdict(list)
    failed = 0
    for result in compile_all(Nvrtc(library), kernels):
        by_kind[result.kernel.kind].append(result)
        if problem := problem_of(result):
            failed += 1
            own = result.kernel.text[result.kernel.text.rindex("#line 1"):]
            print(f"{result.kernel.kind} {problem}\n{own if options.texts else signature_of(own)}")
    print(f"{'kernel':32} {'texts':>5} {'registers':>9} {'spilled':>7} {'local':>6} {'16 bytes':>8}")
    for kind, results in sorted(by_kind.items()):
        print(f"{kind:32} {len(results):5} {max(r.registers for r in results):9} {max(r.spilled for r in results):7} "
              f"{max(r.local for r in results):6} {sum(r.is_wide for r in results):8}")
    print(f"{len(kernels)} texts of {len(by_kind)} kinds compile for sm_90, one of each for sm_80: {failed} problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
