"""Names of PyTorch, NumPy and JAX that Plait has under another name, or not at all, and what to use instead.
tests/python/package/peers_test.py checks that all their names are covered, and that each answer names something that exists."""

import sys

from plait import _core
from plait.inside.arrays.methods import RENAMED
from plait.inside.help.peers_of_modules import DATA, INIT, IO, LINALG, METRICS, OPTIM, PRUNE, RANDOM, TEXT, TRANSFORMS, TREE, UTILS

# ---- Attributes of tensors.

TENSOR = {
    # Different meanings in Plait and elsewhere.
    "sort": "plait.sort(x) returns the sorted tensor (NumPy's method sorts in place), plait.sort_with_indices(x) values and indices (PyTorch's)",
    "msort": "plait.sort(x, axis=0)", "partition": "plait.partition(x, kth) returns the partitioned tensor",
    "median": "plait.median(x) returns the mean of the two middle elements, as NumPy does; PyTorch returns the lower one: plait.sort(x, axis=-1)[..., "
              "(x.shape[-1] - 1) // 2]",
    "nanmedian": "plait.nanmedian(x) returns the mean of the two middle elements, as NumPy does",
    "equal": "x == y compares elements, plait.array_equal(x, y) whole tensors",
    "cross": "plait.linalg.cross(x, y, axis=-1): PyTorch uses the first axis of size 3",
    "unfold": "plait.unfold(x, kernel_size) returns the windows of images; x[..., i:i + n] is one of a sequence",
    "svd": "plait.linalg.svd(x), which returns V transposed and conjugated",
    # Other names.
    "aminmax": "plait.min(x), plait.max(x)", "ptp": "plait.max(x) - plait.min(x)", "kthvalue": "plait.sort(x)[..., k - 1]",
    "mode": "plait.unique_counts(x)", "histc": "plait.histogram(x, bins, low, high)", "histogram": "plait.histogram(x, bins, low, high)",
    "unique_consecutive": "plait.unique(x) returns them sorted", "dist": "plait.norm(x - y)",
    "renorm": "x * (most / plait.norm(x, axis=1, keepdims=True))", "logdet": "plait.linalg.slogdet(x).logabsdet", "adjoint": "x.mH",
    "vdot": "plait.dot(x.conj(), y)", "addmv": "a + x @ v", "addr": "a + plait.outer(x, y)", "addbmm": "plait.addmm(a, x, y) for each matrix",
    "fmax": "plait.nanmax(plait.stack([x, y]), axis=0)", "fmin": "plait.nanmin(plait.stack([x, y]), axis=0)", "isposinf": "x == plait.inf",
    "isneginf": "x == -plait.inf", "is_nonzero": "bool(x != 0)", "is_same_size": "x.shape == y.shape", "is_signed": "x.dtype.is_signed",
    "mvlgamma": "plait.multigammaln(x, order)", "chalf": "x.cfloat()", "compress": "x[mask]", "choose": "plait.take_along_axis(stacked, x, axis=0)",
    "hsplit": "x.split(parts=2, axis=1)", "vsplit": "x.split(parts=2, axis=0)", "dsplit": "x.split(parts=2, axis=2)",
    "tensor_split": "plait.split_at(x, places)", "split_with_sizes": "x.split(size=[1, 2])", "unsafe_chunk": "x.chunk(2)",
    "unsafe_split": "x.split(size=2)", "unsafe_split_with_sizes": "x.split(size=[1, 2])", "narrow_copy": "x.narrow(axis, start, count)",
    "fliplr": "x.flip(1)", "flipud": "x.flip(0)", "diag_embed": "plait.diag_embed(x)", "diagflat": "plait.diag(x.flatten())",
    "diagonal_scatter": "x.at[i, i].set(y)", "select_scatter": "x.at[index].set(y)", "slice_scatter": "x.at[first:last].set(y)",
    "slice_inverse": "x.at[first:last].set(y)", "as_strided": "plait.as_strided(x, shape, strides)", "as_strided_scatter": "x.at[index].set(y)",
    "index_copy": "x.at[index].set(y)", "index_fill": "x.at[index].set(value)", "index_put": "x.at[index].set(y)",
    "index_reduce": "x.at[index].max(y)", "put": "x.at[index].set(y)", "masked_scatter": "x.at[mask].set(y)", "sum_to_size": "plait.sum(x, axis=0)",
    "resize": "x.reshape(2, 3)", "resize_as": "x.reshape(y.shape)", "lu": "plait.linalg.lu(x)", "qr": "plait.linalg.qr(x)",
    "eig": "plait.linalg.eig(x)", "symeig": "plait.linalg.eigh(x)", "solve": "plait.linalg.solve(a, x)",
    "triangular_solve": "plait.linalg.solve_triangular(a, x)", "lstsq": "plait.linalg.lstsq(a, x)",
    "lu_solve": "plait.linalg.lu_solve(lu, order, x)", "cholesky_solve": "plait.linalg.cholesky_solve(factor, x)",
    "cholesky_inverse": "plait.linalg.cholesky_inverse(x)", "geqrf": "plait.linalg.qr(x)", "orgqr": "plait.linalg.qr(x)",
    "ormqr": "plait.linalg.qr(x)", "bernoulli": "plait.random.bernoulli(x)",
    "multinomial": "plait.random.categorical(key, plait.log(x)) draws an index of each row; plait.random.multinomial draws counts",
    "stft": "plait.fft.rfft of each window", "istft": "plait.fft.irfft of each window", "new": "plait.zeros(2)",
    "new_tensor": "plait.tensor(data, dtype=x.dtype)", "new_empty_strided": "x.new_empty(2, 3)", "nonzero_static": "plait.nonzero(x)",
    "bit_count": "x.numpy().astype(int)",
    # Memory, and in-place operations.
    "data": "x.detach() has no derivatives, x.numpy() is a NumPy array", "layout": "x.is_contiguous; all tensors are dense",
    "fill": "plait.full_like(x, value)", "tobytes": "x.numpy().tobytes()", "tofile": "x.numpy().tofile(file)",
    "dump": "x.numpy().dump(file), or pickle", "dumps": "x.numpy().dumps(), or pickle", "strides": "x.numpy().strides",
    "stride": "x.numpy().strides", "storage_offset": "x.numpy().base", "data_ptr": "x.numpy().ctypes.data",
    "const_data_ptr": "x.numpy().ctypes.data", "ctypes": "x.numpy().ctypes", "base": "x.numpy().base", "flags": "x.numpy().flags",
    "flat": "x.flatten()", "itemset": "x.at[index].set(value)", "byteswap": "x.numpy().byteswap()", "newbyteorder": "x.numpy().byteswap()",
    "getfield": "x.numpy().getfield(dtype)", "setfield": "x.at[index].set(value)", "setflags": "x.copy() is another tensor",
    "is_leaf": "plait.grad(f)(x) needs no leaves; x.requires_grad() begins a tape", "grad_fn": "plait.trace(f)(x) shows what f does", "grad_dtype": "x.dtype",
    "retain_grad": "plait.gradient(result, x) of any x", "retains_grad": "plait.gradient(result, x) of any x",
    "register_post_accumulate_grad_hook": "x.register_hook(hook)", "get_device": "x.device",
    "block_until_ready": "not needed: x is computed already: x.item()",
    **dict.fromkeys(("addressable_shards", "addressable_data", "global_shards", "is_fully_addressable", "is_fully_replicated", "platform", "committed"), "x.device"),
    "copy_to_host_async": "x.numpy()", "on_device_size_in_bytes": "x.nbytes", "unsafe_buffer_pointer": "x.numpy().ctypes.data",
    "sharding": "x.device", "weak_type": "x.dtype", "index": "x[index]", "names": "x.shape", "pin_memory": "x.to('cuda'), which copies through pinned memory", "is_inference": "x.is_traced",
    "values": "x.numpy()", "indices": "plait.argwhere(x)", "name": "x.dtype.name", "iloc": "x[index]", "loc": "x[index]",
    "append": "plait.concat([x, y])", "len": "len(x)", "share_memory_": "not needed: leave it out",
}
# Attributes that PyTorch and NumPy allow to assign to; all others are computed.
ASSIGNED = {
    "data": "x[...] = y changes the elements; "
    "w = (w - step).detach().requires_grad() is a step of a tape", "shape": "x = x.reshape(2, 3)", "dtype": "x = x.astype(plait.f64)",
    "real": "x = plait.make_complex(y, plait.imag(x))", "imag": "x = plait.make_complex(plait.real(x), y)",
    "flat": "x[...] = y changes the elements",
}
_CHANGES = {
    "zero": "plait.zeros_like(x)", "fill": "plait.full_like(x, value)", "copy": "y.copy()", "set": "y.copy()",
    "normal": "plait.random.normal(x.shape)", "uniform": "plait.random.uniform(x.shape)", "random": "plait.random.randint(x.shape, low, high)",
    "bernoulli": "plait.random.bernoulli(p, x.shape)", "exponential": "plait.random.exponential(x.shape)",
    "geometric": "plait.random.geometric(p, x.shape)", "cauchy": "plait.random.cauchy(x.shape)",
    "log_normal": "plait.random.lognormal(0.0, 1.0, x.shape)", "fill_diagonal": "x.at[i, i].set(value)", "detach": "x.detach()",
    "apply": "plait.vmap(function)(x)", "map": "plait.vmap(function)(x, y)", "map2": "plait.vmap(function)(x, y, z)",
}

