"""Functions from practice, as a whole: their value, gradient, tangent and Hessian-vector product by Plait, JAX and
PyTorch. Each is written once, for a library `m` with Plait's names.

    real_functions.py [NAME...]     exits with 1 where the libraries differ by more than the tolerance
    real_functions.py --part K N    the K-th of N parts of them
    real_functions.py --table       the table of docs/differentiation.md
"""

import os
import pathlib
import sys
import types

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import jax.scipy as jsp  # noqa: E402
import numpy as np  # noqa: E402
import plait  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

jax.config.update("jax_enable_x64", True)
TOLERANCE = {"value": 1e-11, "gradient": 1e-9, "tangent": 1e-9, "hessian": 1e-8}  # relative to the largest element
FUNCTIONS = {}


# ---- The libraries under Plait's names.

JAX = types.SimpleNamespace(
    exp=jnp.exp, log=jnp.log, log1p=jnp.log1p, expm1=jnp.expm1, sin=jnp.sin, cos=jnp.cos, tanh=jnp.tanh, sqrt=jnp.sqrt,
    absolute=jnp.abs, square=jnp.square, where=jnp.where, maximum=jnp.maximum, minimum=jnp.minimum, clip=jnp.clip,
    sum=jnp.sum, mean=jnp.mean, max=jnp.max, min=jnp.min, var=jnp.var, prod=jnp.prod, cumsum=jnp.cumsum, cumprod=jnp.cumprod,
    matmul=jnp.matmul, outer=jnp.outer, einsum=jnp.einsum, reshape=jnp.reshape, permute_dims=jnp.transpose,
    matrix_transpose=lambda x: jnp.swapaxes(x, -1, -2), concat=jnp.concatenate, stack=jnp.stack, take=jnp.take, roll=jnp.roll,
    sort=jnp.sort, tril=jnp.tril, diagonal=lambda x: jnp.diagonal(x, axis1=-2, axis2=-1), flip=jnp.flip, real=jnp.real,
    imag=jnp.imag, conj=jnp.conj, erf=jax.lax.erf, lgamma=jax.lax.lgamma, sigmoid=jax.nn.sigmoid, softplus=jax.nn.softplus,
    relu=jax.nn.relu, gelu=lambda x: jax.nn.gelu(x, approximate=False), silu=jax.nn.silu, softmax=jax.nn.softmax,
    log_softmax=jax.nn.log_softmax, logsumexp=lambda x, axis=None, keepdims=False: jsp.special.logsumexp(x, axis, keepdims=keepdims),
    one_hot=lambda ids, count: jax.nn.one_hot(ids, count, dtype=jnp.float64), topk=jax.lax.top_k, atan2=jnp.arctan2,
    conv2d=lambda x, w: jax.lax.conv(x, w, (1, 1), "VALID"),
    max_pool2d=lambda x, n: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, n, n), (1, 1, n, n), "VALID"),
    avg_pool2d=lambda x, n: jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 1, n, n), (1, 1, n, n), "VALID") / n**2,
    linalg=types.SimpleNamespace(
        cholesky=jnp.linalg.cholesky, solve=jnp.linalg.solve, inv=jnp.linalg.inv, slogdet=jnp.linalg.slogdet,
        det=jnp.linalg.det, eigvalsh=jnp.linalg.eigvalsh, svdvals=lambda x: jnp.linalg.svd(x, compute_uv=False),
        qr=jnp.linalg.qr, solve_triangular=lambda a, b: jsp.linalg.solve_triangular(a, b, lower=True)),
    fft=jnp.fft)


def _dim(function):
    def along(x, axis=None, keepdims=False):
        return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

    return along


