"""Calls of host code that a record cannot contain: functions whose result differs from call to call, functions that read or
change state outside of the program, such as files, and functions through which anything can be reached."""

import os
import sys
import types

from plait import _core

UNSTEADY_MODULES = {"random", "secrets", "numpy.random", "numpy.random.mtrand", "numpy.random._generator", "torch.random", "torch.nn.init"}
# Classes whose objects differ, unless they are made from a seed: of `random` and numpy.random. Those of PyTorch draw their weights.
_SOURCES = {"Random", "SystemRandom", "RandomState", "BitGenerator", "SeedSequence"}
_DRAWING_MODULES = {"torch.nn.modules", "torch.distributions"}
_UNSTEADY = {"time": {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
                      "process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime", "ctime", "asctime", "strftime",
                      "clock_gettime", "clock_gettime_ns"},
             "uuid": {"uuid1", "uuid4"}, "os": {"urandom", "getrandom", "times"}, "posix": {"urandom", "getrandom", "times"},
             "datetime": {"now", "utcnow", "today"}, "builtins": {"id"},
             "torch": {"rand", "randn", "randint", "rand_like", "randn_like", "randint_like", "randperm", "normal", "bernoulli", "poisson",
                       "binomial", "multinomial", "dropout", "alpha_dropout", "feature_dropout", "seed"}}