# ---- Names of modules.

OF_FUNCTIONAL = "functions are in plait itself, and losses also in plait.nn: plait.relu(x), plait.nn.cross_entropy(logits, target)"
PLAIT = {
    # PyTorch's dtypes.
    **{name: f"plait.{dtype}; x.{name}() converts a tensor" for name, dtype in (
        ("long", "i64"), ("int", "i32"), ("short", "i16"), ("half", "f16"), ("float", "f32"), ("double", "f64"), ("cfloat", "c64"),
        ("cdouble", "c128"))},
    "train": "model.train() returns the model in training mode, plait.value_and_grad(loss)(model) the loss and the gradient",
    "empty_cache": "not needed: leave it out", "parameter": "plait.tensor([1.0, 2.0]): a tensor in a plait.Module is a parameter",
    "jax": "plait.grad, plait.jit and plait.vmap are functions of plait itself",
    "grad_and_value": "plait.value_and_grad",
    # Creating tensors.
    "Tensor": "plait.tensor([1.0, 2.0])", "FloatTensor": "plait.tensor([1.0, 2.0])", "LongTensor": "plait.tensor([1, 2])",
    "ndarray": "plait.Tensor is the class, plait.tensor([1.0, 2.0]) makes a tensor", "Array": "plait.Tensor", "Variable": "plait.tensor([1.0, 2.0])",
    "Parameter": "plait.tensor([1.0, 2.0]): a tensor in a plait.Module is a parameter", "as_tensor": "plait.asarray(x)",
    "from_numpy": "plait.asarray(a)", "asanyarray": "plait.asarray(a)", "ascontiguousarray": "plait.asarray(a)",
    "asfortranarray": "plait.asarray(a)", "asmatrix": "plait.asarray(a)", "asarray_chkfinite": "plait.asarray(a)",
    "scalar_tensor": "plait.tensor(1.0)", "require": "plait.asarray(a)", "frombuffer": "plait.asarray(np.frombuffer(buffer))",
    "rand": "plait.random.uniform((2, 3)), or with a key: plait.random.uniform(key, (2, 3))",
    "randn": "plait.random.normal((2, 3)), or with a key: plait.random.normal(key, (2, 3))", "randint": "plait.random.randint((2, 3), low, high)",
    "randperm": "plait.random.permutation(n)", "normal": "plait.random.normal((2, 3), mean, deviation)",
    "rand_like": "plait.random.uniform(x.shape)", "randn_like": "plait.random.normal(x.shape)",
    "randint_like": "plait.random.randint(x.shape, low, high)", "bernoulli": "plait.random.bernoulli(p)",
    "multinomial": "plait.random.categorical(key, plait.log(p)) draws an index of each row, where the key may be omitted; "
                   "plait.random.multinomial draws counts",
    "poisson": "plait.random.poisson(rate)", "binomial": "plait.random.binomial(count, p)",
    "manual_seed": "plait.random.seed(0)", "seed": "plait.random.seed(0)", "PRNGKey": "plait.random.key(0)",
    "get_rng_state": "plait.random.draw_key()", "set_rng_state": "plait.random.seed(0)", "initial_seed": "plait.random.seed(0)",
    "Generator": "plait.random.key(0)", "identity": "plait.eye(n)", "complex": "plait.make_complex(real, imag)",
    "polar": "plait.make_complex(r * plait.cos(angle), r * plait.sin(angle))", "range": "plait.arange(n)", "empty_strided": "plait.empty((2, 3))",
    "empty_permuted": "plait.empty((2, 3))", "fromfunction": "plait.meshgrid(plait.arange(2), plait.arange(3), indexing='ij')",
    "indices": "plait.meshgrid(plait.arange(2), plait.arange(3), indexing='ij')", "fill": "plait.full_like(x, value)", "copy": "x.copy()",
    # Files.
    "save": "plait.io.save_safetensors(path, plait.nn.state(model)); plait.io.save_npy(path, x) saves one tensor",
    "savez": "plait.io.save_npz(path, {'x': x})", "savez_compressed": "plait.io.save_npz(path, {'x': x}, compressed=True)",
    "load": "model = plait.nn.load_state(model, plait.io.load_safetensors(path)); plait.io.load_npy(path) loads one tensor",
    # Joining, splitting, moving.
    "cat": "plait.concat([x, y], axis=0)", "concatenate": "plait.concat([x, y], axis=0)", "append": "plait.concat([x, y], axis=None)",
    "row_stack": "plait.vstack([x, y])", "block": "plait.concat([x, y], axis=0)", "bmat": "plait.concat([x, y], axis=0)",
    "array_split": "plait.split_at(x, places)", "tensor_split": "plait.split_at(x, places)", "hsplit": "plait.split(x, parts, axis=1)",
    "vsplit": "plait.split(x, parts, axis=0)", "dsplit": "plait.split(x, parts, axis=2)", "split_with_sizes": "plait.split(x, size=[1, 2])",
    "fliplr": "plait.flip(x, axis=1)", "flipud": "plait.flip(x, axis=0)", "rollaxis": "plait.moveaxis(x, source, destination)",
    "collapse": "plait.flatten(x, start_dim, end_dim)", "broadcast_tensors": "plait.broadcast_arrays(x, y)",
    "insert": "plait.concat([x[:i], y, x[i:]])", "delete": "plait.concat([x[:i], x[i + 1:]])", "resize": "plait.reshape(x, shape)",
    "select": "plait.where(condition, x, y)", "select_n": "plait.where(condition, x, y)", "piecewise": "plait.where(condition, x, y)",
    "extract": "x[mask]", "compress": "x[mask]", "place": "x.at[mask].set(value)", "putmask": "x.at[mask].set(value)",
    "put": "x.at[index].set(value)", "copyto": "plait.where(mask, y, x)", "fill_diagonal": "x.at[i, i].set(value)",
    "choose": "plait.take_along_axis(stacked, index, axis=0)", "index_put": "x.at[index].set(value)", "index_copy": "x.at[index].set(y)",
    "index_fill": "x.at[index].set(value)", "index_reduce": "x.at[index].max(y)", "masked_scatter": "x.at[mask].set(y)",
    "select_scatter": "x.at[index].set(y)", "slice_scatter": "x.at[first:last].set(y)", "diagonal_scatter": "x.at[i, i].set(y)",
    "as_strided_scatter": "x.at[index].set(y)", "ix_": "x[plait.expand_dims(rows, 1), columns]", "diag_indices": "plait.arange(n), plait.arange(n)",
    "diagflat": "plait.diag(x.flatten())", "tril_indices_from": "plait.tril_indices(rows, columns)",
    "triu_indices_from": "plait.triu_indices(rows, columns)", "flatnonzero": "plait.nonzero(x.flatten())[0]",
    "ravel_multi_index": "rows * columns + column, of plait.unravel_index", "trim_zeros": "x[x != 0]",
    "combinations": "plait.triu_indices(n, n, 1)", "cartesian_prod": "plait.meshgrid(x, y, indexing='ij')",
    # Elementwise.
    "degrees": "plait.rad2deg(x)", "radians": "plait.deg2rad(x)", "rint": "plait.round(x)", "around": "plait.round(x)", "fabs": "plait.abs(x)",
    "invert": "~x", "mod": "plait.remainder(a, b)", "rem": "plait.fmod(a, b)",
    "divmod": "plait.floor_divide(a, b), plait.remainder(a, b)", "modf": "plait.frac(x), plait.trunc(x)",
    "fmax": "plait.nanmax(plait.stack([a, b]), axis=0)", "fmin": "plait.nanmin(plait.stack([a, b]), axis=0)", "isposinf": "x == plait.inf",
    "isneginf": "x == -plait.inf", "iscomplex": "plait.imag(x) != 0", "isreal": "x.isreal()", "iscomplexobj": "x.is_complex()",
    "isrealobj": "not x.is_complex()", "is_tensor": "isinstance(x, plait.Tensor)", "isscalar": "x.ndim == 0", "ndim": "x.ndim", "shape": "x.shape",
    "size": "x.size", "spacing": "plait.nextafter(x, plait.inf) - x", "rsub": "y - x", "logistic": "plait.sigmoid(x)", "swish": "plait.silu(x)",
    "hard_sigmoid": "plait.hardsigmoid(x)", "hard_swish": "plait.hardswish(x)", "hard_silu": "plait.hardswish(x)", "hard_tanh": "plait.hardtanh(x)",
    "soft_sign": "plait.softsign(x)", "log_sigmoid": "plait.logsigmoid(x)", "erf_inv": "plait.erfinv(x)",
    "integer_pow": "x ** 2", "is_finite": "plait.isfinite(x)", "bessel_i0e": "plait.i0e(x)", "bessel_i1e": "plait.i1e(x)",
    "igamma_grad_a": "plait.gammainc_grad_a(a, x)", "mvlgamma": "plait.multigammaln(a, order)",
    "bitwise_count": "np.bitwise_count(x.numpy()), without derivatives", "view_as_real": "plait.stack([plait.real(x), plait.imag(x)], axis=-1)",
    "view_as_complex": "plait.make_complex(x[..., 0], x[..., 1])", "bitcast_convert_type": "plait.view_dtype(x, dtype)",
    "convert_element_type": "plait.astype(x, dtype)", "promote_types": "plait.result_type(a, b)", "common_type": "plait.result_type(a, b)",
    "issubdtype": "plait.isdtype(dtype, kind)", "min_scalar_type": "plait.result_type(a)",
    # Reductions, order, statistics.
    "percentile": "plait.quantile(x, q / 100)", "nanpercentile": "plait.nanquantile(x, q / 100)",
    "average": "plait.sum(x * weights) / plait.sum(weights)", "ptp": "plait.max(x) - plait.min(x)", "aminmax": "plait.min(x), plait.max(x)",
    "std_mean": "plait.std(x), plait.mean(x)", "var_mean": "plait.var(x), plait.mean(x)", "nancumsum": "plait.cumsum(plait.nan_to_num(x))",
    "nancumprod": "plait.cumprod(plait.where(plait.isnan(x), 1, x))", "nanargmax": "plait.argmax(plait.where(plait.isnan(x), -plait.inf, x))",
    "nanargmin": "plait.argmin(plait.where(plait.isnan(x), plait.inf, x))", "cumlogsumexp": "plait.logcumsumexp(x, axis)",
    "kthvalue": "plait.sort(x)[..., k - 1]", "mode": "plait.unique_counts(x)", "msort": "plait.sort(x, axis=0)", "top_k": "plait.topk(x, k)",
    "sort_complex": "plait.sort(plait.real(x))", "lexsort": "plait.argsort(x, stable=True), by the last key first",
    "sort_key_val": "plait.sort_with_indices(x)", "histc": "plait.histogram(x, bins, low, high)", "bucketize": "plait.searchsorted(edges, x)",
    "digitize": "plait.searchsorted(edges, x, side='right')", "intersect1d": "plait.unique_values(x[plait.isin(x, y)])",
    "union1d": "plait.unique_values(plait.concat([x, y]))", "setdiff1d": "plait.unique_values(x[plait.isin(x, y, invert=True)])",
    "setxor1d": "plait.isin(x, y, invert=True)", "in1d": "plait.isin(x, y)", "unique_consecutive": "plait.unique(x) returns them sorted",
    "ediff1d": "plait.diff(x)", "trapz": "plait.trapezoid(y, x)", "reduce_sum": "plait.sum(x)", "reduce_max": "plait.max(x)",
    "reduce_min": "plait.min(x)", "reduce_prod": "plait.prod(x)", "reduce_and": "plait.all(x)", "reduce_or": "plait.any(x)",
    "logmeanexp": "plait.logsumexp(x) - math.log(x.size)", "array_equiv": "plait.array_equal(x, y)", "segment_reduce": "plait.segment_sum(x, ids)",
    # Products and matrices.
    "cross": "plait.linalg.cross(a, b)", "kron": "plait.linalg.kron(a, b)", "vdot": "plait.dot(plait.conj(a), b)", "matvec": "a @ v",
    "vecmat": "v @ a", "dot_general": "plait.einsum('…', a, b)", "chain_matmul": "plait.linalg.multi_dot([a, b, c])",
    "block_diag": "plait.linalg.block_diag([a, b])", "vander": "plait.linalg.vander(x)", "svd": "plait.linalg.svd(a)", "qr": "plait.linalg.qr(a)",
    "lu": "plait.linalg.lu(a)", "eig": "plait.linalg.eig(a)", "symeig": "plait.linalg.eigh(a)", "solve": "plait.linalg.solve(a, b)",
    "lstsq": "plait.linalg.lstsq(a, b)", "logdet": "plait.linalg.slogdet(a).logabsdet", "lu_solve": "plait.linalg.lu_solve(lu, order, b)",
    "matrix_rank": "plait.linalg.matrix_rank(a)", "adjoint": "x.mH", "dist": "plait.norm(x - y)",
    "triangular_solve": "plait.linalg.solve_triangular(a, b)", "cholesky_solve": "plait.linalg.cholesky_solve(factor, b)",
    "cholesky_inverse": "plait.linalg.cholesky_inverse(factor)", "addmv": "x + a @ v", "addr": "x + plait.outer(a, b)",
    "addbmm": "plait.addmm(x, a, b)", "cdist": "plait.norm(x[:, None] - y[None], axis=-1)",
    "frobenius_norm": "plait.norm(x)", "nuclear_norm": "plait.linalg.matrix_norm(x, 'nuc')", "renorm": "plait.normalize(x)",
    "batch_matmul": "a @ b", "convolve": "plait.conv1d(x, weight.flip(-1))",
    "correlate": "plait.conv1d(x, weight)", "conv_general_dilated": "plait.conv_general(x, weight)", "conv": "plait.conv2d(x, weight)",
    "convolution": "plait.conv2d(x, weight)", "conv_transpose": "plait.conv_transpose2d(x, weight)",
    "reduce_window": "plait.max_pool2d(x, kernel_size)", "stft": "plait.fft.rfft of each window", "istft": "plait.fft.irfft of each window",
    # Losses, layers, models.
    **dict.fromkeys(("functional", "F"), OF_FUNCTIONAL),
    "feature_dropout": "plait.dropout2d(x, p)",
    "dot_product_attention": "plait.scaled_dot_product_attention(query, key, value)", "lstm": "plait.scan(cell, state, x)",
    "gru": "plait.scan(cell, state, x)", "rnn_tanh": "plait.scan(cell, state, x)", "rnn_relu": "plait.scan(cell, state, x)",
    "lstm_cell": "plait.sigmoid and plait.tanh of plait.linear(x, weight)", "gru_cell": "plait.sigmoid and plait.tanh of plait.linear(x, weight)",
    "rnn_tanh_cell": "plait.tanh of plait.linear(x, weight)", "rnn_relu_cell": "plait.relu of plait.linear(x, weight)", "bessel_i1": "plait.i1(x)",
    "grid_sampler": "plait.grid_sample(x, grid)", "constant_pad_nd": "plait.pad(x, widths)",
    # Other libraries' modules.
    "numpy": "the functions of plait itself, and plait.asarray(a) of NumPy's arrays", "jnp": "the functions of plait itself: plait.sum",
    "lax": "plait.scan, plait.cond, plait.while_loop and plait.for_loop", "cuda": "plait.devices('cuda') lists the GPUs; plait.synchronize('cuda') waits; plait.memory_statistics()",
    "mps": "the devices are 'cpu' and 'cuda'", "backends": "plait.devices()",
    "autograd": "plait.grad(f)(x), or plait.gradient(result, x); plait.custom_vjp for Function, plait.detect_anomaly() for set_detect_anomaly",
    "func": "plait.grad, plait.vmap and plait.jvp",
    "utils": "plait.tree of trees; plait.data of loaders",
    "onnx": "plait.trace(f)(x).text()", "export": "plait.trace(f)(x).text()",
    "hub": "plait.tree.leaves_with_paths(model) has the names of weights", "tree_util": "plait.tree", "tree_map": "plait.tree.map(f, tree)",
    "nested": "plait.segment_sum, of ragged rows", "sparse": "plait.segment_sum, of the elements that exist",
    "debug": "plait.print(x), which prints in programs too", "profiler": "plait.stats(f)", "testing": "plait.allclose(a, b)",
    "device": "plait.Device('cuda')", "dtype": "x.dtype; plait.DType", "Size": "x.shape",
    # Transforms, modes.
    "enable_grad": "plait.grad computes derivatives, except inside of plait.no_grad", "inference_mode": "plait.no_grad()",
    "set_grad_enabled": "plait.no_grad()", "is_grad_enabled": "plait.no_grad()", "detach": "x.detach(), plait.stop_gradient(x)",
    "backward": "x.backward()", "jacobian": "plait.jacrev(f)", "pmap": "plait.vmap(f)", "vectorize": "plait.vmap(f)", "xmap": "plait.vmap(f)",
    "apply_along_axis": "plait.vmap(f)", "apply_over_axes": "plait.vmap(f)", "frompyfunc": "plait.vmap(f)",
    "fori_loop": "plait.for_loop(first, end, body, initial)", "custom_gradient": "plait.custom_vjp(f)",
    "pure_callback": "plait.callback(f, x, results=x)", "io_callback": "plait.callback(f, x, results=x)", "device_put": "x.to('cuda'); plait.to_device(tree, 'cuda')",
    "device_get": "x.numpy()", "block_until_ready": "not needed: results are computed already: x.item()", "make_jaxpr": "plait.trace(f)(x)",
    "debug_nans": "with plait.detect_anomaly():", "set_anomaly_enabled": "with plait.detect_anomaly():",
    "is_anomaly_enabled": "with plait.detect_anomaly():", "eval_shape": "plait.trace(f)(plait.Spec('f32[n, 3]'))",
    "disable_jit": "plait.jit(f, disable=True)", "ShapeDtypeStruct": "plait.Spec('f32[n, 3]')", "clear_caches": "plait.release_cached_memory()",
    "default_backend": "plait.list_backends()", "set_default_dtype": "pass dtype= where a tensor is created: plait.zeros(2, dtype=plait.f64)",
    "get_default_dtype": "plait.f32", "set_default_device": "with plait.Device('cuda'): …, or PLAIT_DEFAULT_DEVICE=cuda in the environment",
    "get_default_device": "plait.zeros(()).device", "set_default_tensor_type": "pass dtype= where a tensor is created: plait.zeros(2, dtype=plait.f64)",
    "set_flush_denormal": "with plait.flush_denormals():",
    **dict.fromkeys(("set_detect_anomaly", "debug_nans", "debug_infs"), "with plait.detect_anomaly():"), "checkify": "plait.check(x > 0)",
    "use_deterministic_algorithms": "all of plait is deterministic: plait.random.seed(0)",
    "set_printoptions": "x.numpy(), and np.set_printoptions",
    "set_num_threads": "the environment variable PLAIT_THREADS, before plait is imported: plait.Device('cpu')",
    "get_num_threads": "plait.Device('cpu')", "set_float32_matmul_precision": "with plait.autocast():",
    "is_autocast_enabled": "with plait.autocast():",
    "amp": "plait.autocast(), in bf16, which needs no GradScaler; plait.optim.loss_scale(transformation) scales losses of f16",
    "GradScaler": "plait.autocast() in bf16 needs no scaling; plait.optim.loss_scale(transformation) scales losses of f16",
    "stack_module_state": "plait.tree.map(lambda *leaves: plait.stack(leaves), *models), or plait.vmap(lambda key: Net(key=key))("
                          "plait.random.split_key(key, n))",
    "functional_call": "model(x): the model has its weights, and plait.nn.load_state(model, state) gives it others",
    "psum": "plait.all_reduce_sum(x, 'i')",
    "config": "plait.flush_denormals, plait.no_grad and plait.autocast are scopes", "pmean": "plait.all_reduce_mean(x, 'i')",
    "pmax": "plait.all_reduce_max(x, 'i')", "pmin": "plait.all_reduce_min(x, 'i')", "ppermute": "plait.axis_permute(x, 'i', pairs)",
    "pcast": "plait.vary(x, 'i')", "psum_scatter": "plait.reduce_scatter(x, 'i')", "pbroadcast": "plait.axis_broadcast(x, 'i', 0)",
}