TORCH = types.SimpleNamespace(
    exp=torch.exp, log=torch.log, log1p=torch.log1p, expm1=torch.expm1, sin=torch.sin, cos=torch.cos, tanh=torch.tanh,
    sqrt=torch.sqrt, absolute=torch.abs, square=torch.square, where=torch.where, maximum=torch.maximum, minimum=torch.minimum,
    clip=torch.clip, sum=_dim(torch.sum), mean=_dim(torch.mean), max=_dim(torch.amax), min=_dim(torch.amin),
    var=lambda x, axis=None, keepdims=False: torch.var(x, dim=axis, correction=0, keepdim=keepdims), prod=torch.prod,
    cumsum=torch.cumsum, cumprod=torch.cumprod, matmul=torch.matmul, outer=torch.outer, einsum=torch.einsum,
    reshape=torch.reshape, permute_dims=torch.permute, matrix_transpose=lambda x: x.mT, concat=torch.cat, stack=torch.stack,
    take=lambda x, ids, axis: torch.index_select(x, axis, ids), roll=lambda x, shift, axis: torch.roll(x, shift, axis),
    sort=lambda x: torch.sort(x)[0], tril=torch.tril, diagonal=lambda x: torch.diagonal(x, dim1=-2, dim2=-1),
    flip=lambda x, axis: torch.flip(x, (axis,)), real=torch.real, imag=torch.imag, conj=torch.conj, erf=torch.erf,
    lgamma=torch.lgamma, sigmoid=torch.sigmoid, softplus=F.softplus, relu=F.relu, gelu=F.gelu, silu=F.silu,
    softmax=lambda x, axis=-1: torch.softmax(x, axis), log_softmax=lambda x, axis=-1: torch.log_softmax(x, axis),
    logsumexp=lambda x, axis=None, keepdims=False: torch.logsumexp(x, tuple(range(x.ndim)) if axis is None else axis, keepdims),
    one_hot=lambda ids, count: F.one_hot(ids, count).double(), topk=torch.topk, atan2=torch.atan2, conv2d=F.conv2d,
    max_pool2d=F.max_pool2d, avg_pool2d=F.avg_pool2d,
    linalg=types.SimpleNamespace(
        cholesky=torch.linalg.cholesky, solve=torch.linalg.solve, inv=torch.linalg.inv, slogdet=torch.linalg.slogdet,
        det=torch.linalg.det, eigvalsh=torch.linalg.eigvalsh, svdvals=torch.linalg.svdvals, qr=torch.linalg.qr,
        solve_triangular=lambda a, b: torch.linalg.solve_triangular(a, b, upper=False)),
    fft=torch.fft)

PLAIT = types.SimpleNamespace(**{name: getattr(plait, name) for name in vars(JAX)})
PLAIT.one_hot = lambda ids, count: plait.one_hot(ids, count, plait.f64)
PLAIT.take = lambda x, ids, axis: plait.take(x, ids, axis)
PLAIT.linalg = types.SimpleNamespace(**{name: getattr(plait.linalg, name) for name in vars(JAX.linalg)})
PLAIT.linalg.solve_triangular = lambda a, b: plait.linalg.solve_triangular(a, b, upper=False)


# ---- The functions. The decorator lists the shapes of the differentiated arguments.


def function(*shapes, draw=None):
    """The function of (m, *arguments), whose arguments have these shapes and normally distributed elements."""

    def add(f):
        FUNCTIONS[f.__name__] = (f, shapes, draw)
        return f

    return add


def ids_of(m, *numbers):
    ids = np.array(numbers)
    return {id(PLAIT): plait.asarray, id(JAX): jnp.asarray, id(TORCH): torch.from_numpy}[id(m)](ids)


def constant(m, array):
    return {id(PLAIT): plait.asarray, id(JAX): jnp.asarray, id(TORCH): torch.from_numpy}[id(m)](np.asarray(array))


LABELS = (0, 2, 1, 2)
positive = lambda random, shape: random.uniform(0.3, 2.0, shape)  # noqa: E731


@function((4, 3), (3, 5), (5,), (5, 3))
def multilayer_perceptron(m, x, w, b, v):
    log_p = m.log_softmax(m.tanh(x @ w + b) @ v, -1)
    return -m.mean(m.sum(log_p * m.one_hot(ids_of(m, *LABELS), 3), -1))


@function((2, 5, 4), (4, 12), (4, 4))
def self_attention(m, x, w, out):
    q, k, v = (m.reshape(x @ w, (2, 5, 3, 4))[:, :, i] for i in range(3))
    weights = m.softmax(q @ m.matrix_transpose(k) / 2.0, -1)
    return m.sum(m.square(weights @ v @ out))


