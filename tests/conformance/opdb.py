"""PyTorch's samples of its operations (op_db), run through Plait's equivalent functions.

    opdb.py [NAME...]    exits with 1 where results differ; counts what was compared and, by reason, what was left out
"""

import collections
import re
import sys
import time

import numpy as np
import plait
import torch
from torch.testing._internal.common_methods_invocations import op_db


class LeftOut(Exception):
    """A sample that Plait's function does not support, and why."""


def without(reason):
    """Used for a function that Plait deliberately does not have."""

    def call(*arguments, **options):
        raise LeftOut(reason)

    return call


def same(name):
    """A function with the same name and arguments, whatever their names."""
    function = getattr(plait, name)

    def call(*arguments, **options):
        if options:
            raise LeftOut("takes " + ", ".join(sorted(options)))
        return function(*arguments)

    return call


def scaled(name):
    """add and subtract take a factor for the second operand."""
    function = getattr(plait, name)

    def call(a, b, alpha=1, out=None):
        return function(a, b if alpha == 1 else plait.multiply(b, alpha))

    return call


def divide(a, b, rounding_mode=None):
    quotient = plait.divide(a, b)
    if rounding_mode is None:
        return quotient
    return plait.floor_divide(a, b) if rounding_mode == "floor" else plait.trunc(quotient)


def reduction(name):
    function = getattr(plait, name)

    def call(x, dim=None, keepdim=False, dtype=None):
        if isinstance(dim, (list, tuple)) and len(dim) == 0:
            dim = None
        return function(x if dtype is None else plait.astype(x, str(dtype).removeprefix("torch.")), dim, keepdim)

    return call


def clamp(x, min=None, max=None):
    if min is None or max is None:
        return plait.minimum(x, max) if min is None else plait.maximum(x, min)
    return plait.clip(x, min, max)


def permute(x, *dims):
    return plait.permute_dims(x, dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims)


def flip(x, dims):
    for dim in dims if isinstance(dims, (list, tuple)) else [dims]:
        x = plait.flip(x, dim)
    return x


def squeeze(x, dim=None):
    if x.ndim == 0 or isinstance(dim, tuple):
        raise LeftOut("several dimensions, or none to take away")
    if dim is None:
        for axis in reversed([axis for axis, size in enumerate(x.shape) if size == 1]):
            x = plait.squeeze(x, axis)
        return x
    return plait.squeeze(x, dim) if x.shape[dim] == 1 else x


def where(yes, condition, no):
    return plait.where(condition, yes, no)


def concat(tensors, dim=0):
    if any(x.shape == (0,) for x in tensors) and any(x.ndim > 1 for x in tensors):
        raise LeftOut("an empty vector beside arrays of more dimensions")
    return plait.concat(tensors, dim)


def masked_fill(x, mask, value):
    if any(size != 1 for size in mask.shape[:max(0, mask.ndim - x.ndim)]) or len(mask.shape) > x.ndim:
        raise LeftOut("a mask of more dimensions than what is filled")
    return plait.masked_fill(x, mask, value)


# PyTorch's name: Plait's function. Functions with equal names and arguments need no entry.
NAMES = {
    "add": scaled("add"), "sub": scaled("subtract"), "mul": same("multiply"), "div": divide, "true_divide": divide,
    "floor_divide": same("floor_divide"), "remainder": same("remainder"), "pow": same("power"),
    "maximum": same("maximum"), "minimum": same("minimum"), "atan2": same("atan2"), "hypot": same("hypot"),
    "copysign": same("copysign"), "eq": same("equal"), "ne": same("not_equal"), "lt": same("less"),
    "le": same("less_equal"), "gt": same("greater"), "ge": same("greater_equal"), "abs": same("absolute"),
    "neg": same("negative"), "sgn": same("sign"), "bitwise_left_shift": same("left_shift"),
    "bitwise_right_shift": same("right_shift"), "clamp": clamp, "where": where,
    "cat": concat, "stack": lambda tensors, dim=0: plait.stack(tensors, dim),
    "permute": permute, "transpose": same("swapaxes"), "unsqueeze": same("expand_dims"),
    "squeeze": squeeze, "reshape": lambda x, shape: plait.reshape(x, tuple(shape)),
    "view": lambda x, *shape: plait.reshape(x, tuple(shape[0]) if isinstance(shape[0], (tuple, list, torch.Size)) else shape),
    "broadcast_to": lambda x, shape: plait.broadcast_to(x, tuple(shape)), "flip": flip,
    "sum": reduction("sum"), "prod": reduction("prod"), "mean": reduction("mean"), "amax": reduction("max"),
    "amin": reduction("min"), "all": reduction("all"), "any": reduction("any"), "matmul": same("matmul"),
    "mm": same("matmul"), "bmm": same("matmul"), "mv": same("matmul"), "dot": same("matmul"), "outer": same("outer"),
    "zeros_like": same("zeros_like"), "ones_like": same("ones_like"),
}