NN = {
    "MSE": "plait.nn.MSELoss", **dict.fromkeys(("functional", "F"), OF_FUNCTIONAL), "bce": "plait.binary_cross_entropy",
    "LoRA": "plait.nn.lora, plait.nn.LoRALinear", "NTXentLoss": "plait.nn.nt_xent", "DiceLoss": "plait.nn.dice_loss",
    "FocalLoss": "plait.nn.sigmoid_focal_loss, plait.nn.softmax_focal_loss", "HingeLoss": "plait.nn.hinge_loss", "LogCoshLoss": "plait.nn.log_cosh",
    "register_buffer": "self.mask = plait.nn.Buffer(mask)",
    "Container": "plait.nn.Sequential", "MLP": "plait.nn.Mlp",
    "Dense": "plait.nn.Linear", "LinearCrossEntropyOptions": "plait.nn.LinearCrossEntropyLoss", "RNNBase": "plait.nn.LSTM, plait.nn.GRU or plait.nn.RNN",
    "RNNCellBase": "plait.nn.LSTMCell, plait.nn.GRUCell or plait.nn.RNNCell", "DataParallel": "plait.vmap(f, axis_name='i')",
    "UninitializedParameter": "plait.nn.LazyLinear makes its weights at the first call", "UninitializedBuffer": "plait.nn.LazyLinear makes its weights at the first call",
    "swish": "plait.silu(x)", "parameters": "plait.nn.state(model, buffers=False)",
    "stack_module_state": "plait.tree.map(lambda *leaves: plait.stack(leaves), *models)",
    "functional_call": "model(x): the model has its weights, and plait.nn.load_state(model, state) gives it others",
    "parametrizations": "plait.nn.weight_norm, plait.nn.spectral_norm, plait.nn.orthogonal, plait.nn.parametrize", "prune": "plait.nn.utils.prune",
    **dict.fromkeys(("BatchNorm", "Conv"), "plait.nn.BatchNorm2d, plait.nn.Conv2d"),
}
# ---- Attributes of models and of optimizers.

