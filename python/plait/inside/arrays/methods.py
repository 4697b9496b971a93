"""The methods of tensors. x.f(...) is plait.f(x, ...): most are generated from the table of functions, including
those named as in NumPy or PyTorch. A call with two meanings there has one here, or is an error that names both
(peers.py)."""

import builtins

from plait import _core, errors
from plait._core import Tensor
from plait.inside.arrays.devices import is_name_of_device, moved
from plait.inside.arrays.interop import own
from plait.inside.later import Later

peers = Later("plait.inside.help.peers")

# ---- Methods from functions: of the same name, one family per line, and of other names.

_SAME = """
    abs acos acosh angle asin asinh atan atan2 atanh ceil conj copysign cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1
    float_power floor fmod frac frexp gcd heaviside hypot i0 isclose isfinite isin isinf isnan lcm ldexp lerp lgamma log log10
    log1p log2 logaddexp logaddexp2 logit maximum minimum nan_to_num negative nextafter rad2deg reciprocal round rsqrt sigmoid
    sign signbit sin sinc sinh sqrt square tan tanh trunc xlogy
    add subtract multiply divide floor_divide remainder addcmul addcdiv allclose
    less less_equal greater greater_equal not_equal
    bitwise_and bitwise_or bitwise_xor bitwise_not logical_and logical_or logical_xor logical_not left_shift right_shift
    relu relu6 celu elu selu gelu silu softplus softsign leaky_relu hardtanh hardsigmoid hardswish hardshrink softshrink prelu
    softmax log_softmax logsigmoid logsumexp logcumsumexp
    sum mean prod any all argmax argmin std var count_nonzero nansum nanmean quantile nanquantile norm
    cumsum cumprod diff cov corrcoef
    reshape flatten squeeze unflatten broadcast_to expand_dims swapaxes moveaxis tile flip roll rot90 chunk tril triu
    argsort topk argpartition searchsorted unique nonzero argwhere bincount
    take gather scatter scatter_add scatter_reduce index_add masked_fill masked_select take_along_axis
    matmul dot bmm inner outer addmm baddbmm contiguous
""".split()
RENAMED = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "conjugate": "conj", "fix": "trunc", "sgn": "sign", "neg": "negative", "igamma": "gammainc", "igammac": "gammaincc",
    "sub": "subtract", "mul": "multiply", "div": "divide", "true_divide": "divide", "pow": "power",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
    "clamp": "clip", "clip": "clip", "amax": "max", "amin": "min",
    "mm": "matmul", "mv": "matmul", "ger": "outer",
    "ravel": "flatten", "permute": "permute_dims", "permute_dims": "permute_dims", "unsqueeze": "expand_dims", "swapdims": "swapaxes",
    "movedim": "moveaxis", "unbind": "unstack", "unstack": "unstack", "repeat_interleave": "repeat", "narrow": "slice_axis",
    "take_along_dim": "take_along_axis",
    "inverse": "linalg.inv", "det": "linalg.det", "slogdet": "linalg.slogdet", "matrix_power": "linalg.matrix_power",
    "matrix_exp": "linalg.expm", "pinverse": "linalg.pinv", "cholesky": "linalg.cholesky", "kron": "linalg.kron",
}
# For these PyTorch returns values and indices, NumPy and Plait values only. With a positional axis either could be
# meant.
_BY_KEYWORD = {
    "max": "x.max(axis=1) returns the maximum, as in NumPy, and x.argmax(axis=1) its index; plait.maximum(x, y) the greater of two",
    "min": "x.min(axis=1) returns the minimum, as in NumPy, and x.argmin(axis=1) its index; plait.minimum(x, y) the lesser of two",
    "cummax": "x.cummax(axis=0) returns the cumulative maximum",
    "cummin": "x.cummin(axis=0) returns the cumulative minimum",
}


def _function(name):
    value = _core
    for part in {"abs": "absolute"}.get(name, name).split("."):
        value = getattr(value, part)
    return value


for _name in _SAME:
    setattr(Tensor, _name, _core._method(_function(_name), _name))
for _name, _here in RENAMED.items():
    setattr(Tensor, _name, _core._method(_function(_here), _name))
for _name, _why in _BY_KEYWORD.items():
    setattr(Tensor, _name, _core._method(_function(_name), _name, 0, _why))

# ---- Conversions of the dtype.

_DTYPES = {"float": "f32", "double": "f64", "half": "f16", "bfloat16": "bf16", "int": "i32", "long": "i64", "short": "i16", "char": "i8",
           "byte": "u8", "bool": "boolean", "cfloat": "c64", "cdouble": "c128"}