def scan(name):
    def call(x, dim, dtype=None):
        if x.ndim == 0:
            raise LeftOut("a scan of a number without dimensions")
        return getattr(plait, name)(x if dtype is None else plait.astype(x, str(dtype).removeprefix("torch.")), dim)

    return call


def extreme_place(name):
    return lambda x, dim=None, keepdim=False: getattr(plait, name)(x, dim, keepdim)


def argsort(x, dim=-1, descending=False, stable=False):
    if x.ndim == 0 or not stable:
        raise LeftOut("places of alike elements are PyTorch's choice")
    return plait.argsort(x, dim, descending)


def roll(x, shifts, dims=None):
    if dims is None or dims == ():
        raise LeftOut("a roll of all dimensions together")
    return plait.roll(x, shifts, dims)


def is_inexact(x):
    return x.dtype.kind in ("floating", "complex")


def activation(name, *options):
    """An activation whose further arguments are in PyTorch's order; `inplace` has no effect on the numbers."""
    function = getattr(plait, name)

    def call(x, *arguments, inplace=False, **named):
        if any(isinstance(bound, float) for bound in named.values()) and not is_inexact(x):
            raise LeftOut("integers with bounds that are not")
        return function(x, *arguments, *[named[option] for option in options if option in named])

    return call


def softplus(x, beta=1, threshold=20):
    if threshold != 20:
        raise LeftOut("another threshold")
    return plait.softplus(x, float(beta))


def softmax(name):
    def call(x, dim=None, dtype=None, _stacklevel=3):
        if dim is None or x.ndim == 0:
            raise LeftOut("without an axis")
        return getattr(plait, name)(x if dtype is None else plait.astype(x, str(dtype).removeprefix("torch.")), dim)

    return call


def linalg(name):
    def call(a, *arguments, **options):
        if options and name != "det":
            raise LeftOut("takes " + ", ".join(sorted(options)))
        return getattr(plait.linalg, name)(a, *arguments)

    return call


def solve(a, b, **options):
    if options:
        raise LeftOut("takes " + ", ".join(sorted(options)))
    if b.ndim > 1 and b.ndim == a.ndim - 1:  # PyTorch treats it as a stack of vectors, as NumPy no longer does
        return plait.squeeze(plait.linalg.solve(a, plait.expand_dims(b, -1)), -1)
    return plait.linalg.solve(a, b)


