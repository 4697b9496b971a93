"""Distances between vectors."""

from plait import _core
from plait.inside.layers.checks import flag, number, whole
from plait.inside.trees.module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2, which are vectors along dim.

    >>> plait.nn.CosineSimilarity()(plait.tensor([[1.0, 0.0]]), plait.tensor([[3.0, 4.0]]))
    [0.6] : f32[1]
    """

    def __init__(self, dim=1, eps=1e-8):
        self.dim, self.eps = whole(self, "dim", dim, -64), number(self, "eps", eps, 0)

    def __call__(self, x1, x2):
        """The similarity of two tensors, along `dim`."""
        return _core.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps, along the last dimension.

    >>> plait.nn.PairwiseDistance(eps=0)(plait.tensor([[1.0, 0.0]]), plait.tensor([[4.0, 4.0]]))
    [5.] : f32[1]
    """

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        self.norm, self.eps, self.keepdim = number(self, "p", p), number(self, "eps", eps, 0), flag(self, "keepdim", keepdim)

    def __call__(self, x1, x2):
        """The distance of two tensors, along the last axis."""
        return _core.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