MODULE = {
    **dict.fromkeys(("parameters", "named_parameters", "trainable_variables", "weights"),
                    "plait.nn.state(model, buffers=False) maps names to weights; plait.nn.state(model) has the buffers, too"),
    **dict.fromkeys(("buffers", "named_buffers"), "plait.nn.state(model) has them too; self.mask = plait.nn.Buffer(mask) defines one"),
    "register_buffer": "self.mask = plait.nn.Buffer(mask)", "register_parameter": "self.weight = weight", "add_module": "self.layer = layer",
    "register_module": "self.layer = layer", "requires_grad_": "model = plait.nn.freeze(model, 'encoder.*')",
    "state_dict": "plait.nn.state(model), which plait.io.save_safetensors saves", "load_state_dict": "model = plait.nn.load_state(model, state)",
    "type": "model = model.to(plait.bf16)",
    "half": "model = model.to(plait.f16)", "bfloat16": "model = model.to(plait.bf16)",
    "float": "model = model.to(plait.f32)", "double": "model = model.to(plait.f64)",
    "device": "plait.tree.leaves(model)[0].device",
    "zero_grad": "nothing to reset: plait.grad returns the gradient", "grad": "plait.grad(loss)(model) returns it, as a model of the same structure",
    "apply": "weights by name: model = plait.nn.load_state(model, {name: plait.nn.init.xavier_uniform(w.shape) if w.ndim > 1 else w for name, w in "
             "plait.nn.state(model).items()}); plait.tree.map(f, model) for all of them; plait.nn.call(model, x) for a call that leaves "
             "the model as it is",
    "init": "the model has its weights when it is created",
    "forward": "model(x); your own classes name it __call__", "layers": "model[0], or model['name'] of a plait.nn.ModuleDict",
    **dict.fromkeys(("modules", "children", "named_modules", "named_children"), "vars(model) has its attributes, "
                    "plait.nn.state(model) all tensors by name, such as 'blocks.3.norm.weight'"),
    "flatten_parameters": "not needed: leave it out",
    **dict.fromkeys(("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"), "return what you need from __call__, or "
                    "wrap the layer in a plait.Module that calls it, and keeps the output in self.last = plait.nn.Buffer(None); plait.print(x) prints within "
                    "programs"),
    "compile": "plait.jit(model)", "append": "plait.nn.Sequential(*layers, another)", "share_memory": "not needed: tensors are shared already",
}
OPTIMIZER = {
    "step": "model, optimizer = optimizer.update(model, gradient)", "apply_gradients": "model, optimizer = optimizer.update(model, gradient)",
    "zero_grad": "nothing to reset: plait.grad returns the gradient", "minimize": "model, optimizer = optimizer.update(model, gradient)",
    "param_groups": "optimizer.lr is the rate, and optimizer.lr = 0.01 sets it; optimizer.groups[0].lr is that of a group",
    "learning_rate": "optimizer.lr", "means": "optimizer.state['exp_avg']",
    "velocity": "optimizer.state['momentum_buffer']", "squares": "optimizer.state['exp_avg_sq']",
    "state_dict": "plait.io.Checkpoints(folder).save(step, state) saves model and optimizer, as plait.optim.TrainState(model, optimizer) has them; "
                  "dict(plait.tree.leaves_with_paths(optimizer)) has its tensors by path",
    "load_state_dict": "state = plait.io.Checkpoints(folder).restore(state), of a plait.optim.TrainState(model, optimizer)",
    "add_param_group": "create the optimizer for the whole model, with groups=", "init": "the optimizer has its state when it is created",
}
AVERAGE = {
    "module": "average.model is the averaged model", "update_parameters": "average = average.update(model)",
    "shadow": "average.model is the averaged model", "apply": "average = average.update(model)",
}
LOG = {
    "add_figure": "figure.canvas.draw(); log.add_image(tag, np.asarray(figure.canvas.buffer_rgba()), step, dataformats='HWC')",
    **dict.fromkeys(("add_video", "add_audio", "add_embedding", "add_pr_curve", "add_mesh", "add_custom_scalars"),
                    "not supported; PyTorch's SummaryWriter writes it, into another folder"),
    "add_tensor": "log.add_histogram(tag, x, step)", "file_writer": "log.flush()", "get_logdir": "log.log_dir",
}
TABLES = {"plait": PLAIT, "plait.tree": TREE, "plait.nn": NN, "plait.nn.init": INIT, "plait.optim": OPTIM,
          "plait.metrics": METRICS, "plait.io": IO, "plait.linalg": LINALG, "plait.random": RANDOM,
          "plait.data": DATA, "plait.data.transforms": TRANSFORMS, "plait.text": TEXT, "plait.nn.utils": UTILS, "plait.nn.utils.prune": PRUNE}

