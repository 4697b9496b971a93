"""jax.lax, implemented by Plait's operations and control flow."""

import builtins
import operator

import numpy as np
import plait
from face.functions import FUNCTIONS
from face.values import Array, faced, not_here, number, plait_dtype, tensor_of

from .trees import tensors, with_face


def cond(pred, true_fun, false_fun, *operands, operand=None, linear=None):
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    if operand is not None:
        operands = (operand,)
    leaves, form = tensors(list(operands))
    pred = tensor_of(pred)
    if pred.ndim:
        raise TypeError("Pred must be a scalar")
    pred = pred if pred.dtype == plait.boolean else pred != 0
    return faced_result(plait.cond(pred, with_structure(true_fun, form), with_structure(false_fun, form), leaves))


def with_structure(function, form):
    """The function on lists of tensors, whose result includes its structure: a constant, which must be equal in all branches."""
    return lambda given: tensors(function(*with_face(form, given)))


def faced_result(result):
    given, form = result
    return with_face(form, given)


def switch(index, branches, *operands, operand=None):
    if operand is not None:
        operands = (operand,)
    if len(branches) == 0:
        raise ValueError("Empty branch sequence")
    leaves, form = tensors(list(operands))
    index = tensor_of(index)
    if index.ndim:
        raise TypeError("Branch index must be scalar")
    if index.dtype.kind != "integer":
        raise TypeError("Index type must be an integer")
    index = plait.clip(plait.astype(index, plait.i64), 0, len(branches) - 1)
    return faced_result(plait.switch(index, [with_structure(each, form) for each in branches], leaves))


def while_loop(cond_fun, body_fun, init_val):
    leaves, form = tensors(init_val)

    def test(given):
        return tensor_of(cond_fun(with_face(form, given)))

    return with_face(form, plait.while_loop(test, lambda given: carried(form, body_fun(with_face(form, given))), leaves))


def carried(form, tree):
    """The tensors of a carry, which keeps its structure."""
    leaves, found = tensors(tree)
    if found != form:
        raise TypeError(f"the carry {form} becomes {found}")
    return leaves


def fori_loop(lower, upper, body_fun, init_val, *, unroll=None):
    leaves, form = tensors(init_val)

    def body(i, given):
        return carried(form, body_fun(Array(i), with_face(form, given)))

    low, high = (number(each) if isinstance(each, Array) and not each.tensor.is_traced else each for each in (lower, upper))
    if isinstance(low, Array) or isinstance(high, Array):
        first, last = tensor_of(low), tensor_of(high)
        result = plait.while_loop(lambda c: c[0] < last, lambda c: [c[0] + 1, *body(c[0], c[1:])], [first, *leaves])
        return with_face(form, result[1:])
    return with_face(form, plait.for_loop(operator.index(low), operator.index(high), body, leaves))


def scan(f, init, xs=None, length=None, reverse=False, unroll=1, _split_transpose=False):
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    carry, carry_form = tensors(init)
    slices, slice_form = tensors(xs)
    if builtins.any(x.ndim == 0 for x in slices):
        raise ValueError("scan got value with no leading axis to scan over")

    def body(carry, each):
        result = f(with_face(carry_form, carry), with_face(slice_form, each))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise TypeError("scan body output must be a pair")
        return carried(carry_form, result[0]), tensors(result[1])

    length = None if length is None else operator.index(number(length))
    if length is None and not slices:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    last, (stacked, out) = plait.scan(body, carry, slices, length=length, reverse=reverse, unroll=unroll_of(unroll, slices, length))
    return with_face(carry_form, last), with_face(out, stacked)


def unroll_of(unroll, slices, length):
    if isinstance(unroll, bool):
        return int(slices[0].shape[0] if slices else length) or 1 if unroll else 1
    return builtins.max(1, unroll)


def map_of(f, xs, *, batch_size=None):
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def associative_scan(fn, elems, reverse=False, axis=0):
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, form = tensors(elems)
    return with_face(form, plait.associative_scan(lambda a, b: tensors(fn(with_face(form, a), with_face(form, b)))[0], leaves, axis,
                                                  reverse))


def stop_gradient(x):
    leaves, form = tensors(x)
    return with_face(form, [plait.stop_gradient(each) for each in leaves])


def convert_element_type(x, dtype):
    return faced(plait.astype(tensor_of(x), plait_dtype(dtype)))