@function((2, 4, 6), (6, 6), (6, 6))
def causal_attention_of_two_heads(m, x, wq, wk):
    heads = lambda y: m.permute_dims(m.reshape(y, (2, 4, 2, 3)), (0, 2, 1, 3))  # noqa: E731
    q, k, v = heads(x @ wq), heads(x @ wk), heads(x)
    scores = q @ m.matrix_transpose(k) / np.sqrt(3.0)
    mask = constant(m, np.tril(np.ones((4, 4), bool)))
    weights = m.softmax(m.where(mask, scores, constant(m, -1e30)), -1)
    return m.sum(m.sin(weights @ v))


@function((4, 6), (6,), (6,))
def layer_norm(m, x, scale, shift):
    centred = x - m.mean(x, -1, keepdims=True)
    y = centred / m.sqrt(m.mean(m.square(centred), -1, keepdims=True) + 1e-5) * scale + shift
    return m.sum(m.sin(y))


@function((8, 3), (3,), (3,))
def batch_norm(m, x, scale, shift):
    y = (x - m.mean(x, 0)) / m.sqrt(m.var(x, 0) + 1e-5) * scale + shift
    return m.sum(m.exp(-m.square(y)))


@function((4, 6), (6,))
def root_mean_square_norm(m, x, scale):
    return m.sum(m.tanh(x / m.sqrt(m.mean(m.square(x), -1, keepdims=True) + 1e-6) * scale))


@function((2, 3, 8, 8), (4, 3, 3, 3), (2, 4, 2, 2))
def convolutional_network(m, x, w, v):
    hidden = m.max_pool2d(m.tanh(m.conv2d(x, w)), 2)
    return m.sum(m.square(m.avg_pool2d(m.conv2d(hidden, v), 2)))


@function((3, 4), (4, 8), (8, 4))
def gated_linear_unit(m, x, w, v):
    hidden = x @ w
    return m.sum(m.silu(hidden[:, :4]) * hidden[:, 4:]) + m.sum(m.gelu(x @ w) @ v)


@function((5, 5), (5,))
def log_likelihood_by_cholesky(m, a, y):
    covariance = a @ m.matrix_transpose(a) + 5.0 * constant(m, np.eye(5))
    root = m.linalg.cholesky(covariance)
    white = m.linalg.solve_triangular(root, m.reshape(y, (5, 1)))
    return 0.5 * m.sum(m.square(white)) + m.sum(m.log(m.diagonal(root)))


@function((6, 2), (6,), (2,), draw=positive)
def gaussian_process(m, x, y, lengths):
    scaled = x / lengths
    distance = m.sum(m.square(scaled[:, None] - scaled[None]), -1)
    kernel = m.exp(-0.5 * distance) + 0.1 * constant(m, np.eye(6))
    return 0.5 * m.sum(y * m.linalg.solve(kernel, y)) + 0.5 * m.linalg.slogdet(kernel)[1]


@function((16,), (16,))
def convolution_by_fft(m, x, kernel):
    product = m.fft.fft(x + 0j) * m.fft.fft(kernel + 0j)
    return m.sum(m.square(m.real(m.fft.ifft(product))))


@function((3, 16))
def power_spectrum(m, x):
    spectrum = m.fft.rfft(x)
    return m.sum(m.log1p(m.square(m.real(spectrum)) + m.square(m.imag(spectrum))))


@function((7,), (5,))
def linear_interpolation(m, values, places):
    at = 3.0 + m.tanh(places) * 2.5
    low = [int(k) for k in np.floor(3.0 + np.tanh(DRAWN["linear_interpolation"][1]) * 2.5)]
    left, right = (m.take(values, ids_of(m, *[k + i for k in low]), 0) for i in (0, 1))
    share = at - constant(m, np.array(low, float))
    return m.sum(m.square(left * (1.0 - share) + right * share))


@function((6, 4), (4, 5), (5, 4, 3))
def routing_to_the_best_two(m, x, gate, experts):
    best, chosen = m.topk(m.softmax(x @ gate, -1), 2)
    outputs = m.tanh(m.einsum("ti,eij->tej", x, experts))
    picked = m.einsum("tke,tej->tkj", m.one_hot(chosen, 5), outputs)
    return m.sum(best[..., None] * picked)


@function((6, 4))
def alignment_of_labels(m, scores):
    """CTC of the labels 1, 2 by its recursion over blank, 1, blank, 2, blank."""
    log_p = m.log_softmax(scores, -1)
    path = [0, 1, 0, 2, 0]
    alpha = [log_p[0, 0], log_p[0, 1]] + [constant(m, -1e30)] * 3
    for t in range(1, 6):
        following = []
        for k, label in enumerate(path):
            ways = [alpha[j] for j in (k, k - 1) if j >= 0] + ([alpha[k - 2]] if k == 3 else [])
            following.append(m.logsumexp(m.stack(ways)) + log_p[t, label])
        alpha = following
    return -m.logsumexp(m.stack(alpha[-2:]))


