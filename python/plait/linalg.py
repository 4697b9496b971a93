"""Linear algebra: factors, equations, norms."""

from ._core import diagonal, matmul, matrix_transpose, outer, tensordot, vecdot  # noqa: F401: as the Array API has it
from ._core.linalg import *  # noqa: F403
