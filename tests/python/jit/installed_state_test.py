"""Host code that reads and changes state in every way that Python has, in an installed package and in the user's own module: what it
computes under jit is compared with what it computes as it is."""

import importlib
import itertools
import math
import pathlib
import sys
import tempfile
import types
import unittest
import unittest.mock
import warnings

import numpy as np
import plait as pl

# Definitions, an expression, and statements that change its value.
READS = {
    "a global": ("rate = 1.0", "rate", "rate = 2.0"),
    "a class attribute": ("class A: rate = 1.0", "A.rate", "A.rate = 2.0"),
    "an attribute that hides that of the class": ("class A: rate = 1.0\na = A()", "a.rate", "a.rate = 2.0"),
    "an attribute that hides that of the base": ("class A: rate = 1.0\nclass B(A): pass", "B.rate", "B.rate = 2.0"),
    "the same of an object": ("class A: rate = 1.0\nclass B(A): pass\nb = B()", "b.rate", "B.rate = 2.0"),
    "other bases": ("class A: rate = 1.0\nclass B: rate = 2.0\nclass C(A): pass", "C.rate", "C.__bases__ = B,"),
    "issubclass": ("class A: pass\nclass B(A): pass\nclass C(A): pass", "1.0 + issubclass(C, B)", "C.__bases__ = B,"),
    "the length of the bases": ("class A: pass\nclass B(A): pass\nclass C(A): pass", "float(len(C.__mro__))", "C.__bases__ = B,"),
    "another class": ("class A:\n  def m(self): return 1.0\nclass B:\n  def m(self): return 2.0\na = A()", "a.m()", "a.__class__ = B"),
    "another metaclass": ("class M(type):\n  def m(cls): return 1.0\nclass N(type):\n  def m(cls): return 2.0\nclass A(metaclass=M): pass", "A.m()",
                          "A.__class__ = N"),
    "a property of a metaclass": ("rate = 1.0\nclass M(type):\n  @property\n  def r(cls): return rate\nclass A(metaclass=M): pass", "A.r", "rate = 2.0"),
    "a descriptor": ("rate = 1.0\nclass D:\n  def __get__(self, owner, kind=None): return rate\nclass A: r = D()\na = A()", "a.r", "rate = 2.0"),
    "a descriptor that knows its name": ("rate = 1.0\nclass D:\n  def __set_name__(self, owner, name): self.n = name\n"
                                         "  def __get__(self, owner, kind=None): return rate\nclass A: r = D()", "A.r", "rate = 2.0"),
    "a slot": ("class A: __slots__ = 'rate',\na = A(); a.rate = 1.0", "a.rate", "a.rate = 2.0"),
    "a slot that is empty": ("class A: __slots__ = 'rate',\na = A()", "getattr(a, 'rate', 1.0)", "a.rate = 2.0"),
    "a global that is not there": ("def get():\n  try: return rate\n  except NameError: return 1.0", "get()", "rate = 2.0"),
    "a builtin that is hidden": ("", "float(len('x'))", "len = lambda text: 2.0"),
    "an attribute that is not there": ("class A: pass\na = A()\ndef get():\n  try: return a.rate\n  except AttributeError: return 1.0", "get()", "a.rate = 2.0"),
    "hasattr": ("class A: pass\na = A()", "1.0 + hasattr(a, 'rate')", "a.rate = 2.0"),
    "another dict of attributes": ("class A: pass\na = A(); a.rate = 1.0", "a.rate", "a.__dict__ = {'rate': 2.0}"),
    "hasattr of a class": ("class A: pass\na = A()", "1.0 + hasattr(a, 'rate')", "A.rate = 2.0"),
    "a patched function": ("def inner(): return 1.0", "inner()", "inner = lambda: 2.0"),
    "other code": ("def inner(): return 1.0\ndef other(): return 2.0", "inner()", "inner.__code__ = other.__code__"),
    "other defaults": ("def inner(rate=1.0): return rate", "inner()", "inner.__defaults__ = 2.0,"),
    "other defaults of named arguments": ("def inner(*, rate=1.0): return rate", "inner()", "inner.__kwdefaults__ = {'rate': 2.0}"),
    "a default that changes": ("def inner(rates=[1.0]): return rates[0]", "inner()", "inner.__defaults__[0][0] = 2.0"),
    "an attribute of a function": ("def inner(): return inner.rate\ninner.rate = 1.0", "inner()", "inner.rate = 2.0"),
    "a patched method": ("class A:\n  def m(self): return 1.0\na = A()", "a.m()", "A.m = lambda self: 2.0"),
    "a patched method of one object": ("class A:\n  def m(self): return 1.0\na = A()", "a.m()", "a.m = lambda: 2.0"),
    "a bound method": ("class A:\n  def __init__(self): self.rate = 1.0\n  def get(self): return self.rate\na = A()\nget = a.get", "get()", "a.rate = 2.0"),
    "a closure": ("def make():\n  rate = 1.0\n  def get(): return rate\n  def put(value):\n    nonlocal rate\n    rate = value\n  return get, put\n"
                  "get, put = make()", "get()", "put(2.0)"),
    "a partial": ("import functools\nrates = [1.0]\nget = functools.partial(lambda rates: rates[0], rates)", "get()", "rates[0] = 2.0"),
    "a keyword of a partial": ("import functools\nget = functools.partial(lambda rate=1.0, other=0: rate, other=1)", "get()", "get.keywords['rate'] = 2.0"),
    "singledispatch": ("import functools\n@functools.singledispatch\ndef area(of): return 1.0", "area(3)", "area.register(int, lambda of: 2.0)"),
    "what singledispatch calls reads": ("import functools\nrate = 1.0\n@functools.singledispatch\ndef area(of): return rate", "area(3)", "rate = 2.0"),
    "a context manager": ("import contextlib\nrate = 1.0\n@contextlib.contextmanager\ndef within(): yield rate\ndef get():\n  with within() as r: return r",
                          "get()", "rate = 2.0"),
    "a registry": ("rate = 1.0\nFUNCTIONS = {}\ndef register(f): FUNCTIONS[f.__name__] = f; return f\n@register\ndef get(): return rate", "FUNCTIONS['get']()",
                   "rate = 2.0"),
    "objects in a dict": ("class A:\n  def __init__(self): self.rate = 1.0\nOBJECTS = {'a': A()}", "OBJECTS['a'].rate", "OBJECTS['a'].rate = 2.0"),
    "a set": ("members = {1, 2}", "1.0 + (3 in members)", "members.add(3)"),
    "OrderedDict": ("import collections\nd = collections.OrderedDict(a=1.0, b=2.0)", "list(d.values())[0]", "d.move_to_end('a')"),
    "UserDict": ("import collections\nclass D(collections.UserDict): pass\nd = D(rate=1.0)", "d['rate']", "d['rate'] = 2.0"),
    "an attribute of a member of an enumeration": ("import enum\nclass E(enum.Enum): A = 1\nE.A.rate = 1.0", "E.A.rate", "E.A.rate = 2.0"),
    "_missing_": ("import enum\nname = 'A'\nclass E(enum.Enum):\n  A = 1.0\n  B = 2.0\n  @classmethod\n  def _missing_(cls, value): return cls[name]",
                  "E('?').value", "name = 'B'"),
    "a method that the json module calls": ("import json\nrate = 1.0\nclass E(json.JSONEncoder):\n  def default(self, value): return rate",
                                            "float(json.dumps(object(), cls=E))", "rate = 2.0"),
    "a visitor": ("import ast\nrate = 1.0\nclass V(ast.NodeVisitor):\n  def visit_Name(self, node): self.found = rate\ndef get():\n  v = V()\n"
                  "  v.visit(ast.parse('a'))\n  return v.found", "get()", "rate = 2.0"),
    "a method by a computed name": ("class V:\n  rate = 1.0\n  def visit_a(self): return self.rate\n  def visit(self, name): return getattr(self, 'visit_' + name)()\n"
                                    "v = V()", "v.visit('a')", "V.rate = 2.0"),
    "registration with an abstract class": ("import abc\nclass P(abc.ABC): pass\nclass A: pass\na = A()", "1.0 + isinstance(a, P)", "P.register(A)"),
    "registration with one of Python's": ("import collections.abc\nclass A: pass\na = A()", "1.0 + isinstance(a, collections.abc.Sequence)",
                                          "collections.abc.Sequence.register(A)"),
    "a protocol": ("import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n  def m(self): ...\nclass A: pass\na = A()", "1.0 + isinstance(a, P)",
                   "a.m = lambda: 1"),
    "a pattern of positions": ("class A: __match_args__ = 'first', 'second'\na = A(); a.first = 1.0; a.second = 3\ndef get():\n  match a:\n"
                               "    case A(found, _): return found", "get()", "a.first = 2.0"),
    "a class that code made": ("import types\nA = types.new_class('A', (), {}, lambda names: names.update(rate=1.0))", "A.rate", "A.rate = 2.0"),
    "a dataclass that code made": ("import dataclasses\nrate = 1.0\nA = dataclasses.make_dataclass('A', [('k', float, 1.0)], namespace={'m': lambda self: rate})",
                                   "A().m()", "rate = 2.0"),
    "the name of a function": ("def inner(): pass\ninner.__name__ = 'f1'", "float(inner.__name__[1:])", "inner.__name__ = 'f2'"),
    "the documentation of a class": ("class A:\n  '1'", "float(A.__doc__)", "A.__doc__ = '2'"),
    "annotations": ("class A:\n  rate: 1", "float(A.__annotations__['rate'])", "A.__annotations__['rate'] = 2"),
    "subclasses": ("class A: pass", "1.0 + len(A.__subclasses__())", "B = type('B', (A,), {})"),
    "an attribute of an exception": ("error = OSError(1, 'x')", "float(error.errno)", "error.errno = 2"),
    "the cause of an exception": ("error = ValueError()", "1.0 + (error.__cause__ is not None)", "error.__cause__ = KeyError()"),
    "getmembers": ("import inspect\nclass A: pass\na = A(); a.rate = 1.0", "[v for n, v in inspect.getmembers(a) if n == 'ra' + 'te'][0]", "a.rate = 2.0"),
    "a function of a library": ("import math", "math.sqrt(1.0)", "math.sqrt = lambda x: 2.0"),
    "a module in a global": ("import math\nimport types", "math.cos(0.0)", "math = types.SimpleNamespace(cos=lambda x: 2.0)"),
    "a module that is imported within": ("import sys, types\nsys.modules['plait_test_swapped'] = types.SimpleNamespace(rate=1.0, __name__='plait_test_swapped')\n"
                                         "def get():\n  import plait_test_swapped\n  return plait_test_swapped.rate", "get()",
                                         "sys.modules['plait_test_swapped'] = types.SimpleNamespace(rate=2.0, __name__='plait_test_swapped')"),
    "a property of a module": ("import types\nrate = 1.0\nclass M(types.ModuleType):\n  @property\n  def r(self): return rate\nm = M('m')", "m.r", "rate = 2.0"),
    "__getattr__ of a module": ("import types\nrate = 1.0\nm = types.ModuleType('m')\nm.__getattr__ = lambda name: rate", "m.r", "rate = 2.0"),
    "a memoised function that is emptied": ("import functools\nrate = 1.0\n@functools.lru_cache\ndef get(): return rate", "get()", "rate = 2.0; get.cache_clear()"),
    "a time zone": ("import datetime\nzone = datetime.timezone(datetime.timedelta(0), '1')", "float(zone.tzname(None))",
                    "zone = datetime.timezone(datetime.timedelta(0), '2')"),
    "flags of an array": ("import numpy as np\na = np.ones(2)", "1.0 + a.flags.writeable", "a.flags.writeable = False"),
    "an alias of str": ("import numpy as np\nthird, text = np.array([1 / 3]), str\nnp.set_printoptions(precision=3)", "float(len(text(third)))",
                        "np.set_printoptions(precision=6)"),
    "a formatter of arrays": ("import numpy as np\nrate = 1.0\nones = np.ones(1)\nnp.set_printoptions(formatter={'float_kind': lambda value: str(rate)})",
                              "float(str(ones)[1:-1])", "rate = 2.0"),
}
# Methods that Python calls for an operation on an object of class V.
OPERATIONS = {
    "add": ("def __add__(self, other): return rate", "V() + 1"), "radd": ("def __radd__(self, other): return rate", "1 + V()"),
    "neg": ("def __neg__(self): return rate", "-V()"), "len": ("def __len__(self): return int(rate)", "float(len(V()))"),
    "iter": ("def __iter__(self): return iter([rate])", "sum(V())"), "contains": ("def __contains__(self, each): return rate == 2", "1.0 + (1 in V())"),
    "bool": ("def __bool__(self): return rate == 2", "2.0 if V() else 1.0"), "format": ("def __format__(self, spec): return str(rate)", "float(f'{V()}')"),
    "str": ("def __str__(self): return str(rate)", "float(str(V()))"), "repr": ("def __repr__(self): return str(rate)", "float(repr(V()))"),
    "hash": ("def __hash__(self): return int(rate)", "float(hash(V()))"), "index": ("def __index__(self): return int(rate)", "[0.0, 1.0, 2.0][V()]"),
    "eq": ("def __eq__(self, other): return rate == 2", "1.0 + (V() == 1)"), "lt": ("def __lt__(self, other): return rate == 2", "1.0 + (V() < 1)"),
    "getitem": ("def __getitem__(self, i): return rate", "V()[0]"), "float": ("def __float__(self): return rate", "float(V())"),
    "getattr": ("def __getattr__(self, name):\n    if name.startswith('_'): raise AttributeError(name)\n    return rate", "V().r"),
    "getattribute": ("def __getattribute__(self, name): return rate", "V().r"), "call": ("def __call__(self): return rate", "V()()"),
    "enter": ("def __enter__(self): return rate\n  def __exit__(self, *error): pass", "entered(V())"),
    "init": ("def __init__(self): self.r = rate", "V().r"), "class_getitem": ("def __class_getitem__(cls, i): return rate", "V[3]"),
    "new": ("def __new__(cls):\n    made = object.__new__(cls)\n    made.r = rate\n    return made", "V().r"),
    "copy": ("def __copy__(self): return rate", "copy.copy(V())"), "iadd": ("def __iadd__(self, other): return rate", "added(V())"),
    "setitem": ("def __setitem__(self, i, value): self.r = rate", "with_item(V()).r"),
    "setattr": ("def __setattr__(self, name, value): self.__dict__['r'] = rate", "with_attribute(V()).r"),
    "reduce": ("def __reduce__(self): return float, (rate,)", "copy.copy(V())"), "next": ("def __next__(self): return rate", "next(V())"),
    "array": ("def __array__(self, *given, **named): return np.array(rate)", "float(np.asarray(V()))"),
    "ufunc": ("def __array_ufunc__(self, *given, **named): return rate", "np.add(V(), 1)"), "keys": ("def keys(self): return ['r']\n"
                                                                                                 "  def __getitem__(self, key): return rate", "dict(**V())['r']"),
    "property": ("@property\n  def r(self): return rate", "V().r"), "static method": ("@staticmethod\n  def m(): return rate", "V().m()"),
    "class method": ("@classmethod\n  def m(cls): return rate", "V.m()"),
    "init_subclass": ("def __init_subclass__(cls): cls.r = rate", "derived().r"),
}
_HELPERS = """
import copy
import numpy as np
def entered(v):
  with v as found: return found
def added(v):
  v += 1
  return v
def with_item(v):
  v[0] = 1
  return v
def with_attribute(v):
  v.q = 1
  return v
def derived():
  class W(V): pass
  return W
"""
READS |= {f"the operation {name}": (f"{_HELPERS}\nrate = 1.0\nclass V:\n  {method}", expression, "rate = 2.0")
          for name, (method, expression) in OPERATIONS.items()}