# Suffixes of names that describe a variant of a function, and not the function.
_BEGINNINGS = ("native_", "cudnn_", "miopen_", "mkldnn_", "quantized_", "Lazy", "lp_")
_ENDS = ("_copy", "1d", "2d", "3d", "_v2")


def _public(module):
    return {name for name in vars(module) if not name.startswith("_")}


def _function_for(name):
    """The function of plait with the name in lower case: plait.relu for ReLU, plait.smooth_l1_loss for SmoothL1Loss."""
    import plait

    plain = {each.replace("_", "").lower(): each for each in _public(plait)}
    found = plain.get(name.replace("_", "").lower())
    return found and f"plait.{found}"


def of_module(module, name):
    """The equivalent in Plait of a name of another library; None if it is unknown."""
    said = TABLES.get(module, {}).get(name)
    if said is None and module == "plait":
        said = _of_plait(name)
    if said is None and module == "plait.nn":
        said = _function_for(name) or next((found for end in _ENDS if name.endswith(end) and (found := _function_for(name[:-2]))), None)
    if said is None and module in ("plait.nn", "plait.linalg", "plait.random", "plait.fft"):
        import plait

        said = f"plait.{name}" if name in _public(plait) else None
    return said or _elsewhere(module, name)


def _of_plait(name):
    import plait

    if name in RENAMED:
        return f"plait.{RENAMED[name]}"
    for place in ("linalg", "random", "nn", "optim", "fft", "tree", "io", "data", "metrics", "text", "distributed"):
        if name in _public(getattr(plait, place)):
            return f"plait.{place}.{name}"
    for place in "io", "data", "text", "metrics":
        if name in TABLES[f"plait.{place}"]:
            return TABLES[f"plait.{place}"][name]
    if name.endswith("_") and not name.startswith("_"):
        return changed(name)
    if hasattr(_core.Tensor, name):
        return f"x.{name}"
    for beginning in _BEGINNINGS:
        if name.startswith(beginning):
            return of_module("plait", name.removeprefix(beginning)) or None
    if name.endswith("_copy"):
        return of_module("plait", name.removesuffix("_copy"))
    return f"plait.{name}" if name in _public(plait) else None