@function((4, 4))
def penalty_on_eigenvalues(m, a):
    values = m.linalg.eigvalsh(a + m.matrix_transpose(a))
    return m.sum(m.softplus(values)) + m.logsumexp(values)


@function((5, 3))
def penalty_on_singular_values(m, a):
    return m.sum(m.log1p(m.square(m.linalg.svdvals(a))))


@function((4, 4), (4,))
def determinant_and_inverse(m, a, x):
    b = a + 4.0 * constant(m, np.eye(4))
    return m.log(m.square(m.linalg.det(b))) + m.sum(x * (m.linalg.inv(b) @ x))


@function((5, 3), (5,))
def least_squares_by_qr(m, a, y):
    q, r = m.linalg.qr(a)
    x = m.linalg.solve(r, m.matrix_transpose(q) @ y)
    return m.sum(m.square(x))


@function((10,))
def rosenbrock(m, x):
    return m.sum(100.0 * m.square(x[1:] - m.square(x[:-1])) + m.square(1.0 - x[:-1]))


@function((6, 3))
def forces_between_particles(m, x):
    difference = x[:, None] - x[None]
    distance = m.sum(m.square(difference), -1) + constant(m, np.eye(6))
    inverse = 1.0 / (distance * distance * distance)
    return m.sum(m.tril(inverse * inverse - inverse, -1))


@function((3, 4), (4, 4), (4, 4), (4,))
def recurrent_cell(m, xs, w, u, b):
    h = m.tanh(b)
    for t in range(3):
        gate = m.sigmoid(xs[t] @ w + h @ u)
        h = gate * h + (1.0 - gate) * m.tanh(xs[t] @ u + h @ w + b)
    return m.sum(m.square(h))


@function((5,), (5,))
def runge_kutta(m, x, p):
    def slope(y):
        return m.sin(y) * p - 0.1 * y * y

    for _ in range(4):
        a = slope(x)
        b = slope(x + 0.05 * a)
        c = slope(x + 0.05 * b)
        x = x + 0.1 / 6.0 * (a + 2.0 * b + 2.0 * c + slope(x + 0.1 * c))
    return m.sum(m.square(x))


@function((8,), (8,))
def kullback_leibler(m, a, b):
    return m.sum(m.softmax(a, -1) * (m.log_softmax(a, -1) - m.log_softmax(b, -1)))


@function((6, 3))
def mixture_of_gaussians(m, x):
    centres = constant(m, np.array([[0.0, 1, -1], [1, 0, 0.5]]))
    distance = m.sum(m.square(x[:, None] - centres[None]), -1)
    return -m.sum(m.logsumexp(-0.5 * distance + constant(m, np.log([0.3, 0.7])), -1))


@function((6,), draw=positive)
def gamma_likelihood(m, a):
    x = constant(m, np.linspace(0.5, 2, 6))
    return -m.sum((a - 1.0) * m.log(x) - x - m.lgamma(a))


@function((5, 4), (5, 4))
def contrastive_loss(m, a, b):
    unit = lambda x: x / m.sqrt(m.sum(m.square(x), -1, keepdims=True))  # noqa: E731
    scores = unit(a) @ m.matrix_transpose(unit(b)) / 0.1
    return -m.mean(m.diagonal(m.log_softmax(scores, -1)) + m.diagonal(m.log_softmax(scores, 0)))


@function((7,))
def sorted_quantiles(m, x):
    return m.sum(m.sort(x) * constant(m, np.linspace(-1, 1, 7))) + m.square(m.max(x) - m.min(x))


@function((6,))
def survival_curve(m, x):
    hazard = m.sigmoid(x)
    return m.sum(m.cumprod(1.0 - hazard, 0)) + m.sum(m.square(m.cumsum(hazard, 0)))


@function((9,))
def total_variation(m, x):
    return m.sum(m.sqrt(m.square(x[1:] - x[:-1]) + 1e-3)) + 0.5 * m.sum(m.square(m.roll(x, 2, 0) - x))