# Definitions, statements, and an expression that shows what they have changed.
WRITES = {
    "a global": ("count = 0\ndef hit():\n  global count\n  count += 1", "hit()", "count"),
    "a global that is not there": ("def hit():\n  global count\n  try: count += 1\n  except NameError: count = 1", "hit()", "count"),
    "a dict": ("counts = {}\ndef hit(): counts['n'] = counts.get('n', 0) + 1", "hit()", "dict(counts)"),
    "an attribute": ("class A:\n  def __init__(self): self.n = 0\n  def hit(self): self.n += 1\na = A()", "a.hit()", "a.n"),
    "an attribute that the class has": ("class A:\n  n = 0\n  def hit(self): self.n += 1\na = A()", "a.hit()", "a.n"),
    "an attribute that is not there": ("class A:\n  def hit(self): self.n = getattr(self, 'n', 0) + 1\na = A()", "a.hit()", "a.n"),
    "a slot": ("class A:\n  __slots__ = 'n',\n  def hit(self): self.n = getattr(self, 'n', 0) + 1\na = A()", "a.hit()", "a.n"),
    "a bound method": ("class A:\n  n = 0\n  def hit(self): self.n += 1\na = A()\nhit = a.hit", "hit()", "a.n"),
    "a class": ("class A:\n  n = 0\n  def __init__(self): type(self).n += 1", "A()", "A.n"),
    "__new__": ("class A:\n  n = 0\n  def __new__(cls): A.n += 1; return object.__new__(cls)", "A()", "A.n"),
    "an operation": ("n = 0\nclass A:\n  def __add__(self, other):\n    global n\n    n += 1\na = A()", "a + 1", "n"),
    "a context manager": ("import contextlib\nn = 0\n@contextlib.contextmanager\ndef within():\n  global n\n  n += 1\n  yield\ndef hit():\n  with within(): pass",
                          "hit()", "n"),
    "__getattr__": ("class A:\n  def __init__(self): self.n = 0\n  def __getattr__(self, name): self.n += 1; return 1\na = A()", "a.q", "a.n"),
    "an attribute of a function": ("def hit(): hit.n += 1\nhit.n = 0", "hit()", "hit.n"),
    "a default": ("def hit(counts={'n': 0}): counts['n'] += 1", "hit()", "hit.__defaults__[0]['n']"),
    "a counting wrapper": ("import functools\ndef counted(f):\n  @functools.wraps(f)\n  def inner():\n    inner.calls += 1\n    return f()\n"
                           "  inner.calls = 0\n  return inner\n@counted\ndef hit(): pass", "hit()", "hit.calls"),
    "singledispatch": ("import functools\nn = 0\n@functools.singledispatch\ndef hit(of):\n  global n\n  n += 1", "hit(1)", "n"),
    "an array": ("import numpy as np\na = np.array([3.0, 1.0, 2.0])\ndef hit(): a[:] = np.roll(a, 1)", "hit()", "a.tolist()"),
    "an array that goes to and fro": ("import numpy as np\na = np.zeros(1)\ndef hit(): a[0] = 1 - a[0]", "hit()", "a.tolist()"),
    "the class of an object": ("class A: pass\nclass B: pass\na = A()\ndef hit(): a.__class__ = B if type(a) is A else A", "hit()", "type(a).__name__"),
    "an attribute of an exception": ("error = OSError(1, 'x')\ndef hit(): error.errno += 1", "hit()", "error.errno"),
    "the name of a function": ("def inner(): pass\ndef hit(): inner.__name__ += 'r'", "hit()", "inner.__name__"),
    "a dataclass with slots": ("import dataclasses\n@dataclasses.dataclass(slots=True)\nclass A: n: int = 0\na = A()\ndef hit(): a.n += 1", "hit()", "a.n"),
    "the dict of an object": ("class A: n = 0\na = A()\ndef hit(): a.__dict__ = {'n': a.n + 1}", "hit()", "a.n"),
    "notes of an exception": ("error = ValueError()\nerror.add_note('0')\ndef hit(): error.add_note('1')", "hit()", "len(error.__notes__)"),
    "the defaults of a function": ("def inner(n=0): return n\ndef hit(): inner.__defaults__ = inner() + 1,", "hit()", "inner()"),
    "the shape of an array": ("import numpy as np\na = np.ones(4)\ndef hit(): a.shape = (2, 2) if a.ndim == 1 else (4,)", "hit()", "a.shape"),
    "a method that the json module calls": ("import json\nn = [0]\nclass E(json.JSONEncoder):\n  def default(self, value):\n    n[0] += 1\n    return 1",
                                            "json.dumps(object(), cls=E)", "n[0]"),
}
# Installed functions that are given an object of the user.
GIVEN = {
    "an attribute": ("def run(o): return o.rate", "class A: pass\no = A(); o.rate = 1.0", "o.rate = 2.0"),
    "a class attribute": ("def run(o): return o.rate", "class A: rate = 1.0\no = A()", "A.rate = 2.0"),
    "a method": ("def run(o): return o.step()", "rate = 1.0\nclass A:\n  def step(self): return rate\no = A()", "rate = 2.0"),
    "a property": ("def run(o): return o.rate", "now = 1.0\nclass A:\n  @property\n  def rate(self): return now\no = A()", "now = 2.0"),
    "a method of a base": ("class Base:\n  def run(self): return self.step()\ndef run(o): return o.run()",
                           "rate = 1.0\nclass A(Base):\n  def step(self): return rate\no = A()", "rate = 2.0"),
    "a module": ("def run(o): return o.rate", "import sys\nrate = 1.0\no = sys.modules[__name__]", "rate = 2.0"),
}
_ROOT, _OPTIONS, _ERRORS = math.sqrt, np.get_printoptions(), np.geterr()
_FOLDER, _COUNT = tempfile.mkdtemp(), itertools.count()


