"""Special functions, parts of complex numbers, and other elementwise primitives."""

import numpy as np
import plait
import scipy.special

from families.elementwise import nonzero_whole, unary as add
from suite.cases import Sample, numbers

FAMILY = "special"


def unary(name, oracle, low=-3.0, high=3.0, tolerance="special", **options):
    add(name, oracle, low, high, tolerance, family=FAMILY, **options)


def orders(random, shape, dtype, operand):
    """Of polygamma: the order is a whole number."""
    drawn = numbers(0.3, 5.0)(random, shape, dtype, operand)
    return np.round(np.abs(drawn)).astype(drawn.dtype) if operand == 0 else drawn


unary("erfc", scipy.special.erfc, extended=False)
# SciPy loses the sign of 0, where C++ libraries and PyTorch keep it.
unary("erfinv", scipy.special.erfinv, -0.95, 0.95, extended=False, zero_signs=False)
unary("lgamma", scipy.special.gammaln, 0.1, 9.0, extended=False, scale=lambda x: 1 + x)
unary("digamma", scipy.special.digamma, 0.1, 9.0, extended=False, scale=lambda x: 1 + 1 / x)
unary("polygamma", scipy.special.polygamma, draw=orders, extended=False, special=False, tolerance="power", fixed=(0,))
unary("logaddexp", np.logaddexp, scale=lambda a, b: 1 + np.maximum(a, b))
unary("fmod", np.fmod, draw=nonzero_whole, tolerance="exact")
# NumPy's f16 knows no step from 0 to -0.
unary("nextafter", np.nextafter, tolerance="exact", wide=None, extended=False, zero_signs=False,
      no_loops="the body computes in f64, whose next number is another one")
unary("relu", lambda x: np.maximum(x, 0), tolerance="exact", zero_signs=False)
unary("stop_gradient", lambda x: x, tolerance="exact", wide=None, blocks_derivative=True)
unary("checkpoint_name", lambda x, label="": x, tolerance="exact", samples=[
    Sample((shape,), {"label": "scores"}) for shape in [(), (0,), (3, 5)]])
unary("real", np.real, tolerance="exact")
unary("imag", np.imag, tolerance="exact")
unary("conjugate", np.conjugate, tolerance="exact", extended=False)
unary("make_complex", lambda a, b: a + 1j * b, tolerance="exact", samples=[((),) * 2, ((0,),) * 2, ((3, 5),) * 2],
      result_dtype=lambda dtype, attributes: {"f32": plait.c64, "f64": plait.c128}[dtype.name])
