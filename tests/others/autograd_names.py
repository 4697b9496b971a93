"""A pytest plugin for HIPS autograd's tests: a package `autograd` whose functions are Plait's. From the original
archive (PLAIT_AUTOGRAD) it uses only test_util, which compares derivatives with finite differences."""

import functools
import importlib.util
import os
import sys
import types

import numpy as np
import plait
from face.functions import FUNCTIONS, Draws
from face.linalg import FFT, LINALG
from face.making import asarray
from face.ufuncs import inexact
from face.values import Array, faced, not_here, tensor_of
from numpy_names import Face

ARCHIVE = os.environ["PLAIT_AUTOGRAD"]


def bare(tree):
    """Trees of tensors, with numbers converted to f64."""
    if isinstance(tree, (list, tuple)):
        return type(tree)(map(bare, tree))
    if isinstance(tree, dict):
        return {name: bare(tree[name]) for name in tree}
    if isinstance(tree, (Array, np.ndarray, np.generic, int, float, complex)):
        return tensor_of(tree)
    return tree


def with_face(tree):
    if isinstance(tree, dict):
        return {name: with_face(each) for name, each in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)(map(with_face, tree))
    return faced(tree)


def on_tensors(function):
    return lambda tree: bare(function(with_face(tree)))


def leaves_of(tree):
    return plait.tree.flatten(bare(tree))


def differentiable(result):
    for leaf in leaves_of(result)[0]:
        if leaf.dtype.kind not in ("floating", "complex"):
            raise TypeError(f"no derivative of {leaf.dtype}")
    return result


def make_vjp(function, x):
    value, pull = plait.vjp(on_tensors(lambda t: differentiable(function(t))), bare(x))

    def back(cotangent):
        leaves, structure = leaves_of(cotangent)
        wanted, _ = leaves_of(value)
        cast = [plait.astype(each, like.dtype) for each, like in zip(leaves, wanted)]
        return with_face(pull(plait.tree.structure(value).unflatten(cast))[0])

    return back, with_face(value)


def make_jvp(function, x):
    def along(tangent):
        return tuple(map(with_face, plait.jvp(on_tensors(function), (bare(x),), (bare(tangent),))))

    return along


def unary_to_nary(operator):
    """The operator on functions of one argument, applied to the argument, or the tuple of arguments, that argnum
    selects."""
    @functools.wraps(operator)
    def of(function, argnum=0, *rest, **options):
        @functools.wraps(function)
        def of_all(*arguments, **named):
            def of_one(x):
                places = [(argnum, x)] if isinstance(argnum, int) else zip(argnum, x)
                given = list(arguments)
                for place, value in places:
                    given[place] = value
                return function(*given, **named)

            of_one.__name__ = getattr(function, "__name__", "function")
            x = arguments[argnum] if isinstance(argnum, int) else tuple(arguments[i] for i in argnum)
            return operator(of_one, x, *rest, **options)

        of_all.__name__ = f"{operator.__name__}_of_{getattr(function, '__name__', '')}_wrt_argnum_{argnum}"
        return of_all

    return of


def one_number(function):
    """Accepts what plait.grad accepts: a result of one element counts as a number."""
    def number(tree):
        result = bare(function(with_face(tree)))
        if not isinstance(result, plait.Tensor) or FUNCTIONS["size"](Array(result)) != 1:
            raise TypeError("a result that is no number")
        return plait.reshape(result, ())

    return number


@unary_to_nary
def grad(function, x):
    return with_face(plait.grad(one_number(function))(bare(x)))


@unary_to_nary
def value_and_grad(function, x):
    return tuple(map(with_face, plait.value_and_grad(one_number(function))(bare(x))))


@unary_to_nary
def elementwise_grad(function, x):
    back, value = make_vjp(function, x)
    return back(vspace(value).ones())