NAMES |= {
    "cumsum": scan("cumsum"), "cumprod": scan("cumprod"), "logcumsumexp": scan("logcumsumexp"),
    "argmax": extreme_place("argmax"), "argmin": extreme_place("argmin"), "argsort": argsort, "roll": roll,
    "logsumexp": reduction("logsumexp"), "nansum": reduction("nansum"), "nanmean": reduction("nanmean"),
    "count_nonzero": lambda x, dim=None: plait.count_nonzero(x, dim), "argwhere": same("argwhere"), "kron": linalg("kron"),
    "inner": same("inner"), "masked_select": same("masked_select"), "masked_fill": masked_fill,
    "nn.functional.softmax": softmax("softmax"), "softmax": softmax("softmax"), "log_softmax": softmax("log_softmax"),
    "nn.functional.softplus": softplus, "nn.functional.leaky_relu": activation("leaky_relu", "negative_slope"),
    "nn.functional.elu": activation("elu", "alpha"), "nn.functional.celu": activation("celu", "alpha"),
    "nn.functional.hardshrink": activation("hardshrink", "lambd"), "nn.functional.softshrink": activation("softshrink", "lambd"),
    "nn.functional.hardtanh": activation("hardtanh", "min_val", "max_val"), "nn.functional.prelu": activation("prelu", "weight"),
    "nn.functional.threshold": activation("threshold", "threshold", "value"), "nn.functional.gelu":
    lambda x, approximate="none": plait.gelu(x, approximate), "nn.functional.glu": lambda x, dim=-1: plait.glu(x, dim),
    "linalg.det": linalg("det"), "linalg.inv": linalg("inv"), "linalg.matrix_power": linalg("matrix_power"),
    "linalg.eigvalsh": linalg("eigvalsh"), "linalg.svdvals": linalg("svdvals"), "linalg.solve": solve,
    "diff": lambda x, n=1, dim=-1: plait.diff(x, n, dim), "tile": lambda x, dims: plait.tile(x, dims),
    "conj_physical": same("conj"), "unflatten": lambda x, dim, sizes: plait.unflatten(x, dim, tuple(sizes)),
}
NAMES |= {f"nn.functional.{name}": activation(name) for name in (
    "relu", "relu6", "selu", "silu", "mish", "softsign", "logsigmoid", "hardsigmoid", "hardswish", "tanhshrink")}
NAMES |= {name: same(name) for name in ("real", "imag", "angle", "lerp", "hstack", "vstack", "xlogy", "nextafter", "logaddexp",
                                        "fmod", "frac", "erfc", "erfinv", "lgamma", "digamma", "signbit", "dot",
                                        "logaddexp2", "sinc", "heaviside", "float_power", "deg2rad", "rad2deg", "gcd", "lcm",
                                        "i0", "logit", "ldexp")}
NAMES |= {f"special.{name}": same(name) for name in ("i0e", "i1", "i1e", "ndtr", "log_ndtr", "ndtri", "zeta", "xlog1py", "entr",
                                                     "erfcx")}
NAMES |= {"igamma": same("gammainc"), "igammac": same("gammaincc"),
          "mvlgamma": lambda x, p: plait.multigammaln(x, p)}


def renamed(path, *order, **names):
    """A function with another name: PyTorch's arguments after the first come in `order`, with their names here in
    `names`. Arguments named None have no effect on the numbers, or only one possible value here."""
    module, _, name = path.rpartition(".")
    function = getattr(getattr(plait, module) if module else plait, name)

    def call(x, *arguments, **options):
        options = dict(zip(order, arguments)) | options
        unknown = [option for option in options if option not in names]
        if unknown:
            raise LeftOut("takes " + ", ".join(sorted(unknown)))
        if (options.get("eps") or 0) < 0:
            raise LeftOut("an epsilon below 0")
        return function(x, **{names[option]: value for option, value in options.items()
                              if names[option] is not None and value is not None})

    return call


def alike(*names, **others):
    return {name: name for name in names} | others


def max_pool(name):
    call = renamed(name, "kernel_size", kernel_size="window", return_indices=None,
                   **alike("stride", "padding", "dilation", "ceil_mode"))
    return lambda x, *arguments, **options: call(x, *arguments, **{n: o for n, o in options.items() if o != ()})