def _conversion(name, dtype):
    def convert(self):
        return _core.astype(self, dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The numbers as {dtype.name}."
    return convert


for _name, _here in _DTYPES.items():
    setattr(Tensor, _name, _conversion(_name, getattr(_core, _here)))


def astype(self, dtype, *, copy=True, device=None):
    """The numbers converted to another dtype."""
    return _core.astype(self, dtype, device=device)


def type_(self, dtype=None):
    """Like astype."""
    if dtype is None:
        raise errors.TypeError.with_hint("type: the dtype is missing", "x.dtype is that of the tensor, x.type(plait.f64) converts it")
    return _core.astype(self, dtype)


def type_as(self, other):
    """The numbers converted to the dtype of another tensor, on its device."""
    return to(self, other)


def to(self, *where, dtype=None, device=None, copy=False, non_blocking=False):
    """On a device, in a dtype, or both; or as another tensor is: x.to("cuda"), x.to(plait.bf16), x.to(y). Gradients
    move back. What is so already stays itself, unless `copy` asks for memory of its own.

    >>> plait.ones(2).to("cpu", plait.f64)
    [1. 1.] : f64[2]
    """
    device, dtype = place_and_dtype(where, device, dtype)
    made = self if dtype is None or self.dtype == dtype else _core.astype(self, dtype)
    made = made if device is None else moved(made, _core._device_name(device))
    flags = [each for each in where if isinstance(each, builtins.bool)]  # PyTorch's order: non_blocking, copy
    return own(made) if (copy or flags[1:] == [True]) and made is self else made


def place_and_dtype(where, device=None, dtype=None):
    """The device and the dtype that the arguments of `to` name, each None if they do not."""
    for each in where:
        if isinstance(each, Tensor):
            device, dtype = each.device, each.dtype
        elif is_name_of_device(each) or type(each) is int:
            device = each
        elif each is not None and not isinstance(each, builtins.bool):
            try:
                dtype = _core.DType(each)
            except errors.TypeError:
                device = each
    return device, dtype


def cpu(self):
    """On the CPU: x.to("cpu")."""
    return moved(self, "cpu")


def cuda(self, device=None):
    """On a GPU, the first one by default: x.to("cuda")."""
    return moved(self, _core._device_name("cuda" if device is None else device))


def is_floating_point(self):
    """True if its numbers are floats."""
    return self.dtype.kind == "floating"


def is_complex(self):
    """True if its numbers are complex."""
    return self.dtype.kind == "complex"


# ---- Sizes and memory.


def dim(self):
    """The number of dimensions."""
    return self.ndim


def numel(self):
    """The number of elements."""
    return self.size


def element_size(self):
    """The size of one element in bytes."""
    return self.dtype.itemsize


def clone(self):
    """A tensor with the same numbers: assigning to elements of one does not change the other."""
    return self._share()


def tolist(self):
    """The numbers as nested lists, one level per dimension; a scalar as a number."""
    if self.is_traced and not _core._is_known(self):
        raise errors.ValueError.with_hint("tolist: a tensor that is being recorded has no values yet", "return it, and read it outside")
    return moved(self, "cpu").numpy().tolist()


def transpose(self, *axes, dim0=None, dim1=None):
    """The dimensions reversed, or permuted by `axes`, as in NumPy; or two of them swapped, as in PyTorch."""
    if (dim0, dim1) != (None, None):
        return _core.swapaxes(self, dim0 if axes == () else axes[0], dim1)
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        return _core.transpose(self, axes[0])
    if len(axes) == 2:
        first, second = (axis % self.ndim if -self.ndim <= axis < self.ndim else axis for axis in axes)
        if self.ndim == 2 and first < second:
            raise errors.ValueError.with_hint(f"transpose: ({axes[0]}, {axes[1]}) of a matrix swaps its dimensions in PyTorch, and keeps "
                                   "them in NumPy", "x.T or x.swapaxes(0, 1) swaps them")
        return _core.swapaxes(self, *axes)
    return _core.transpose(self, axes or None)


def t(self):
    """A transposed matrix; a vector unchanged."""
    if self.ndim > 2:
        raise errors.ShapeError.with_hint(f"t: a tensor of {self.ndim} dimensions is not a matrix", "x.mT transposes each matrix of a batch")
    return _core.transpose(self)


def view(self, *shape):
    """The elements in another shape, like reshape; or, given a dtype, the bytes reinterpreted as that dtype."""
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, _core.Dim)) and not hasattr(shape[0], "__index__"):
        return _core.view_dtype(self, shape[0])
    return _core.reshape(self, *shape)