@function((4, 4), (4,), (4,))
def sinkhorn(m, cost, a, b):
    kernel = m.exp(-m.square(cost))
    left, right = m.softmax(a, -1), m.softmax(b, -1)
    u = v = constant(m, np.ones(4))
    for _ in range(5):
        u = left / (kernel @ v)
        v = right / (m.matrix_transpose(kernel) @ u)
    return m.sum(u[:, None] * kernel * v[None] * m.square(cost))


@function((3,), (3,))
def quaternion_like_rotation(m, w, x):
    angle = m.sqrt(m.sum(m.square(w)))
    axis = w / angle
    turned = x * m.cos(angle) + m.roll(axis, -1, 0) * m.roll(x, -2, 0) * m.sin(angle) - m.roll(axis, -2, 0) * m.roll(
        x, -1, 0) * m.sin(angle) + axis * m.sum(axis * x) * (1.0 - m.cos(angle))
    return m.sum(m.sin(turned) * turned)


@function((8, 2))
def fourier_features(m, x):
    waves = x @ constant(m, np.array([[1.0, 2, 3], [0.5, -1, 2]]))
    features = m.concat([m.sin(waves), m.cos(waves)], -1)
    return m.sum(m.square(m.matrix_transpose(features) @ features))


@function((2, 6, 6))
def smoothed_image(m, image):
    blurred = m.conv2d(m.reshape(image, (2, 1, 6, 6)), constant(m, np.full((1, 1, 3, 3), 1 / 9.0)))
    return m.sum(m.log1p(m.square(blurred)))


@function((6,), (6,))
def huber_loss(m, x, y):
    difference = m.absolute(x - y)
    return m.sum(m.where(difference < 1.0, 0.5 * m.square(difference), difference - 0.5))


@function((5, 4), (4,))
def poisson_regression(m, x, w):
    rate = x @ w
    return m.sum(m.exp(rate) - constant(m, np.array([1.0, 0, 2, 3, 1])) * rate)


@function((6, 3), (3,))
def logistic_regression(m, x, w):
    sign = constant(m, np.array([1.0, -1, 1, 1, -1, -1]))
    return m.mean(m.softplus(-sign * (x @ w))) + 0.01 * m.sum(m.square(w))


@function((4, 3), (3, 4), (4,))
def autoencoder_with_noise(m, encode, decode, x):
    mean = m.tanh(x @ encode)
    spread = m.softplus(mean)
    latent = mean + spread * constant(m, np.array([0.3, -1.2, 0.7]))
    divergence = 0.5 * m.sum(m.square(mean) + m.square(spread) - 1.0 - 2.0 * m.log(spread))
    return m.sum(m.square(latent @ decode - x)) + divergence


@function((5,), draw=positive)
def black_scholes(m, spot):
    upper = (m.log(spot) + 0.08) / 0.3
    phi = lambda x: 0.5 * (1.0 + m.erf(x / np.sqrt(2.0)))  # noqa: E731
    return m.sum(spot * phi(upper) - np.exp(-0.05) * phi(upper - 0.3))


@function((4, 2), (4, 2))
def arm_of_four_joints(m, a, b):
    angles = m.cumsum(m.atan2(a[:, 0], a[:, 1]), 0)
    reach = m.stack([m.sum(m.cos(angles) * b[:, 0]), m.sum(m.sin(angles) * b[:, 1])])
    return m.sum(m.square(reach - 1.0))


@function((5, 5), (5,))
def fixed_point_of_a_graph(m, weights, x):
    walk = m.softmax(weights, -1)
    state = m.softmax(x, -1)
    for _ in range(6):
        state = 0.85 * (state @ walk) + 0.03
    return m.sum(m.log(state) * m.flip(state, 0))


@function((3, 5), (5, 4), (4, 2))
def low_rank_product(m, a, b, c):
    return m.sum(m.expm1(0.1 * m.einsum("ij,jk,kl->il", a, b, c))) + m.prod(1.0 + 0.1 * m.tanh(a[0]))


@function((6,), (6,))
def minimum_and_maximum(m, a, b):
    return m.sum(m.maximum(a, b) * m.minimum(a, 2.0 * b)) + m.sum(m.clip(a * b, -0.8, 0.8) * a)


# ---- The results of each library.

DRAWN = {}