def dynamic_index_in_dim(operand, index, axis=0, keepdims=True):
    x = tensor_of(operand)
    found = plait.dynamic_slice(x, clamped(index, x.shape[axis] - 1), axis, 1)
    return faced(found if keepdims else plait.squeeze(found, axis))


def clamped(index, most):
    """Plait refuses indices out of range; JAX clamps them."""
    index = plait.astype(tensor_of(index), plait.i64)
    index = plait.where(index < 0, index + most + 1, index)
    return plait.reshape(plait.clip(index, 0, most), (1,))


def starts_of(x, starts, sizes):
    if x.ndim == 0:
        return plait.zeros(0, plait.i64)
    each = [plait.astype(tensor_of(i), plait.i64) for i in (starts if isinstance(starts, (tuple, list)) else list(faced(tensor_of(starts))))]
    each = [plait.clip(plait.where(i < 0, i + total, i), 0, total - size) for i, total, size in zip(each, x.shape, sizes)]
    return plait.stack(each)


def dynamic_slice(operand, start_indices, slice_sizes):
    x = tensor_of(operand)
    return faced(plait.dynamic_slice(x, starts_of(x, start_indices, slice_sizes), list(range(x.ndim)), list(slice_sizes)))


def dynamic_slice_in_dim(operand, start_index, slice_size, axis=0):
    x = tensor_of(operand)
    return faced(plait.dynamic_slice(x, clamped(start_index, x.shape[axis] - slice_size), axis, slice_size))


def dynamic_update_slice(operand, update, start_indices):
    x, part = tensor_of(operand), tensor_of(update)
    return faced(plait.slice_update(x, part, starts_of(x, start_indices, part.shape), list(range(x.ndim))))


def dynamic_update_index_in_dim(operand, update, index, axis):
    x, part = tensor_of(operand), tensor_of(update)
    if part.ndim < x.ndim:
        part = plait.expand_dims(part, axis)
    return faced(plait.slice_update(x, part, clamped(index, x.shape[axis] - 1), axis))


def select(which, on_true, on_false):
    return FUNCTIONS["where"](which, on_true, on_false)


def dot(a, b, precision=None, preferred_element_type=None):
    return FUNCTIONS["dot"](a, b)


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, **others):
    (left, right), (left_batch, right_batch) = dimension_numbers
    a, b = tensor_of(lhs), tensor_of(rhs)
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    of_a = [next(letters) for _ in range(a.ndim)]
    of_b = [next(letters) for _ in range(b.ndim)]
    for i, j in [*zip(left, right), *zip(left_batch, right_batch)]:
        of_b[j] = of_a[i]
    out = [of_a[i] for i in left_batch]
    out += [each for i, each in enumerate(of_a) if i not in left and i not in left_batch]
    out += [each for j, each in enumerate(of_b) if j not in right and j not in right_batch]
    return faced(plait.einsum(f"{''.join(of_a)},{''.join(of_b)}->{''.join(out)}", a, b))


def reshape(operand, new_sizes, dimensions=None):
    x = tensor_of(operand)
    if dimensions is not None:
        x = plait.permute_dims(x, list(dimensions))
    return faced(plait.reshape(x, tuple(new_sizes)))


def broadcast(operand, sizes):
    x = tensor_of(operand)
    return faced(plait.broadcast_to(x, (*sizes, *x.shape)))


def broadcast_in_dim(operand, shape, broadcast_dimensions):
    x = tensor_of(operand)
    sizes = [1] * len(shape)
    for i, place in enumerate(broadcast_dimensions):
        sizes[place] = x.shape[i]
    return faced(plait.broadcast_to(plait.reshape(x, sizes), tuple(shape)))


def reduction(name):
    return lambda x, axes=None, **options: FUNCTIONS[name](x, axis=None if axes is None else tuple(axes))


def full_like(x, fill_value, dtype=None, shape=None):
    return FUNCTIONS["full_like"](x, fill_value, dtype=dtype, shape=shape)


def iota(dtype, size):
    return FUNCTIONS["arange"](size, dtype=dtype)


def rem(a, b):
    return FUNCTIONS["fmod"](a, b)


def div(a, b):
    a, b = tensor_of(a), tensor_of(b)
    if a.dtype.kind == "integer":
        return faced(plait.astype(plait.trunc(plait.divide(plait.astype(a, plait.f64), b)), a.dtype))
    return FUNCTIONS["divide"](Array(a), Array(b))