def changed(name):
    """The equivalent of a PyTorch method that changes a tensor in place."""
    if name in TENSOR:
        return TENSOR[name]
    base = name.rstrip("_")
    if base in _CHANGES:
        return f"x = {_CHANGES[base]}: it returns a new tensor"
    if hasattr(_core.Tensor, base):
        return f"x = x.{base}(…): it returns a new tensor"
    return f"x = {TENSOR[base]}: it returns a new tensor" if base in TENSOR else None


def of_object(thing, name):
    """The same of an attribute of a model, an average, an optimizer or a log."""
    from plait.io import EventLog
    from plait.optim import AveragedModel, _Optimizer

    if isinstance(thing, AveragedModel) and name in AVERAGE:
        return AVERAGE[name]
    return (OPTIMIZER if isinstance(thing, _Optimizer) else LOG if isinstance(thing, EventLog) else MODULE).get(name)


def of_tensor(name):
    """The same for an attribute of tensors."""
    if name in TENSOR:
        return TENSOR[name]
    said = changed(name) if name.endswith("_") else None
    if said is None and name in _public(sys.modules["plait"]) and callable(getattr(sys.modules["plait"], name)):
        said = f"plait.{name}(x)"
    return said or _elsewhere_of_tensor(name)


# ---- No counterpart: use the other library, with results computed here.


