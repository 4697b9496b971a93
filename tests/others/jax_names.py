"""A pytest plugin for JAX's tests: a package `jax` whose functions are Plait's. A missing function is an object that
may be named and called while tests are collected, and that ends the test that uses it."""

import importlib.abc
import importlib.machinery
import sys
import types

import numpy as np
import plait
from face.functions import FUNCTIONS
from face.linalg import FFT, LINALG
from face.values import Array, faced, not_here, plait_dtype, tensor_of
from jax_face import transforms, trees
from jax_face.lax import LAX
from jax_face.testing import TESTING, check_grads
from numpy_names import NUMPYS_OWN, Face

is_collecting = True


class Lacking:
    """An object of JAX that is missing here."""

    def __init__(self, name):
        vars(self)["_name"] = name

    def _use(self):
        if not is_collecting:
            not_here(f"jax {self._name}")
        return Lacking(self._name)

    @property
    def __name__(self):
        return self._name.rpartition(".")[2]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "cache_clear":
            return lambda: None
        return Lacking(f"{self._name}.{name}")

    def __call__(self, *given, **_):
        if is_collecting and len(given) == 1 and isinstance(given[0], (types.FunctionType, type)):
            return given[0]  # used as a decorator
        return self._use()

    def __getitem__(self, _):
        return self._use()

    def __setitem__(self, *_):
        self._use()

    def __setattr__(self, *_):
        self._use()

    def __iter__(self):
        return iter((self._use(),))

    def __enter__(self):
        return self._use()

    def __exit__(self, *_):
        return False

    def __or__(self, _):
        return self

    __ror__ = __and__ = __add__ = __or__

    def __lt__(self, _):
        self._use()
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __mro_entries__(self, _):
        return ()

    def __instancecheck__(self, _):
        self._use()
        return False

    def __subclasscheck__(self, _):
        return False

    def __bool__(self):
        self._use()
        return False


class Config:
    """jax.config: settings have no effect, and 64-bit numbers are always enabled."""

    enable_x64 = types.SimpleNamespace(value=True)
    jax_enable_x64 = True
    jax_enable_custom_prng = enable_custom_prng = False

    def update(self, *_):
        pass

    parse_flags_with_absl = update

    def __getattr__(self, name):
        return Lacking(f"config.{name}")


def module(name, contents):
    made = types.ModuleType(name)
    made.__path__ = []
    vars(made).update(contents)
    made.__getattr__ = lambda wanted: lacking_in(name, wanted)
    sys.modules[name] = made
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, made)
    return made


def lacking_in(module_name, wanted):
    if wanted.startswith("__") and wanted not in ("__version__",):
        raise AttributeError(wanted)
    return Lacking(f"{module_name.removeprefix('jax.')}.{wanted}")


class LackingModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Any other module of JAX."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in ("jax", "jaxlib") else None

    def create_module(self, spec):
        return module(spec.name, {})

    def exec_module(self, _):
        pass


def array(object, dtype=None, copy=True, order="K", ndmin=0):
    return FUNCTIONS["array"](object, dtype, ndmin=ndmin)


def new_key(seed):
    return faced(plait.random.key(int(np.asarray(faced(tensor_of(seed))))))


def random():
    """jax.random with Plait's keys; random numbers differ from JAX's."""
    def draw(function):
        return lambda key, shape=(), dtype=np.float64, *bounds, **options: faced(plait.astype(
            function(tensor_of(key), tuple(shape), *bounds, **options), plait_dtype(dtype)))

    def uniform(key, shape, minval=0.0, maxval=1.0):
        return plait.random.uniform(key, shape, minval, maxval)

    return {"key": new_key, "PRNGKey": new_key, "split": lambda key, num=2: faced(plait.random.split_key(tensor_of(key), num)),
            "uniform": draw(uniform), "normal": draw(plait.random.normal),
            "randint": lambda key, shape, minval, maxval, dtype=np.int64: draw(plait.random.randint)(key, shape, dtype, minval, maxval),
            "fold_in": lambda key, data: faced(plait.random.fold_in(tensor_of(key), data))}


ERRORS = {name: type(name, (TypeError,), {}) for name in (
    "ConcretizationTypeError", "TracerArrayConversionError", "TracerIntegerConversionError", "TracerBoolConversionError",
    "UnexpectedTracerError", "NonConcreteBooleanIndexError", "JaxRuntimeError", "KeyReuseError")}
NOTHING = type("float0", (), {})


class At:
    """x.at[i].set(y)."""

    def __init__(self, x):
        self._x = x

    def __getitem__(self, key):
        from face.values import index

        place = self._x.tensor.at[index(key)]
        names = {"set": "set", "add": "add", "multiply": "multiply", "min": "minimum", "max": "maximum", "mul": "multiply"}

        class Place:
            def __getattr__(_, name):
                if name == "subtract":
                    return lambda value, **options: At(self._x)[key].add(-faced(tensor_of(value)), **options)
                if name == "divide" and self._x.dtype.kind in "fc":
                    return lambda value, **options: At(self._x)[key].multiply(1 / faced(tensor_of(value)), **options)
                if name == "get":
                    return lambda **options: self._x[key] if not options else not_here("options of at[]")
                if name not in names or not hasattr(place, names[name]):
                    not_here(f"at[].{name}")
                return lambda value, **options: faced(getattr(place, names[name])(
                    plait.astype(tensor_of(value), self._x.tensor.dtype))) if not options else not_here("options of at[]")

        return Place()


def without_precision(function):
    """Removes the precision of products, which have only one here, and options about the implementation."""
    def call(*given, precision=None, preferred_element_type=None, numpy_resid=False, method=None, **options):
        return function(*given, **options)

    return call