def split(operand, sizes, axis=0):
    return tuple(faced(plait.split_at(tensor_of(operand), np.cumsum(sizes)[:-1].tolist(), axis)))


def expand_dims(x, dimensions):
    return FUNCTIONS["expand_dims"](x, tuple(dimensions))


def collective(name):
    function = getattr(plait, name)

    def call(x, axis_name, **options):
        if options.get("tiled"):
            not_here("tiled all_gather")
        if {each for each in options if options[each] is not None} - {"axis", "tiled"}:
            not_here(f"options of {name}")
        leaves, form = tensors(x)
        names = list(axis_name) if isinstance(axis_name, (tuple, list)) else axis_name
        return with_face(form, [function(each, names) for each in leaves])

    call.__name__ = name
    return call


def elementwise(*names, **others):
    return {name: FUNCTIONS[name] for name in names} | {theirs: FUNCTIONS[ours] for theirs, ours in others.items()}


def of_plait(**names):
    return {theirs: lambda *given, _of=getattr(plait, ours): faced(_of(*map(tensor_of, given))) for theirs, ours in names.items()}


LAX = {
    "cond": cond, "switch": switch, "while_loop": while_loop, "fori_loop": fori_loop, "scan": scan, "map": map_of,
    "associative_scan": associative_scan, "stop_gradient": stop_gradient, "convert_element_type": convert_element_type,
    "dynamic_index_in_dim": dynamic_index_in_dim, "dynamic_slice": dynamic_slice, "dynamic_slice_in_dim": dynamic_slice_in_dim,
    "dynamic_update_slice": dynamic_update_slice, "dynamic_update_index_in_dim": dynamic_update_index_in_dim, "select": select,
    "dot": dot, "dot_general": dot_general, "reshape": reshape, "broadcast": broadcast, "broadcast_in_dim": broadcast_in_dim,
    "reduce_sum": reduction("sum"), "reduce_max": reduction("max"), "reduce_min": reduction("min"), "reduce_prod": reduction("prod"),
    "full_like": full_like, "iota": iota, "rem": rem, "div": div, "split": split, "expand_dims": expand_dims, "full": FUNCTIONS["full"],
    "psum": collective("all_reduce_sum"), "pmax": collective("all_reduce_max"), "pmin": collective("all_reduce_min"),
    "pmean": collective("all_reduce_mean"), "all_gather": collective("all_gather"),
    "axis_index": lambda name: faced(plait.axis_index(name)), "axis_size": lambda name: plait.axis_size(name),
    "concatenate": lambda operands, dimension: FUNCTIONS["concatenate"](operands, dimension),
    "transpose": lambda x, permutation: FUNCTIONS["transpose"](x, permutation),
    "rev": lambda x, dimensions: FUNCTIONS["flip"](x, tuple(dimensions)),
    "clamp": lambda low, x, high: FUNCTIONS["clip"](x, low, high),
    "cumsum": lambda x, axis=0, reverse=False: faced(plait.cumsum(tensor_of(x), axis, reverse)),
    "cumprod": lambda x, axis=0, reverse=False: faced(plait.cumprod(tensor_of(x), axis, reverse)),
    "sort": lambda x, dimension=-1, **options: FUNCTIONS["sort"](x, dimension),
    "top_k": lambda x, k: tuple(faced(tuple(plait.topk(tensor_of(x), k)))),
    "broadcast_shapes": FUNCTIONS["broadcast_shapes"],
    "integer_pow": lambda x, y: FUNCTIONS["power"](x, y),
}
LAX |= elementwise("exp", "exp2", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan",
                   "asinh", "acosh", "atanh", "sign", "floor", "ceil", "conj", "real", "imag", "square", "round", "abs", "atan2",
                   "nextafter", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "reciprocal", add="add", sub="subtract",
                   mul="multiply", neg="negative", pow="power", max="maximum", min="minimum", eq="equal", ne="not_equal", lt="less",
                   le="less_equal", gt="greater", ge="greater_equal", is_finite="isfinite", shift_left="left_shift",
                   population_count="sign")
del LAX["population_count"]
LAX |= of_plait(rsqrt="rsqrt", logistic="sigmoid", erf="erf", erfc="erfc", erf_inv="erfinv", lgamma="lgamma", digamma="digamma",
                complex="make_complex", igamma="gammainc", igammac="gammaincc", bessel_i0e="i0e", bessel_i1e="i1e")
