"""wheel_check.py FOLDER: that a wheel which was installed there has all that it is to have, and works."""

import pathlib
import subprocess
import sys

import plait

folder = pathlib.Path(sys.argv[1]).resolve() / "plait"
assert pathlib.Path(plait.__file__).resolve().parent == folder, plait.__file__
for part in ("py.typed", "__init__.pyi", "linalg.pyi", "tree.pyi", "lib/libplait.so", "include/plait/plait.h", "lib/cmake/Plait/PlaitConfig.cmake"):
    assert (folder / part).exists(), part
assert ">>>" in plait.softmax.__doc__
assert not hasattr(plait._core, "_testing"), "what tests alone need is in the wheel"
x = plait.random.normal(plait.random.key(1), (64, 3))
slope = plait.jit(plait.grad(lambda w: plait.mean((x @ w - plait.sum(x, 1)) ** 2)))
w = plait.zeros(3)
for _ in range(200):
    w = w - 0.1 * slope(w)
assert plait.max(plait.absolute(w - 1)) < 1e-4, w
times = subprocess.run([folder.parent / "bin" / "plait", "bench", "comm", "-n", "2", "--max-bytes", "4"], capture_output=True, text=True)
assert times.returncode == 0 and "engine local" in times.stdout, times
print("the wheel works:", w)
