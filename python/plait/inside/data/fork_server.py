"""The process that forks worker processes: multiprocessing's fork server, which imports Plait before it forks.

An import takes longer than everything else until the first batch, so the server does it once, while the program goes on, for the workers of all
loaders. It has one thread: those of NumPy's BLAS end at a fork."""

import importlib.machinery
import multiprocessing
import os
import site
import sys
from multiprocessing import forkserver

import plait

_PRELOADED = "plait.inside.data.process_worker"


def begin():
    """Begins the server, unless it runs. One that the program began before has not imported Plait: then each worker does."""
    if multiprocessing.parent_process() is not None:  # a worker, which may begin one when it needs it
        return
    server = forkserver._forkserver
    modules = list(getattr(server, "_preload_modules", ["__main__"]))  # also those that the program chose
    if _PRELOADED not in modules and is_found_by_a_new_interpreter():
        forkserver.set_forkserver_preload([*modules, _PRELOADED])
    forkserver.ensure_running()


def is_found_by_a_new_interpreter():
    """True if one that has none of the changes of sys.path in this program imports the same package. Otherwise it could import another one,
    which its workers would have to use."""
    try:
        paths = [] if getattr(sys.flags, "safe_path", False) else [os.getcwd()]
    except FileNotFoundError:  # the folder was removed
        return False
    if not sys.flags.ignore_environment:
        paths += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if not sys.flags.no_site:
        paths += [*([site.getusersitepackages()] if site.ENABLE_USER_SITE else []), *site.getsitepackages()]
    found = importlib.machinery.PathFinder.find_spec("plait", paths)
    return found is not None and found.origin is not None and os.path.realpath(found.origin) == os.path.realpath(plait.__file__)