def batch_norm(x, running_mean=None, running_var=None, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if x.ndim < 2 or running_mean is None and not training or eps < 0 or not 0 <= momentum <= 1:
        raise LeftOut("without channels or running statistics, or with numbers that Plait refuses")
    return plait.batch_norm(x, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var,
                            training=training, momentum=momentum, eps=eps).values


def spread(name):
    def call(x, dim=None, unbiased=None, keepdim=False, correction=1):
        if isinstance(dim, bool) or unbiased is not None:
            raise LeftOut("corrected or not by True or False")
        return getattr(plait, name)(x, None if dim == () else dim, correction, keepdim)

    return call


def avg_pool(name):
    call = renamed(name, "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override",
                   kernel_size="window",
                   divisor_override="divisor", **alike("stride", "padding", "ceil_mode", "count_include_pad"))
    return lambda x, window, stride=None, *arguments, **options: call(x, window, stride if stride != () else None, *arguments,
                                                                      **options)


def linear(x, w, bias=None):
    if w.ndim == 1:
        raise LeftOut("weights of one output alone")
    return plait.linear(x, w, bias)


def baddbmm(x, a, b, beta=1, alpha=1):
    if not is_inexact(x) and any(isinstance(factor, float) for factor in (beta, alpha)):
        raise LeftOut("integers with factors that are not")
    return plait.baddbmm(x, a, b, beta=beta, alpha=alpha)


def pinv(a, *factors, **options):
    if factors or options:
        raise LeftOut("takes factors, or " + ", ".join(sorted(options)))
    return plait.linalg.pinv(a)


def cholesky_solve(b, factor, upper=False):
    return plait.linalg.cholesky_solve(factor, b, upper)


def tensordot(a, b, dims=2):
    if not isinstance(dims, (tuple, list)):
        return plait.tensordot(a, b, dims)
    if any(a.shape[i] != b.shape[j] for i, j in zip(*dims)):
        raise LeftOut("a size of 1 that is broadcast where it is summed")
    return plait.tensordot(a, b, *dims)


def gather(x, dim, index):
    if x.ndim != index.ndim:
        raise LeftOut("an index of another rank")
    return plait.gather(x, dim, index)


def normalize(x, p=2.0, dim=1, eps=1e-12):
    if p <= 0:
        raise LeftOut("no norm")
    return plait.normalize(x, p, dim, eps)


def vander(x, N=None):
    if x.ndim == 0:
        raise LeftOut("a number in place of a vector")
    return plait.linalg.vander(x) if N is None else plait.linalg.vander(x, N)


FFT = {"n": "n", "dim": "axis", "norm": "norm"}
FFTN = {"s": "lengths", "dim": "axes", "norm": "norm"}
NAMES |= {f"fft.{name}": renamed(f"fft.{name}", "n", "dim", "norm", **FFT) for name in ("fft", "ifft", "rfft", "irfft", "hfft",
                                                                                        "ihfft")}
NAMES |= {f"fft.{name}": renamed(f"fft.{name}", "s", "dim", "norm", **FFTN) for name in (
    "fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")}
NAMES |= {f"fft.{name}": renamed(f"fft.{name}", "dim", dim="axes") for name in ("fftshift", "ifftshift")}
CONVOLUTION = alike("bias", "stride", "padding", "dilation", "groups", weight="w")
NAMES |= {f"nn.functional.conv{n}d": renamed(f"conv{n}d", "weight", "bias", **CONVOLUTION) for n in (1, 2, 3)}
NAMES |= {f"nn.functional.conv_transpose{n}d": renamed(f"conv_transpose{n}d", "weight", "bias", output_padding="output_padding",
                                                       **CONVOLUTION)
          for n in (1, 2, 3)}
NAMES |= {f"nn.functional.max_pool{n}d": max_pool(f"max_pool{n}d") for n in (1, 2, 3)}
NAMES |= {f"nn.functional.avg_pool{n}d": avg_pool(f"avg_pool{n}d") for n in (1, 2, 3)}
NAMES |= {f"nn.functional.adaptive_{kind}_pool{n}d": renamed(f"adaptive_{kind}_pool{n}d", "output_size", output_size="counts",
                                                             return_indices=None)
          for n in (1, 2, 3) for kind in ("avg", "max")}
NAMES |= {
    "nn.functional.layer_norm": renamed("layer_norm", "normalized_shape", "weight", "bias", "eps", normalized_shape="shape",
                                        eps="epsilon",
                                        **alike("weight", "bias")),
    "nn.functional.rms_norm": renamed("rms_norm", "normalized_shape", "weight", "eps", normalized_shape="shape", weight="weight",
                                      eps="epsilon"),
    "nn.functional.group_norm": renamed("group_norm", "num_groups", "weight", "bias", "eps", num_groups="groups", eps="epsilon",
                                        **alike("weight", "bias")),
    "nn.functional.batch_norm": batch_norm, "nn.functional.linear": linear, "nn.functional.normalize": normalize,
    "nn.functional.scaled_dot_product_attention": renamed("scaled_dot_product_attention", "key", "value", key="k", value="v",
                                                          attn_mask="mask",
                                                          dropout_p=None, is_causal="is_causal", scale="scale"),
    "nn.functional.embedding": lambda table, ids, **options: same("embedding")(ids, table, **options),
    "nn.functional.pixel_shuffle": renamed("pixel_shuffle", "upscale_factor", upscale_factor="factor"),
    "nn.functional.pixel_unshuffle": renamed("pixel_unshuffle", "downscale_factor", downscale_factor="factor"),
    "nn.functional.softmin": softmax("softmin"),
    "addcmul": renamed("addcmul", "a", "b", value="scale", **alike("a", "b")),
    "addcdiv": renamed("addcdiv", "a", "b", value="scale", **alike("a", "b")),
    "addmm": renamed("addmm", "a", "b", **alike("a", "b", "alpha", "beta")), "baddbmm": baddbmm,
    "isclose": renamed("isclose", "b", b="b", rtol="relative", atol="absolute", equal_nan="equal_nan"),
    "nan_to_num": renamed("nan_to_num", "nan", "posinf", "neginf", nan="nan", posinf="positive_infinity",
                          neginf="negative_infinity"),
    "complex": same("make_complex"), "tril": same("tril"), "triu": same("triu"),
    "diag": same("diag"), "gather": gather, "scatter_add": same("scatter_add"), "take": same("take"), "trace": linalg("trace"),
    "index_add": renamed("index_add", "axis", "index", "source", alpha="factor", **alike("axis", "index", "source")),
    "as_strided": renamed("as_strided", "shape", "strides", "offset", storage_offset="offset", **alike("shape", "strides", "offset")),
    "as_strided.partial_views": without("looks at memory that is not the tensor's"),
    "isin": renamed("isin", "test", test="test", assume_unique=None, invert="invert"),
    "nn.functional.unfold": renamed("unfold", "window", "dilation", "padding", "stride", kernel_size="window",
                                    **alike("window", "dilation", "padding", "stride")),
    "movedim": same("moveaxis"), "tensordot": tensordot,
    "einsum": lambda operands, equation: plait.einsum(equation, operands), "rot90": lambda x, k=1,
    dims=(0, 1): plait.rot90(x, k, *dims),
    "linalg.vecdot": renamed("vecdot", "b", b="b", dim="axis"), "linalg.cross": renamed("linalg.cross", "b", b="b", dim="axis"),
    "linalg.vector_norm": renamed("linalg.vector_norm", "ord", "dim", "keepdim", ord="order", dim="axis", keepdim="keepdims"),
    "linalg.cholesky": linalg("cholesky"), "linalg.eigvals": linalg("eigvals"), "linalg.pinv": pinv,
    "linalg.matrix_rank": linalg("matrix_rank"), "linalg.cond": linalg("cond"),
    "matrix_exp": linalg("expm"), "linalg.multi_dot": linalg("multi_dot"), "linalg.tensorinv": renamed("linalg.tensorinv", ind="count"),
    "linalg.tensorsolve": renamed("linalg.tensorsolve", "b", "dims", b="b", dims="axes"),
    "linalg.vander": vander, "cholesky_inverse": renamed("linalg.cholesky_inverse", upper="upper"),
    "cholesky_solve": cholesky_solve, "block_diag": lambda *blocks: plait.linalg.block_diag(blocks),
    "masked_select": same("masked_select"), "flatten": same("flatten"),
    "var": spread("var"), "std": spread("std"),
    "searchsorted": renamed("searchsorted", "values", values="values", side="side", sorter="sorter"),
}


def loss(name, *order, **others):
    """A loss whose second argument is the target; further ones come in `order`."""
    call = renamed(name, *order, target="target", **alike("reduction", **others))

    def of(x, target, *arguments, **options):
        if name.startswith("multi") and (x.ndim == 0 or target.ndim == x.ndim == 1 and target.shape != x.shape):
            raise LeftOut("a vector of one class")
        return call(x, *arguments, target=target, **options)

    return of


def gaussian_nll_loss(x, target, var, **options):
    if var.shape != x.shape and var.shape == x.shape[:-1]:  # one for each row
        var = plait.expand_dims(var, -1)
    return loss("gaussian_nll_loss", "variance", variance="variance", full="full", eps="epsilon")(x, target, var, **options)


def ctc_loss(x, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    return plait.ctc_loss(x, targets, np.asarray(input_lengths), np.asarray(target_lengths), blank=blank, reduction=reduction,
                          zero_infinity=zero_infinity)


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
                antialias=False):
    if recompute_scale_factor:
        raise LeftOut("scales that are computed again")
    modes = {"bilinear": "linear", "trilinear": "linear", "bicubic": "cubic", "nearest-exact": "nearest_exact"}
    given = {"scales": scale_factor} if size is None else {"sizes": size}
    return plait.interpolate(x, mode=modes.get(mode, mode), align_corners=bool(align_corners), antialias=antialias, **given)


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    modes = {"bilinear": "linear", "bicubic": "cubic"}
    if mode == "bicubic" and x.ndim == 5:
        raise LeftOut("cubic of three dimensions, which PyTorch refuses too")
    return plait.grid_sample(x, grid, mode=modes.get(mode, mode), padding=padding_mode, align_corners=bool(align_corners))


def pair(name, *order, **names):
    call = renamed(name, *order, **names)
    return lambda a, b, *arguments, **options: call(a, *arguments, b=b, **options)


NAMES |= {f"nn.functional.{name}": function for name, function in {
    "cross_entropy": loss("cross_entropy", weight="weights", **alike("ignore_index", "label_smoothing")),
    "nll_loss": loss("nll_loss", weight="weights", ignore_index="ignore_index"),
    "binary_cross_entropy": loss("binary_cross_entropy", weight="weight"),
    "binary_cross_entropy_with_logits": loss("binary_cross_entropy_with_logits", weight="weight", pos_weight="positive_weight"),
    "multi_margin_loss": loss("multi_margin_loss", weight="weights", **alike("p", "margin")),
    "multilabel_margin_loss": loss("multilabel_margin_loss"),
    "multilabel_soft_margin_loss": loss("multilabel_soft_margin_loss", weight="weight"),
    "mse_loss": loss("mse_loss"), "l1_loss": loss("l1_loss"), "smooth_l1_loss": loss("smooth_l1_loss", beta="beta"),
    "huber_loss": loss("huber_loss", delta="delta"), "kl_div": loss("kl_div_loss", log_target="log_target"),
    "gaussian_nll_loss": gaussian_nll_loss,
    "poisson_nll_loss": loss("poisson_nll_loss", eps="epsilon", **alike("log_input", "full")),
    "soft_margin_loss": loss("soft_margin_loss"), "hinge_embedding_loss": loss("hinge_embedding_loss", margin="margin"),
    "margin_ranking_loss": pair("margin_ranking_loss", "target", **alike("b", "target", "margin", "reduction")),
    "cosine_embedding_loss": pair("cosine_embedding_loss", "target", **alike("b", "target", "margin", "reduction")),
    "cosine_similarity": pair("cosine_similarity", "dim", "eps", dim="axis", eps="epsilon", b="b"),
    "pairwise_distance": pair("pairwise_distance", "p", "eps", "keepdim", eps="epsilon", keepdim="keepdims", **alike("b", "p")),
    "triplet_margin_loss": renamed("triplet_margin_loss", "positive", "negative", eps="epsilon",
                                   **alike("positive", "negative", "margin", "p", "swap", "reduction")),
    "ctc_loss": ctc_loss, "interpolate": interpolate, "upsample_nearest": interpolate, "grid_sample": grid_sample,
}.items()}
# Elementwise functions that PyTorch calls as Plait does.
FOR_ALL_ALIKE = [name for name, primitive in plait.ops().items()
                 if primitive.elementwise != "no" and primitive.most_operands == 1 and hasattr(plait, name) and hasattr(torch, name)]
FOR_ALL_ALIKE += ["isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"]
DTYPES = [torch.float32, torch.float64, torch.int32, torch.bool, torch.complex64]
# Scores of hundreds, where both are off by 2e-5; exponentials of hundreds, which PyTorch computes in the dtype itself.
LESS_ACCURATE = {"nn.functional.scaled_dot_product_attention": 5, "matrix_exp": 50}
MOST = 150  # samples of an operation and a dtype, evenly chosen
ACCURACY = {torch.float32: 1e-5, torch.float64: 1e-12, torch.complex64: 2e-5}


def functions():
    table = {name: same(name) for name in FOR_ALL_ALIKE}
    return table | NAMES


def to_plait(value):
    if isinstance(value, torch.Tensor):
        return plait.borrow(value.detach().resolve_conj().resolve_neg().numpy())
    if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
        return type(value)(map(to_plait, value))
    return value


def compare(op, function, sample):
    """A description of the difference; None if there is none. LeftOut if Plait has no equivalent."""
    expected = op(sample.input, *sample.args, **sample.kwargs)
    if not isinstance(expected, torch.Tensor):
        raise LeftOut("gives several tensors")
    options = {name: to_plait(value) for name, value in sample.kwargs.items()}
    try:
        result = function(to_plait(sample.input), *map(to_plait, sample.args), **options)
    except plait.TypeError as error:
        raise LeftOut("does not take " + re.sub(r"\[.*?\]", "", error.message)[:70]) from error
    except plait.IndexError as error:
        if "the array is a scalar" not in error.message:
            raise
        raise LeftOut("an axis of a number without dimensions") from error
    except TypeError as error:
        raise LeftOut(f"arguments: {str(error).splitlines()[0][:60]}") from error
    if not isinstance(result, plait.Tensor):
        return f"gives {result!r}"
    actual, wanted = result.numpy(), expected.detach().resolve_conj().resolve_neg().numpy()
    if actual.shape != wanted.shape:
        return f"the shape {actual.shape} instead of {wanted.shape}"
    if actual.dtype != wanted.dtype and {actual.dtype.kind, wanted.dtype.kind} == {"f", "c"}:
        return f"{actual.dtype} instead of {wanted.dtype}"
    accuracy = ACCURACY.get(expected.dtype, 1e-5 if actual.dtype.kind in "fc" else 0) * LESS_ACCURATE.get(op.name, 1)
    if not np.allclose(actual, wanted, rtol=accuracy, atol=accuracy, equal_nan=True):
        place = np.unravel_index(np.argmax(~np.isclose(actual, wanted, rtol=accuracy, atol=accuracy, equal_nan=True)), actual.shape)
        return f"{actual[place]!r} instead of {wanted[place]!r} at {[int(i) for i in place]}"
    return None


def main():
    start = time.monotonic()
    torch.manual_seed(1)
    table = functions()
    wanted = set(sys.argv[1:])
    compared, left_out, failures, covered = 0, collections.Counter(), [], set()
    for op in op_db:
        full_name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        function = table.get(full_name, table.get(op.name))
        if function is None or (wanted and op.name not in wanted):
            continue
        for dtype in DTYPES:
            if dtype not in op.dtypes:
                continue
            samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
            for sample in samples[::len(samples) // MOST + 1]:
                try:
                    wrong = compare(op, function, sample)
                except LeftOut as reason:
                    left_out[f"{op.name}: {reason}"] += 1
                    continue
                except Exception as error:
                    wrong = f"{type(error).__name__}: {str(error).splitlines()[0]}"
                compared += 1
                covered.add(op.name)
                if wrong:
                    failures.append(f"{full_name}: op_db: {dtype}: {sample.summary()[:300]}: {wrong}")
    print("\n".join(failures[:60]))
    for reason, count in sorted(left_out.items()):
        print(f"left out {count}: {reason}")
    print(f"{len(covered)} of PyTorch's operations, {compared} samples compared, {sum(left_out.values())} left out, "
          f"{len(failures)} failures, {time.monotonic() - start:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
