"""The last calls of a rank are written when plait run is interrupted. Those before a call that fails are written by the core."""

import atexit
import os

from plait import _core

MARK = "interrupted"  # the file in the folder of the calls that plait run makes before it passes a signal on


def _write(process):
    folder, rank = os.environ.get("PLAIT_CALL_LOG"), os.environ.get("RANK")
    if not folder or rank is None or os.getpid() != process:
        return
    mark, path = os.path.join(folder, MARK), os.path.join(folder, f"calls_of_rank_{rank}.txt")
    # A call that failed after the signal has written them, with its error.
    if not os.path.exists(mark) or os.path.exists(path) and os.stat(path).st_mtime_ns >= os.stat(mark).st_mtime_ns:
        return
    calls = _core._comm.recent_calls()
    if calls:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"the job was interrupted\n\n{calls}")


atexit.register(_write, os.getpid())
