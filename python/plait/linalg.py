"""Linear algebra: factors, equations, norms."""

from ._core.linalg import *  # noqa: F403