def setUpModule():
    pathlib.Path(_FOLDER, "site-packages").mkdir()
    sys.path.insert(0, str(pathlib.Path(_FOLDER, "site-packages")))


def tearDownModule():
    sys.path.remove(str(pathlib.Path(_FOLDER, "site-packages")))


def installed(source):
    """A new module of an installed package."""
    name = f"plait_test_installed_{next(_COUNT)}"
    pathlib.Path(_FOLDER, "site-packages", f"{name}.py").write_text(source)
    importlib.invalidate_caches()
    return importlib.import_module(name)


def own(source):
    """A new module of the user."""
    name = f"plait_test_own_{next(_COUNT)}"
    path = pathlib.Path(_FOLDER, f"{name}.py")
    path.write_text(source)
    module = sys.modules[name] = types.ModuleType(name)
    module.__file__ = str(path)
    exec(compile(source, str(path), "exec"), vars(module))
    return module


def in_library(definitions, statement):
    """The function of the user that runs the statement in an installed module, and that module."""
    library = installed(f"{definitions}\ndef statement_of_library(): {statement}\n")
    return own(f"import {library.__name__} as library\ndef f(x): return x * (library.statement_of_library() or 1.0)\n").f, vars(library)


def by_name(definitions, statement):
    """The same, where the user's function runs it on what it has imported by name."""
    library = installed(definitions)
    return own(f"from {library.__name__} import *\ndef statement_of_user(): {statement}\ndef f(x): return x * (statement_of_user() or 1.0)\n").f, vars(library)