def _shape_of(name, other):
    shape = getattr(other, "shape", None)
    if shape is None:
        raise errors.TypeError(f"{name}: other: expected a tensor, not {type(other).__name__}")
    return shape


def view_as(self, other):
    """The elements in the shape of another tensor."""
    return _core.reshape(self, _shape_of("view_as", other))


def expand(self, *shape):
    """Broadcasts sizes of 1, and adds dimensions in front; -1 keeps a size."""
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)
    for i in range(1, min(len(sizes), self.ndim) + 1):
        if isinstance(sizes[-i], int) and sizes[-i] == -1:
            sizes[-i] = self.shape[-i]
    return _core.broadcast_to(self, sizes)


def expand_as(self, other):
    """Broadcast to the shape of another tensor."""
    return _core.broadcast_to(self, _shape_of("expand_as", other))


# ---- Parts.


def split(self, *place, parts=None, size=None, axis=0):
    """Split along the axis: into equal pieces (parts=), or into pieces of one size or of several (size=)."""
    if place:
        raise errors.TypeError.with_hint(f"split: {place[0]} may be the number of parts (NumPy), or the size of each (PyTorch)",
                               f"x.split(size={place[0]}) returns parts of that size, x.split(parts=2) two parts")
    return _core.split(self, parts, axis, size=size)


def repeat(self, repeats, *more, axis=False, total=None):
    """Repeats each element along the axis, or all elements of the flattened tensor with axis=None."""
    if more or (axis is False and not isinstance(repeats, Tensor)):
        raise errors.TypeError.with_hint("repeat: NumPy repeats each element, PyTorch the whole",
                               "x.repeat(2, axis=0) or x.repeat(2, axis=None) repeats elements, x.tile(2, 3) the whole")
    return _core.repeat(self, repeats, None if axis is False else axis, total)


def diagonal(self, offset=0):
    """The diagonal of a matrix."""
    return _of_matrix("diagonal", _core.diagonal, self, offset)


def trace(self, offset=0):
    """The sum of the diagonal of a matrix."""
    return _of_matrix("linalg.trace", _core.linalg.trace, self, offset)


def _of_matrix(name, function, x, *arguments):
    if x.ndim > 2:
        raise errors.ShapeError.with_hint(f"{name}: for {x.ndim} dimensions NumPy and PyTorch use the first two, Plait the last two",
                               f"plait.{name}(x) uses the last two, of each matrix")
    return function(x, *arguments)


def diag(self, diagonal=0):
    """A matrix with that diagonal, or the diagonal of a matrix."""
    return _core.diag(self, diagonal)


def select(self, axis, index):
    """The slice at an index along the axis, without the axis."""
    return _core.take(self, index, axis)


def index_select(self, axis, index):
    """The slices at the indices along the axis."""
    return _core.take(self, index, axis)


def where(self, condition, other):
    """These elements where the condition is true, others elsewhere."""
    return _core.where(condition, self, other)


# ---- Methods with another order of arguments.


def polygamma(self, n):
    """The n-th derivative of digamma."""
    return _core.polygamma(n, self)


def clamp_min(self, min):  # noqa: A002: PyTorch's
    """Elements clamped from below."""
    return _core.clip(self, min)


def clamp_max(self, max):  # noqa: A002: PyTorch's
    """Elements clamped from above."""
    return _core.clip(self, None, max)


def positive(self):
    """The numbers unchanged."""
    return self


def isreal(self):
    """True where the imaginary part is 0."""
    return _core.equal(_core.imag(self), 0) if self.dtype.kind == "complex" else _core.ones_like(self, dtype=_core.boolean)


# ---- New tensors of the same dtype.


def new_zeros(self, *shape, dtype=None):
    """Zeros on the same device, by default of the same dtype."""
    return _core._made_beside(self, _core.zeros(*shape, dtype=dtype or self.dtype))


def new_ones(self, *shape, dtype=None):
    """Ones on the same device, by default of the same dtype."""
    return _core._made_beside(self, _core.ones(*shape, dtype=dtype or self.dtype))


def new_full(self, shape, fill_value, dtype=None):
    """A tensor on the same device, filled with the value, by default of the same dtype."""
    return _core._made_beside(self, _core.full(shape, fill_value, dtype or self.dtype))