def cholesky(a, *, upper=False, symmetrize_input=True):
    x = tensor_of(a)
    return LINALG["cholesky"](faced((x + plait.conj(plait.matrix_transpose(x))) / 2) if symmetrize_input else a, upper=upper)


def activation(name):
    return lambda x, **options: faced(getattr(plait, name)(tensor_of(x), **options))


def make_modules():
    Array.at = property(At)
    Array.block_until_ready = lambda self: self
    Array.weak_type = False
    numpy_face = Face(np, {name: value for name, value in FUNCTIONS.items()} | {"array": array, "ndarray": Array})
    top = {name: getattr(transforms, name) for name in (
        "jit", "grad", "value_and_grad", "jvp", "vjp", "linearize", "linear_transpose", "jacfwd", "jacrev", "hessian", "vmap", "checkpoint",
        "custom_jvp", "custom_vjp")}
    top |= {"remat": transforms.checkpoint, "jacobian": transforms.jacrev, "checkpoint_policies": transforms.Policies(), "Array": Array,
            "float0": np.dtype([("float0", "V")]), "config": Config(), "named_call": lambda f, **_: f,
            "block_until_ready": lambda tree: tree, "device_put": lambda tree, *_, **__: trees.map(lambda x: faced(tensor_of(x)), tree),
            "device_get": lambda tree: trees.map(np.asarray, tree), "default_backend": lambda: "cpu", "device_count": lambda: 1}
    module("jax", top)
    of_trees = {"flatten": trees.flatten, "unflatten": trees.unflatten, "leaves": trees.leaves, "structure": trees.structure,
                "map": trees.map}
    module("jax.tree", of_trees)
    module("jax.tree_util", {f"tree_{name}": value for name, value in of_trees.items()} | {
        name: getattr(trees, name) for name in ("register_pytree_node", "register_pytree_node_class", "register_dataclass", "Partial")})
    own = {name: getattr(np, name) for name in NUMPYS_OWN if hasattr(np, name)}
    numpy_names = {name: value for name, value in vars(np).items() if isinstance(value, float) or isinstance(value, type) and issubclass(value, (np.generic, np.dtype))}
    jnp = module("jax.numpy", numpy_names | own | FUNCTIONS | {
        name: without_precision(FUNCTIONS[name]) for name in ("dot", "matmul", "tensordot", "einsum", "inner", "vdot", "outer", "sum")} | {
        "array": array, "ndarray": Array, "newaxis": None, "bool_": np.bool_})
    module("jax.numpy.linalg", LINALG | {name: without_precision(LINALG[name]) for name in (
        "matmul", "multi_dot", "tensordot", "vecdot", "lstsq", "slogdet")} | {"cholesky": cholesky})
    module("jax.numpy.fft", FFT)
    module("jax.lax", LAX)
    module("jax.lax.linalg", {})
    module("jax.random", random())
    module("jax.errors", ERRORS)
    module("jax.nn", {"relu": activation("relu"), "sigmoid": activation("sigmoid"), "softmax": activation("softmax"),
                      "softplus": activation("softplus"), "gelu": activation("gelu"), "silu": activation("silu"),
                      "logsumexp": lambda x, axis=None, keepdims=False: faced(plait.logsumexp(tensor_of(x), axis, keepdims))})
    module("jax.ad_checkpoint", {"checkpoint_name": lambda x, name: trees.map(
        lambda leaf: faced(plait.checkpoint_name(tensor_of(leaf), name)), x), "checkpoint": transforms.checkpoint,
        "checkpoint_policies": transforms.Policies()})
    module("jax.test_util", {"check_grads": check_grads})
    module("jax.custom_derivatives", {"custom_jvp": transforms.custom_jvp, "custom_vjp": transforms.custom_vjp})
    module("jax._src", {})
    module("jax._src.config", vars(Config) and {"parse_flags_with_absl": lambda: None, "enable_x64": Config.enable_x64,
                                                "jax_enable_x64": True, "enable_custom_prng": types.SimpleNamespace(value=False)})
    module("jax._src.test_util", TESTING)
    module("jax._src.api", {name: getattr(transforms, name) for name in ("jit", "grad", "value_and_grad", "jvp", "vjp", "vmap", "linearize",
                                                                         "jacfwd", "jacrev", "hessian")})
    module("jax._src.array", {"ArrayImpl": Array})
    module("jax._src.util", {"unzip2": lambda pairs: tuple(zip(*pairs)) or ((), ()), "split_list": split_list, "subvals": subvals})
    module("jax.ops", {f"segment_{name}": segments(name) for name in ("sum", "prod", "max", "min")})
    module("jax._src.dtypes", {"_default_types": {"f": np.float64, "i": np.int64}, "canonicalize_dtype": np.dtype,
                               "float0": top["float0"]})
    assert jnp
    sys.meta_path.append(LackingModules())


def segments(name):
    function = getattr(plait, f"segment_{name}")

    def call(data, segment_ids, num_segments=None, indices_are_sorted=False, unique_indices=False, bucket_size=None, mode=None):
        if mode is not None or bucket_size is not None:
            not_here("options of segment_sum and the like")
        ids = tensor_of(segment_ids)
        return faced(function(tensor_of(data), ids, int(plait.max(ids).item()) + 1 if num_segments is None else num_segments))

    return call


def subvals(values, pairs):
    values = list(values)
    for place, value in pairs:
        values[place] = value
    return tuple(values)


def split_list(items, counts):
    items, parts = list(items), []
    for count in counts:
        parts.append(items[:count])
        items = items[count:]
    return [*parts, items]


def pytest_collection_modifyitems():
    global is_collecting
    is_collecting = False


for _name in [each for each in sys.modules if each.split(".")[0] == "jax"]:
    del sys.modules[_name]
make_modules()