def in_own(definitions, statement):
    module = own(f"{definitions}\ndef statement_of_user(): {statement}\ndef f(x): return x * (statement_of_user() or 1.0)\n")
    return module.f, vars(module)


class InstalledState(unittest.TestCase):
    def outcomes(self, place, case, jitted, show=None):
        """Results of calls before and after the change, or what they have changed, in a module of its own."""
        definitions, statement, change = case
        f, names = place(definitions, f"return {statement}" if show is None else statement)
        f = pl.jit(f) if jitted else f
        found = []
        try:
            for each in range(4):
                if each == 2 and show is None:
                    exec(change, names)
                result = f(pl.ones(1, dtype=pl.f64)).item()
                found.append(result if show is None else eval(show, names))
        finally:
            math.sqrt = _ROOT
            np.set_printoptions(**_OPTIONS)
            np.seterr(**_ERRORS)
        return found

    def test_what_is_read_is_compared(self):
        for (name, case), place in itertools.product(READS.items(), (in_library, by_name, in_own)):
            with self.subTest(name, place=place.__name__), warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always", pl.HostStateWarning)
                plain, jitted = (self.outcomes(place, case, jitted) for jitted in (False, True))
                self.assertEqual(jitted, plain)
                self.assertEqual([each for each in warned if "counts as constant" in str(each.message)], [])

    def test_the_tables_change_what_they_say(self):
        for name, case in READS.items():
            with self.subTest(name):
                first, _, _, last = self.outcomes(in_own, case, jitted=False)
                self.assertNotEqual(first, last)

    def test_what_is_changed_is_changed_at_each_call(self):
        for (name, (definitions, statement, show)), place in itertools.product(WRITES.items(), (in_library, in_own)):
            with self.subTest(name, place=place.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore", pl.HostStateWarning)
                plain, jitted = (self.outcomes(place, (definitions, statement, None), jitted, show) for jitted in (False, True))
                self.assertEqual(jitted, plain)

    def test_what_installed_functions_read_of_an_object_of_the_user(self):
        for name, (definitions, objects, change) in GIVEN.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error", pl.HostStateWarning)
                found = []
                for way in (lambda f: f, pl.jit):
                    library = installed(definitions)
                    module = own(f"from {library.__name__} import *\n{objects}\ndef f(x): return x * run(o)\n")
                    f, x = way(module.f), pl.ones(1)
                    found.append([f(x).item(), exec(change, vars(module)), f(x).item()])
                self.assertEqual(found[0], found[1])


class OfTheUser(unittest.TestCase):
    def test_a_module_may_have_the_name_of_one_of_pythons(self):
        for name in "trace", "profile":
            with self.subTest(name):
                module = own("rate = 1.0\ndef get(): return rate\n")
                before = sys.modules.get(name)
                module.__name__ = name
                vars(module)["__name__"] = name
                sys.modules[name] = module
                try:
                    f = pl.jit(lambda x, module=module: x * module.get())
                    self.assertEqual(f(pl.ones(1)).item(), 1)
                    module.rate = 2.0
                    self.assertEqual(f(pl.ones(1)).item(), 2)
                finally:
                    sys.modules.pop(name) if before is None else sys.modules.update({name: before})

    def test_a_class_need_not_take_what_explains_a_second_record(self):
        module = own("import dataclasses\n@dataclasses.dataclass\nclass C:\n  w: object\n  k: float\n"
                     "  def __post_init__(self): assert self.w.shape == (1,)\n")
        f = pl.jit(lambda c: c.w * c.k)
        for k in 1.0, 2.0, 1.0:
            self.assertEqual(f(module.C(pl.ones(1), k)).item(), k)
        self.assertIn("2 recorded", str(pl.stats(f)))

    def test_what_a_cached_property_keeps_may_change(self):
        module = own("import functools\nclass A:\n  @functools.cached_property\n  def kept(self): return []\na = A()\n"
                     "def f(x):\n  a.kept.append(1)\n  return x * len(a.kept)\n")
        f = pl.jit(module.f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            self.assertEqual([f(pl.ones(1)).item() for _ in range(4)], [1, 2, 3, 4])

    def test_what_code_that_did_not_run_holds_too_is_compared(self):
        """A function of the user is in a table of an installed package, which only a function that does not run reads."""
        library = installed("TABLE = {}\ndef register(f): TABLE['f'] = f; return f\ndef use(asks=False):\n  return TABLE['f']() if asks else 1.0\n")
        module = own(f"import {library.__name__} as library\nrate = 1.0\n@library.register\ndef get(): return rate\n"
                     "def inner(): return get()\nHELD = {'inner': inner}\ndef f(x): return x * library.use() * HELD['inner']()\n")
        f = pl.jit(module.f)
        found = [f(pl.ones(1)).item() for _ in range(3)]
        module.rate = 2.0
        self.assertEqual([*found, f(pl.ones(1)).item(), f(pl.ones(1)).item()], [1, 1, 1, 2, 2])

    def test_an_array_that_is_only_read_may_lie_in_any_order(self):
        for name, array in {"transposed": np.arange(9.0).reshape(3, 3).T, "columns": np.arange(9.0).reshape(3, 3)[:, ::2],
                            "reversed": np.arange(3.0)[::-1]}.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("error", pl.HostStateWarning)
                f = pl.jit(lambda x, array=array: x * float(array.ravel()[0]))
                f(pl.ones(1)), f(pl.ones(1))
                self.assertEqual((pl.stats(f).traces, pl.stats(f).hits), (1, 1))

    def test_an_object_may_say_that_it_is_a_function(self):
        def helper():
            return 1.0

        mocked = unittest.mock.create_autospec(helper, return_value=9.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pl.HostStateWarning)
            f = pl.jit(lambda x: x * mocked())
            self.assertEqual([f(pl.ones(1)).item() for _ in range(3)], [9, 9, 9])


if __name__ == "__main__":
    unittest.main()