def _has(library, name):
    """An attribute of a library that is already imported; nothing is imported for an error message."""
    found = sys.modules.get(library)
    return found is not None and not name.startswith("_") and name in dir(found)


_PEERS = {
    "plait": ("numpy", "torch", "jax.numpy", "jax", "jax.lax", "jax.nn", "torch.nn.functional"),
    "plait.nn": ("torch.nn", "jax.nn", "torch.nn.functional"), "plait.nn.init": ("torch.nn.init",), "plait.nn.utils": ("torch.nn.utils",),
    "plait.optim": ("torch.optim", "optax"), "plait.metrics": ("torchmetrics",),
    "plait.linalg": ("numpy.linalg", "torch.linalg", "jax.scipy.linalg"), "plait.random": ("numpy.random", "jax.random"),
    "plait.data.transforms": ("torchvision.transforms.v2",),
    "plait.fft": ("numpy.fft", "torch.fft"), "plait.tree": ("jax.tree", "jax.tree_util"),
}


# How users import libraries whose name they write as an attribute.
_IMPORTS = {"np": "import numpy as np", "pd": "import pandas as pd", "plt": "import matplotlib.pyplot as plt",
            **{name: f"import {name}" for name in "torch scipy pandas matplotlib tensorflow flax optax sklearn torchvision plait".split()}}


def _import_of(name):
    return _IMPORTS.get(name) or (f"import {name}" if name in sys.stdlib_module_names and name in sys.modules else None)


def _elsewhere(module, name):
    if (imported := _import_of(name)) is not None:
        return f"it is a library of its own: {imported}"
    for library in _PEERS.get(module, ()):
        if _has(library, name):
            given = {"torch": "torch.from_dlpack(x)", "torchvision": "torch.from_dlpack(x)"}.get(library.split(".")[0], "x.numpy()")
            return f"plait has no equivalent; {library}.{name} accepts {given}, without derivatives"
    return None


def _elsewhere_of_tensor(name):
    if _has("numpy", "ndarray") and hasattr(sys.modules["numpy"].ndarray, name):
        return f"plait has no equivalent; x.numpy().{name}"
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(getattr(torch, "Tensor", None), name):
        return f"plait has no equivalent; torch.from_dlpack(x).{name}"
    return None
