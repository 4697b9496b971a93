"""Special functions, parts of complex numbers, and other elementwise primitives."""

import functools
import pathlib
import sys

import mpmath
import numpy as np
import plait
import scipy.special

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "oracles"))
from special_functions_oracle import gamma_density, gamma_q, gamma_p, gamma_p_da  # noqa: E402
from families.elementwise import nonzero_whole
from suite.cases import Sample, case, numbers

FAMILY = "special"


def add(name, oracle, **options):
    case(name, oracle, family=FAMILY, **options)


def orders(random, shape, dtype, operand):
    """For polygamma: the order is an integer, and the argument is not negative then."""
    if operand == 0:
        drawn = numbers(0.3, 5.0)(random, shape, dtype, operand)
        return np.round(np.abs(drawn)).astype(drawn.dtype)
    drawn = numbers(-3.0, 5.0)(random, shape, dtype, operand)
    near = np.abs(drawn - np.round(drawn)) < 0.2
    return np.where(near & (drawn < 0.3), np.round(drawn) + 0.5, drawn).astype(drawn.dtype)


def exact(function, inside=lambda *numbers: True, at_limits=None):
    """An oracle of 40 digits, element by element, where SciPy has no such function or is less accurate than Plait.
    For numbers outside of `inside` it is SciPy's: `at_limits`."""
    def at(*numbers):
        if not inside(*numbers):
            return at_limits(*numbers)
        with mpmath.workdps(40):
            try:
                return float(function(*map(mpmath.mpf, map(float, numbers))))
            except OverflowError:
                return np.inf

    return np.vectorize(at, otypes=[np.float64])


def positive(*numbers):
    return all(0 < x < np.inf for x in numbers)


def infinite_at_infinity(function):
    """SciPy returns NaN at infinities where these functions are infinite."""
    return lambda x: np.where(np.isinf(x), x if function is scipy.special.i1 else np.abs(x), function(x))


def zeta(x, q):
    """SciPy returns infinity for some NaN, and NaN for x = inf and q > 1, where all terms are 0; between the
    negative integers it loses digits."""
    value = np.where(np.isposinf(x) & (q > 1), 0, scipy.special.zeta(x, q))
    between = exact(mpmath.zeta, lambda x, q: 1 < x < 50 and x == np.floor(x) and -50 < q < -0.1 and q != np.floor(q),
                    lambda x, q: 0)
    return np.where(np.isnan(x) | np.isnan(q), np.nan, np.where(between(x, q) != 0, between(x, q), value))


def log_normal_cdf(x):
    share = mpmath.erfc(abs(x) / mpmath.sqrt(2)) / 2
    return mpmath.log1p(-share) if x > 0 else mpmath.log(share)


def log1mexp(x):
    return np.where(x < np.log(2), np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))


def beta_density(a, b, x):
    return x ** (a - 1) * (1 - x) ** (b - 1) / mpmath.beta(a, b)


def beta_share_by_shape(operand, *numbers):
    with mpmath.workdps(80):
        step = mpmath.mpf(10) ** -25

        def share(by):
            a, b, x = (number + by * (i == operand) for i, number in enumerate(numbers))
            return mpmath.betainc(a, b, 0, x, regularized=True)

        return (share(step) - share(-step)) / (2 * step)


def with_whole_powers(random, shape, dtype, operand):
    """For ldexp: the exponent is an integer."""
    drawn = numbers(-8.0, 8.0)(random, shape, dtype, operand)
    return np.round(drawn) if operand == 1 else drawn


# SciPy loses the sign of 0; C++ libraries and PyTorch keep it.
add("erfinv", scipy.special.erfinv, zero_signs=False)
add("lgamma", scipy.special.gammaln, extended=False, scale=lambda x: 1 + x)
add("digamma", scipy.special.digamma, extended=False, scale=lambda x: 1 + 1 / x)
add("polygamma", exact(lambda n, x: mpmath.psi(int(n), x)), draw=orders, special=False, large=False, fixed=(0,))
add("logaddexp", np.logaddexp, scale=lambda a, b: 1 + np.maximum(a, b))
add("logaddexp2", np.logaddexp2, scale=lambda a, b: 1 + np.maximum(a, b))
add("entr", scipy.special.entr, zero_signs=False)
add("log1mexp", log1mexp, extended=True)
add("ldexp", lambda x, e: np.ldexp(x, e.astype(np.int64)), draw=with_whole_powers, special=False, fixed=(1,))
add("exponent", lambda x: np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(x.dtype))
add("erfcx", exact(lambda x: mpmath.exp(x * x) * mpmath.erfc(x), np.isfinite, scipy.special.erfcx), large=False)
add("ndtr", exact(lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, np.isfinite, scipy.special.ndtr), large=False)
add("log_ndtr", exact(log_normal_cdf, np.isfinite, scipy.special.log_ndtr), large=False)
add("i0", infinite_at_infinity(scipy.special.i0))
# SciPy loses the sign of 0 here, too.
add("i1", infinite_at_infinity(scipy.special.i1), zero_signs=False)
add("i1e", scipy.special.i1e, zero_signs=False)
add("zeta", zeta, fixed=(0,))
add("betaln", exact(lambda a, b: mpmath.log(mpmath.beta(a, b))), special=False, large=False)
add("gamma_density", exact(gamma_density), special=False, large=False)
add("gammainc", exact(gamma_p, positive, scipy.special.gammainc), once=(0,), large=False)
add("gammaincc", exact(gamma_q, positive, scipy.special.gammaincc), once=(0,), large=False)
add("gammainc_grad_a", exact(gamma_p_da), special=False, large=False, fixed=(0,))
add("random_gamma_grad", exact(lambda a, x: -gamma_p_da(a, x) / gamma_density(a, x)), special=False, large=False,
    fixed=(0,))
add("betainc", exact(lambda a, b, x: mpmath.betainc(a, b, 0, x, regularized=True), lambda a, b, x: positive(a, b, x) and x < 1,
                     scipy.special.betainc), once=(0, 1), zero_signs=False, large=False)
for _name, _operand in (("betainc_grad_a", 0), ("betainc_grad_b", 1)):
    add(_name, exact(functools.partial(beta_share_by_shape, _operand)), special=False, large=False,
        fixed=(0, 1))
add("beta_density", exact(beta_density), special=False, large=False)
add("fmod", np.fmod, draw=nonzero_whole)
# NumPy's f16 has no step from 0 to -0.
add("nextafter", np.nextafter, wide=None, extended=False, zero_signs=False,
    no_loops="the body computes in f64, whose next number is another one")
add("relu", lambda x: np.maximum(x, 0), zero_signs=False)
add("stop_gradient", lambda x: x, wide=None, blocks_derivative=True)
add("checkpoint_name", lambda x, label="": x, samples=[
    Sample((shape,), {"label": "scores"}) for shape in [(), (0,), (3, 5)]])
add("to_device", lambda x, device, **_: x, samples=[Sample((shape,), {"device": "cpu"}) for shape in [(), (0,), (3, 5)]])
add("make_complex", lambda a, b: a + 1j * b, samples=[((),) * 2, ((0,),) * 2, ((3, 5),) * 2],
    result_dtype=lambda dtype, attributes: {"f32": plait.c64, "f64": plait.c128}[dtype.name])