@unary_to_nary
def deriv(function, x):
    return make_jvp(function, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(function, x):
    return with_face(plait.jacrev(on_tensors(function))(bare(x)))


@unary_to_nary
def hessian(function, x):
    return jacobian(jacobian(function))(x)


@unary_to_nary
def holomorphic_grad(function, x):
    return with_face(plait.grad(one_number(function), holomorphic=True)(bare(x)))


@unary_to_nary
def make_hvp(function, x):
    return make_vjp(grad(function), x)


def hessian_tensor_product(function, argnum=0):
    slope = grad(function, argnum)

    def product(*arguments, **named):
        *arguments, vector = arguments
        return FUNCTIONS["tensordot"](slope(*arguments, **named), vector, FUNCTIONS["ndim"](vector))

    return grad(product, argnum)


def tensor_jacobian_product(function, argnum=0):
    def product(*arguments, **named):
        *arguments, vector = arguments
        return FUNCTIONS["tensordot"](vector, function(*arguments, **named), axes=FUNCTIONS["ndim"](vector))

    return jacobian(product, argnum)


def make_ggnvp(f, g=lambda x: 1.0 / 2 * FUNCTIONS["sum"](x**2, axis=-1), f_argnum=0):
    @unary_to_nary
    def maker(f, x):
        back, middle = make_vjp(f, x)
        curvature, _ = make_vjp(grad(g), middle)
        return lambda v: back(curvature(make_jvp(f, x)(v)[1]))

    return maker(f, f_argnum)


@unary_to_nary
def grad_and_aux(function, x):
    def with_aux(tree):
        value, aux = function(with_face(tree))
        return bare(value), bare(aux)

    return tuple(map(with_face, plait.grad(with_aux, has_aux=True)(bare(x))))


def checkpoint(function):
    again = plait.remat(lambda *arguments: bare(function(*map(with_face, arguments))))
    return lambda *arguments: with_face(again(*map(bare, arguments)))


class Primitive:
    """A function with user-defined rules: a custom_vjp."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function, self._rules, self._custom = function, {}, None

    def __call__(self, *arguments, **named):
        if named:
            not_here("arguments by name of a custom rule")
        if not self._rules:
            if any(plait._core._is_followed([leaf]) for leaf in leaves_of(arguments)[0] if isinstance(leaf, plait.Tensor)):
                raise NotImplementedError("without a rule")
            return self._function(*arguments)
        return with_face(self._custom(*map(bare, arguments)))

    def rule(self, maker, argnum):
        self._rules[argnum] = maker

        def forward(*arguments):
            value = bare(self._function(*map(with_face, arguments)))
            return value, (value, arguments)

        def backward(kept, cotangent):
            value, arguments = with_face(kept)
            return tuple(bare(self._rules[i](value, *arguments)(with_face(cotangent))) if i in self._rules else None
                         for i in range(len(arguments)))

        self._custom = plait.custom_vjp(lambda *arguments: bare(self._function(*map(with_face, arguments))))
        self._custom.defvjp(forward, backward)

    def __getattr__(self, name):
        if name.startswith("def"):
            not_here("autograd's old ways to declare a derivative")
        raise AttributeError(name)


def defvjp(function, *makers, argnums=None):
    for argnum, maker in zip(argnums or range(len(makers)), makers):
        function.rule(maker, argnum)


class VSpace:
    """Vectors with the structure of a value: what test_util adds, scales and draws."""

    def __init__(self, value):
        self._leaves, self._structure = leaves_of(value)
        self._leaves = [inexact(leaf) for leaf in self._leaves]

    shape = property(lambda self: tuple(self._leaves[0].shape))
    size = property(lambda self: sum(leaf.size * (2 if leaf.dtype.kind == "complex" else 1) for leaf in self._leaves))
    iscomplex = property(lambda self: any(leaf.dtype.kind == "complex" for leaf in self._leaves))

    def _made(self, leaves):
        return with_face(self._structure.unflatten(leaves))

    def __eq__(self, other):
        mine, theirs = ([(leaf.shape, leaf.dtype) for leaf in each._leaves] for each in (self, other))
        return mine == theirs

    def _with_each(self, function, *trees):
        return self._made([function(*each) for each in zip(*(leaves_of(tree)[0] for tree in trees))])

    def add(self, x, y):
        return self._with_each(lambda a, b: a + b, x, y)

    def scalar_mul(self, x, factor):
        factor = tensor_of(factor)
        return self._with_each(lambda a: a * plait.astype(factor, a.dtype), x)

    def covector(self, x):
        return self._with_each(lambda a: plait.conj(a), x)

    def inner_prod(self, x, y):
        parts = [plait.sum(plait.real(plait.conj(a) * b)) for a, b in zip(leaves_of(x)[0], leaves_of(y)[0])]
        return with_face(functools.reduce(lambda a, b: a + b, parts, plait.zeros((), plait.f64)))

    def _drawn(self, draw):
        def numbers(leaf):
            drawn = draw(leaf.shape) + (1j * draw(leaf.shape) if leaf.dtype.kind == "complex" else 0)
            return plait.astype(plait.asarray(np.asarray(drawn)), leaf.dtype)

        return self._made(list(map(numbers, self._leaves)))

    def randn(self):
        return self._drawn(lambda shape: np.random.randn(*shape))

    def zeros(self):
        return self._made([plait.zeros_like(leaf) for leaf in self._leaves])

    def ones(self):
        return self._drawn(np.ones)

    def standard_basis(self):
        for i, leaf in enumerate(self._leaves):
            for place in range(leaf.size):
                for unit in (1.0, 1j) if leaf.dtype.kind == "complex" else (1.0,):
                    flat = np.zeros(leaf.size, complex if leaf.dtype.kind == "complex" else float)
                    flat[place] = unit
                    yield self._made([plait.astype(plait.asarray(flat.reshape(leaf.shape)), leaf.dtype) if j == i
                                      else plait.zeros_like(other) for j, other in enumerate(self._leaves)])


vspace = VSpace


def flatten(value):
    """All numbers of a tree as one vector, and the function back to the tree."""
    leaves, structure = leaves_of(value)
    if not leaves:
        return asarray(np.zeros(0)), lambda vector: value
    vector = plait.concat([plait.flatten(leaf) for leaf in leaves])

    def unflatten(vector):
        ends = np.cumsum([leaf.size for leaf in leaves]).tolist()
        parts = plait.split_at(tensor_of(vector), ends[:-1], 0)
        return with_face(structure.unflatten([plait.reshape(part, leaf.shape) for part, leaf in zip(parts, leaves)]))

    return faced(vector), unflatten


def make_diagonal(x, offset=0, axis1=0, axis2=1):
    made = plait.diag_embed(tensor_of(x), offset)
    return faced(plait.moveaxis(made, [-2, -1], [axis1, axis2]))


def joined(name):
    """np.r_ or np.c_, also of differentiated arrays."""
    class Joined:
        def __getitem__(self, parts):
            parts = parts if isinstance(parts, tuple) else (parts,)
            real = getattr(np, name)
            arrays = [asarray(real[each]) if isinstance(each, slice) else each for each in parts]
            if any(isinstance(each, str) for each in arrays):
                not_here(f"a string in {name}")
            if name == "r_":
                return FUNCTIONS["concatenate"]([FUNCTIONS["atleast_1d"](each) for each in arrays])
            return FUNCTIONS["column_stack"]([FUNCTIONS["atleast_1d"](each) for each in arrays])

    return Joined()


def iscomplex(x):
    return asarray(x).imag != 0


def real_if_close(x):
    x = asarray(x)
    return x.real if x.dtype.kind != "c" or bool(np.all(np.abs(np.asarray(x.imag)) < 1e-13)) else x


def module(name, **contents):
    made = types.ModuleType(name)
    vars(made).update(contents)
    made.__path__ = []
    sys.modules[name] = made
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, made)
    return made


def lacking(name):
    """A module's __getattr__ that returns a NoSuch."""
    def attribute(wanted):
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        return NoSuch(f"{name}.{wanted}")

    return attribute


class NoSuch:
    """Replaces a module that Plait does not have: using an attribute ends the test, except random numbers."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "rvs":
            import scipy.stats

            return getattr(scipy.stats, self._name.rpartition(".")[2]).rvs
        return NoSuch(f"{self._name}.{name}")

    def __call__(self, *arguments, **options):
        not_here(f"function {self._name}")


def special():
    """Plait's functions under the names of scipy.special."""
    names = {"gammaln": "lgamma", "psi": "digamma", "digamma": "digamma", "polygamma": "polygamma", "erf": "erf", "erfc": "erfc",
             "erfinv": "erfinv", "expit": "sigmoid", "logit": "logit", "i0": "i0", "i1": "i1", "betaln": "betaln", "betainc": "betainc",
             "gammainc": "gammainc", "gammaincc": "gammaincc"}

    def of(name):
        function = getattr(plait, name)
        return lambda *given: faced(function(*(tensor_of(each) if name == "polygamma" and i == 0 else inexact(tensor_of(each))
                                               for i, each in enumerate(given))))

    def logsumexp(x, axis=None, b=1.0, keepdims=False):
        x = inexact(tensor_of(x))
        if isinstance(b, float) and b == 1.0:
            return faced(plait.logsumexp(x, axis, keepdims))
        factor = tensor_of(b)
        return faced(plait.logsumexp(x + plait.log(factor), axis, keepdims))

    found = {theirs: of(ours) for theirs, ours in names.items()}
    return found | {"gamma": lambda x: faced(plait.exp(plait.lgamma(inexact(tensor_of(x))))), "logsumexp": logsumexp,
                    "multigammaln": lambda a, d: faced(plait.multigammaln(inexact(tensor_of(a)), d)),
                    "beta": lambda a, b: faced(plait.exp(plait.betaln(inexact(tensor_of(a)), inexact(tensor_of(b))))),
                    "__getattr__": lacking("special")}


def solve_triangular(a, b, trans=0, lower=False, **options):
    a, b = inexact(tensor_of(a)), inexact(tensor_of(b))
    if trans in (1, "T", 2, "C"):
        a, lower = plait.matrix_transpose(a if trans in (1, "T") else plait.conj(a)), not lower
    return faced(plait.linalg.solve_triangular(a, b, not lower))


def make_modules():
    numbers = Face(np, FUNCTIONS | {"ndarray": Array, "iscomplex": iscomplex, "real_if_close": real_if_close, "make_diagonal": make_diagonal, "r_": joined("r_"),
                                    "c_": joined("c_")})
    root = module("autograd", **{name: globals()[name] for name in (
        "grad", "value_and_grad", "elementwise_grad", "deriv", "jacobian", "hessian", "holomorphic_grad", "make_hvp",
        "hessian_tensor_product", "tensor_jacobian_product", "make_ggnvp", "grad_and_aux", "checkpoint", "flatten")})
    root.make_vjp, root.make_jvp, root.primitive = unary_to_nary(make_vjp), unary_to_nary(make_jvp), Primitive
    root.hessian_vector_product, root.vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product
    root.dict, root.list, root.tuple, root.isinstance = dict, list, tuple, isinstance
    module("autograd.numpy", __getattr__=lambda name: getattr(numbers, name))
    module("autograd.numpy.random", __getattr__=lambda name: getattr(Draws(np.random), name))
    module("autograd.numpy.linalg", __getattr__=lambda name: getattr(Face(np.linalg, LINALG), name))
    module("autograd.numpy.fft", __getattr__=lambda name: getattr(Face(np.fft, FFT), name))
    module("autograd.core", make_vjp=make_vjp, make_jvp=make_jvp, vspace=vspace, primitive=Primitive, primitive_vjps={})
    module("autograd.extend", primitive=Primitive, defvjp=defvjp, vspace=vspace)
    module("autograd.tracer", primitive=Primitive, isbox=lambda x: isinstance(x, Array) and x.tensor.is_traced)
    module("autograd.builtins", list=list, dict=dict, tuple=tuple, isinstance=isinstance)
    module("autograd.wrap_util", unary_to_nary=unary_to_nary, get_name=lambda f: getattr(f, "__name__", "function"))
    module("autograd.misc", flatten=flatten, const_graph=NoSuch("const_graph"))
    module("autograd.util", quick_grad_check=NoSuch("quick_grad_check"))
    module("autograd.scipy")
    module("autograd.scipy.special", **special())
    module("autograd.scipy.linalg", solve_triangular=solve_triangular, __getattr__=lacking("scipy.linalg"))
    for name in ("signal", "stats", "integrate", "stats.multivariate_normal"):
        module(f"autograd.scipy.{name}", __getattr__=lacking(f"scipy.{name}"))
    sys.modules["autograd.scipy.stats"].multivariate_normal = sys.modules["autograd.scipy.stats.multivariate_normal"]
    own = importlib.util.spec_from_file_location("autograd.test_util", os.path.join(ARCHIVE, "autograd", "test_util.py"))
    root.test_util = sys.modules["autograd.test_util"] = importlib.util.module_from_spec(own)
    own.loader.exec_module(root.test_util)


make_modules()