for _method in (astype, type_as, to, cpu, cuda, is_floating_point, is_complex, dim, numel, element_size, clone, tolist, transpose, t, view, view_as,
                expand, expand_as, split, repeat, diagonal, trace, diag, select, index_select, where, polygamma, clamp_min, clamp_max, positive, isreal,
                new_zeros, new_ones, new_full):
    setattr(Tensor, _method.__name__, _method)
Tensor.type = type_
Tensor.copy = clone
Tensor.ndimension = dim
Tensor.nelement = numel
Tensor.reshape_as = view_as
Tensor.new_empty = new_zeros

# ---- Conversions to Python numbers.


def _format(self, spec):
    if not spec:
        return str(self)
    if self.ndim:
        raise errors.TypeError.with_hint(f"a tensor of {self.dtype.name}[{', '.join(map(str, self.shape))}] cannot be formatted by {spec!r}",
                                         "str(x) shows all elements, x.item() returns the only element")
    return format(self.item(), spec)


def _round(self, digits=None):
    return _core.round(self, digits or 0)


Tensor.__format__ = _core._boundary(_format)
Tensor.__round__ = _core._boundary(_round)

# ---- Tapes.

_of_core = {name: getattr(Tensor, name) for name in ("backward", "requires_grad", "requires_grad_")}
_OF_MODELS = "; the gradient by the weights of a Module is loss, gradient = plait.value_and_grad(loss_of)(model)"


def backward(self, cotangent=None, *, create_graph=False, retain_graph=False):
    """The backward pass from this tensor, with a cotangent, by default 1 for a scalar."""
    try:
        return _of_core["backward"](self, cotangent, create_graph=create_graph, retain_graph=retain_graph)
    except errors.ValueError as error:
        if "requires_grad" in error.hint:
            error.hint += _OF_MODELS
            error.args = (f"{error.args[0]}{_OF_MODELS}",)
        raise


def requires_grad(self, requires_grad=True):
    """A tensor with the same elements, whose gradient backward() computes."""
    return _followed("requires_grad", self, requires_grad)


def requires_grad_(self, requires_grad=True):
    """Marks this object as one that a tape follows."""
    return _followed("requires_grad_", self, requires_grad)


def _followed(name, tensor, requires_grad):
    if requires_grad is not True:
        raise errors.TypeError.with_hint(f"{name}: a tensor that a tape follows stays so", "plait.stop_gradient(x) is the same without derivatives, "
                                         "model = plait.nn.freeze(model, 'encoder.*') does not train these weights")
    return _of_core[name](tensor)


Tensor.backward, Tensor.requires_grad, Tensor.requires_grad_ = backward, requires_grad, requires_grad_

# ---- Attributes.


def _assign(tensor, name, value):
    if name == "requires_grad":
        hint = ("x.requires_grad_() marks a tensor; the weights of a Module need no mark" if value else
                "model = plait.nn.freeze(model, 'encoder.*') does not train these weights; x.detach() is the same tensor without derivatives")
        raise errors.AttributeError.with_hint("requires_grad is a method of tensors, which cannot be assigned to", hint)
    try:
        object.__setattr__(tensor, name, value)
    except AttributeError:
        if name in peers.ASSIGNED:
            raise errors.AttributeError.with_hint(f"{name} of a tensor cannot be assigned to", peers.ASSIGNED[name]) from None
        if hasattr(Tensor, name):
            raise errors.AttributeError(f"{name} of a tensor is computed, and cannot be assigned to") from None
        raise errors.AttributeError.with_hint(f"a tensor has no {name!r}, and takes no other attributes", "a plait.Module has a tensor and more") from None


Tensor.__setattr__ = _core._boundary(_assign)
Tensor.T = property(lambda tensor: _core.transpose(tensor), doc="With its dimensions in reverse order.")
Tensor.mT = property(lambda tensor: _core.matrix_transpose(tensor), doc="Each matrix, of the last two dimensions, transposed.")
Tensor.H = property(lambda tensor: _core.conj(t(tensor)), doc="A matrix, transposed and conjugate.")
Tensor.mH = property(lambda tensor: _core.conj(_core.matrix_transpose(tensor)), doc="Each matrix, transposed and conjugate.")
Tensor.real = property(lambda tensor: _core.real(tensor), doc="The real parts.")
Tensor.imag = property(lambda tensor: _core.imag(tensor), doc="The imaginary parts.")
Tensor.itemsize = property(element_size, doc="The bytes of one element.")
Tensor.nbytes = property(lambda tensor: tensor.size * tensor.dtype.itemsize, doc="The bytes of all elements.")