# Methods that only distributions of SciPy and tensors of PyTorch have.
UNSTEADY_METHODS = {"rvs", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_"}

# All their contents except exceptions.
_OUTSIDE_MODULES = {"subprocess", "socket", "_socket", "select", "selectors", "shutil", "tempfile", "glob", "urllib.request", "http.client",
                    "ftplib", "smtplib", "imaplib", "sqlite3", "_sqlite3", "dbm", "shelve", "gzip", "bz2", "lzma", "zipfile", "tarfile",
                    "mmap", "syslog", "fileinput", "getpass", "webbrowser", "fcntl", "signal", "multiprocessing", "requests", "httpx",
                    "urllib3", "aiohttp", "plait.inside.files", "plait.io", "wandb", "mlflow", "loguru", "comet_ml", "locale", "_locale",
                    "gettext", "resource", "tracemalloc", "_tracemalloc", "linecache", "mimetypes", "sysconfig", "platform", "asyncio",
                    "multiprocessing.process", "logging.config", "email.charset", "pandas._config", "sklearn._config", "matplotlib.pyplot",
                    "runpy", "filecmp", "netrc", "wave", "scipy.io", "pandas.io", "matplotlib.image", "h5py", "imageio"}
_OF_PATHS = {"exists", "lexists", "isfile", "isdir", "islink", "ismount", "getsize", "getmtime", "getatime", "getctime", "samefile",
             "realpath", "abspath", "relpath", "expanduser", "expandvars"}
_OF_FILES = {"open", "open_code", "FileIO", "fdopen", "popen", "listdir", "scandir", "walk", "fwalk", "stat", "lstat", "fstat", "statvfs", "access",
             "getcwd", "getcwdb", "chdir", "read", "write", "pread", "pwrite", "close", "pipe", "dup", "dup2", "lseek", "truncate",
             "ftruncate", "fsync", "remove", "unlink", "rename", "renames", "replace", "mkdir", "makedirs", "rmdir", "removedirs", "link",
             "symlink", "readlink", "chmod", "chown", "utime", "getenv", "getenvb", "putenv", "unsetenv", "system", "fork", "kill",
             "waitpid", "getloadavg", "umask", "nice", "getpriority", "setpriority", "sched_getaffinity", "sched_setaffinity",
             "get_terminal_size"}
_OF_DECIMALS = {"getcontext", "setcontext", "localcontext"}
_OF_CODECS = {"open", "register", "unregister", "lookup", "register_error", "lookup_error"}
_OF_WARNINGS = {"simplefilter", "filterwarnings", "resetwarnings"}
_OF_TORCH = {"load", "save", "get_default_dtype", "set_default_dtype", "get_default_device", "set_default_device", "set_default_tensor_type",
             "get_num_threads", "set_num_threads", "is_grad_enabled", "set_printoptions", "use_deterministic_algorithms",
             "are_deterministic_algorithms_enabled", "set_float32_matmul_precision", "get_float32_matmul_precision", "set_flush_denormal"}
_OUTSIDE = {"builtins": {"input", "breakpoint"}, "io": _OF_FILES, "_io": _OF_FILES, "codecs": _OF_CODECS, "_codecs": _OF_CODECS,
            "os": _OF_FILES, "posix": _OF_FILES, "posixpath": _OF_PATHS, "genericpath": _OF_PATHS, "pathlib": {"cwd", "home"},
            "time": {"sleep", "tzset", "mktime"}, "datetime": {"fromtimestamp"}, "pkgutil": {"get_data", "iter_modules", "walk_packages"},
            "importlib.util": {"find_spec"},
            "atexit": {"register", "unregister"}, "decimal": _OF_DECIMALS, "_decimal": _OF_DECIMALS, "warnings": _OF_WARNINGS,
            "sys": {"getrecursionlimit", "setrecursionlimit", "getswitchinterval", "setswitchinterval", "get_int_max_str_digits",
                    "set_int_max_str_digits", "gettrace", "settrace", "getprofile", "setprofile", "getrefcount", "getallocatedblocks",
                    "addaudithook", "getdlopenflags", "setdlopenflags"},
            "zoneinfo._tzpath": {"reset_tzpath"}, "xml.etree.ElementTree": {"register_namespace", "parse", "iterparse"}, "PIL.Image": {"open"},
            "copyreg": {"pickle", "add_extension"},
            "_csv": {"field_size_limit", "register_dialect", "unregister_dialect", "get_dialect", "list_dialects"},
            "threading": {"main_thread", "get_ident", "get_native_id", "current_thread", "active_count", "enumerate", "Thread", "Timer", "stack_size",
                          "settrace", "setprofile"},
            "_thread": {"get_ident", "get_native_id", "start_new_thread", "stack_size"},
            "logging": {"debug", "info", "warning", "warn", "error", "critical", "exception", "log", "getLogger", "disable", "basicConfig",
                        "getLevelName", "addLevelName", "captureWarnings", "shutdown"},
            "numpy": {"load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "genfromtxt", "fromregex", "fromfile", "memmap",
                      "geterr", "seterr", "geterrcall", "seterrcall", "getbufsize", "setbufsize", "get_printoptions", "set_printoptions", "printoptions",
                      "array2string", "array_repr", "array_str"},
            "torch": _OF_TORCH, "torch._C": _OF_TORCH}
# Methods that only files, paths and similar objects have.
OUTSIDE_METHODS = {"read_text", "write_text", "read_bytes", "write_bytes", "iterdir", "rglob", "is_file", "is_dir", "readline", "readlines",
                   "writelines", "tofile", "astimezone", "timestamp"}
# Others of paths.
_PATH_METHODS = OUTSIDE_METHODS | {"open", "exists", "stat", "lstat", "unlink", "mkdir", "touch", "rmdir", "rename", "replace", "glob", "is_symlink",
                                   "resolve", "absolute", "samefile", "chmod", "owner", "walk", "expanduser"}
_UNSTEADY_ALL, _OUTSIDE_ALL = UNSTEADY_MODULES | {"time", "uuid"}, _OUTSIDE_MODULES | {"os", "posix", "sys"}
# Functions through which anything can be read or changed.
_ANYTHING = {"builtins": {"eval", "exec", "globals", "locals", "__import__"}, "importlib": {"import_module"}, "importlib._bootstrap": {"__import__"},
             "pkgutil": {"resolve_name"}, "_pickle": {"dump", "dumps", "Pickler"}, "pickle": {"dump", "dumps", "Pickler"},
             "inspect": {"currentframe", "stack", "trace"}, "sys": {"_getframe", "_current_frames"},
             "traceback": {"extract_stack", "format_stack", "print_stack", "walk_stack"}}
_KNOWN = {each.partition(".")[0] for each in (*UNSTEADY_MODULES, *_UNSTEADY, *_OUTSIDE_MODULES, *_OUTSIDE)} - {"plait", "builtins"}
_STREAMS = ("stdin", "stdout", "stderr")


def kind_of(thing, name):
    """ "value" if each call returns a different result, "outside" if a call reads or changes state outside of the program,
    "anything" if it is not known what it reads; None for all others. `name` is the name by which it was found."""
    if is_outside(thing):
        return "outside"
    if isinstance(thing, types.ModuleType) or not callable(thing):
        return None
    module, own = module_of_callable(thing), _attribute(thing, "__name__") or name
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return None
    library = module.split(".")[0]
    place = library if library in ("numpy", "torch") and module != "torch._C" else module
    if own in _ANYTHING.get(place, ()):
        return "anything"
    if _top(module, _OUTSIDE_MODULES) or own in _OUTSIDE.get(place, ()) or is_path(getattr(thing, "__self__", None)) and own in _PATH_METHODS:
        return "outside"
    if isinstance(thing, type):
        return "value" if _is_source(thing) else None
    return "value" if module in UNSTEADY_MODULES or own in _UNSTEADY.get(place, ()) else None


def tells_time(thing, texts):
    """True for numpy.datetime64 in code that has one of the texts from which it makes the present time."""
    is_date = isinstance(thing, type) and (thing.__module__, thing.__name__) == ("numpy", "datetime64")
    return is_date and any(text in texts for text in ("now", "today"))


def _is_source(cls):
    """True if an object that is made without a seed differs each time, or draws random numbers."""
    def is_known(base):
        module = getattr(base, "__module__", None) or ""
        draws = _top(module, _DRAWING_MODULES) and base.__name__ != "Module"
        return draws or base.__name__ in _SOURCES and (module == "random" or module.startswith("numpy.random."))

    return any(isinstance(base.__module__, str) and is_known(base) for base in cls.__mro__)


def is_outside(thing):
    """True if it is itself outside of the program: the environment, a stream, a logger, or JAX's settings."""
    if thing is os.environ or thing is getattr(os, "environb", None) or is_logger(thing) or type(thing).__module__ == "jax._src.config":
        return True
    return any(thing is getattr(sys, name, None) or thing is getattr(sys, f"__{name}__") for name in _STREAMS) and thing is not None


def is_logger(thing):
    logging = sys.modules.get("logging")  # not imported only for this
    return logging is not None and isinstance(thing, (logging.Logger, logging.LoggerAdapter, logging.Handler))


def is_path(thing):
    """True for a path, or the class of one."""
    pathlib = sys.modules.get("pathlib")
    return pathlib is not None and (isinstance(thing, pathlib.Path) or isinstance(thing, type) and issubclass(thing, pathlib.Path))


def method_of_path(thing, names):
    """The method among these names that accesses files, if the object is a path or their class; None otherwise."""
    if not is_path(thing):
        return None
    return next((name for name in names if name in _PATH_METHODS), None)


def _attribute(thing, name):
    """Without a call of __getattr__, which could be the user's and have an effect."""
    try:
        return (type.__getattribute__ if isinstance(thing, type) else object.__getattribute__)(thing, name)
    except AttributeError:
        return getattr(thing, name, None) if isinstance(thing, types.MethodType) else None


def module_of_callable(thing):
    """The module of a function, or of the object of a method."""
    thing = thing.__wrapped__ if isinstance(thing, _core._Boundary) else thing
    belongs = _attribute(thing, "__self__")
    if isinstance(belongs, types.ModuleType):
        return belongs.__name__
    if belongs is not None:
        cls = belongs if isinstance(belongs, type) else type(belongs)
        thing = next((base for base in cls.__mro__[:-1] if str(base.__module__).partition(".")[0] in _KNOWN), cls)  # not a user's class
    module = _attribute(thing, "__module__")
    return module if isinstance(module, str) else ""


def all_of_module(module):
    """The kind of a module nearly all of whose functions have it; None for others."""
    if _top(module.__name__, _UNSTEADY_ALL):
        return "value"
    return "outside" if _top(module.__name__, _OUTSIDE_ALL) else None


def _top(module, among):
    """True if it is one of these modules, or within one."""
    while module and module not in among:
        module = module.rpartition(".")[0]
    return bool(module)