def drawn(name):
    if name not in DRAWN:
        _, shapes, draw = FUNCTIONS[name]
        random = np.random.default_rng(sum(map(ord, name)))
        DRAWN[name] = [(draw or (lambda r, shape: r.standard_normal(shape)))(random, shape) for shape in shapes]
    return DRAWN[name]


def by_plait(f, arguments, directions):
    arguments, directions = ([plait.asarray(x) for x in each] for each in (arguments, directions))
    every = tuple(range(len(arguments)))
    gradient = plait.grad(lambda *x: f(PLAIT, *x), argnums=every)
    value, tangent = plait.jvp(lambda *x: f(PLAIT, *x), arguments, directions)
    return value, gradient(*arguments), tangent, plait.jvp(gradient, arguments, directions)[1]


def by_jax(f, arguments, directions):
    every = tuple(range(len(arguments)))
    gradient = jax.grad(lambda *x: f(JAX, *x), argnums=every)
    arguments, directions = ([jnp.asarray(x) for x in each] for each in (arguments, directions))
    value, tangent = jax.jvp(lambda *x: f(JAX, *x), arguments, directions)
    return value, gradient(*arguments), tangent, jax.jvp(gradient, arguments, directions)[1]


def by_torch(f, arguments, directions):
    arguments = [torch.from_numpy(x).requires_grad_() for x in arguments]
    directions = [torch.from_numpy(x) for x in directions]
    value = f(TORCH, *arguments)
    gradient = torch.autograd.grad(value, arguments, create_graph=True)
    tangent = sum((g * v).sum() for g, v in zip(gradient, directions))
    return value, gradient, tangent, torch.autograd.grad(tangent, arguments, allow_unused=True, materialize_grads=True)


def arrays(found):
    value, gradient, tangent, hessian = found
    as_array = lambda x: x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)  # noqa: E731
    return {"value": [as_array(value)], "gradient": [as_array(x) for x in gradient], "tangent": [as_array(tangent)],
            "hessian": [as_array(x) for x in hessian]}


def difference(ours, theirs):
    """The greatest difference, relative to the magnitude of the values."""
    size = max(1.0, max(float(np.max(np.abs(x), initial=0)) for x in theirs))
    return max(float(np.max(np.abs(a - b), initial=0)) for a, b in zip(ours, theirs)) / size


def differences(name):
    """By quantity: the greatest difference from JAX, and from PyTorch."""
    f = FUNCTIONS[name][0]
    arguments = drawn(name)
    random = np.random.default_rng(3)
    directions = [random.standard_normal(x.shape) for x in arguments]
    ours = arrays(by_plait(f, arguments, directions))
    others = [arrays(by(f, arguments, directions)) for by in (by_jax, by_torch)]
    return {what: tuple(difference(ours[what], each[what]) for each in others) for what in TOLERANCE}


def missing_in_the_manual():
    """The functions that are missing in the table of docs/differentiation.md, or are listed there and do not exist."""
    manual = pathlib.Path(__file__).resolve().parents[2] / "docs" / "differentiation.md"
    table = manual.read_text().partition("| function | value |")[2].partition("\n\n")[0]
    listed = {line.split("|")[1].strip().replace(" ", "_") for line in table.splitlines()[2:]}
    return sorted(listed ^ set(FUNCTIONS))


def main():
    if sys.argv[1:] == ["--table"]:
        print("| function | value | gradient | tangent | Hessian times vector |\n| --- | --- | --- | --- | --- |")
        for name in FUNCTIONS:
            print(f"| {name.replace('_', ' ')} | " + " | ".join(f"{max(each):.0e}" for each in differences(name).values()) + " |")
        return 0
    names = sys.argv[1:] or list(FUNCTIONS)
    if names[0] == "--part":
        part, parts = map(int, names[1:])
        names = list(FUNCTIONS)[part::parts]
    wrong = 0
    for name in missing_in_the_manual():
        wrong += 1
        print(f"{name}: the table of docs/differentiation.md is not that of --table")
    for name in names:
        for what, (from_jax, from_torch) in differences(name).items():
            for library, found in (("JAX", from_jax), ("PyTorch", from_torch)):
                if not found <= TOLERANCE[what]:
                    wrong += 1
                    print(f"{name}: {what}: differs from {library} by {found:.2e}")
    print(f"{len(names)} functions, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
