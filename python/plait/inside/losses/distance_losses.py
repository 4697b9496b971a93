"""Losses of numbers, vectors and distributions, with PyTorch's names and arguments."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.losses.class_losses import Loss, reduced


class L1Loss(Loss):
    """|input - target|.

    >>> plait.nn.L1Loss()(plait.tensor([1.0, 2.0]), plait.tensor([2.0, 4.0]))
    1.5 : f32[]
    """

    def __call__(self, input, target):
        """The loss of two tensors of the same shape."""
        return _core.l1_loss(input, target, self.reduction)


class MSELoss(Loss):
    """(input - target)².

    >>> plait.nn.MSELoss(reduction="sum")(plait.tensor([1.0, 2.0]), plait.tensor([2.0, 4.0]))
    5. : f32[]
    """

    def __call__(self, input, target):
        """The loss of two tensors of the same shape."""
        return _core.mse_loss(input, target, self.reduction)


class SmoothL1Loss(Loss):
    """d² / (2 beta) where d = |input - target| is below beta, else d - beta / 2.

    >>> plait.nn.SmoothL1Loss(reduction="none")(plait.tensor([0.5, 3.0]), plait.zeros(2))
    [0.125 2.5  ] : f32[2]
    """

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = self._number("beta", beta, 0)

    def __call__(self, input, target):
        """The loss of two tensors of the same shape."""
        return _core.smooth_l1_loss(input, target, self.beta, self.reduction)


class HuberLoss(Loss):
    """d² / 2 where d = |input - target| is at most delta, else delta (d - delta / 2).

    >>> plait.nn.HuberLoss("none", delta=2.0)(plait.tensor([0.5, 3.0]), plait.zeros(2))
    [0.125 4.   ] : f32[2]
    """

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction=reduction)
        self.delta = self._number("delta", delta, 0)
        if not delta:
            raise errors.ValueError("nn.HuberLoss: delta is 0, expected more")

    def __call__(self, input, target):
        """The loss of two tensors of the same shape."""
        return _core.huber_loss(input, target, self.delta, self.reduction)


class PoissonNLLLoss(Loss):
    """The negative log-likelihood of counts under Poisson distributions, of whose rates the first argument has the logarithms.
    `full` adds Stirling's approximation of log target!.

    >>> plait.nn.PoissonNLLLoss()(plait.tensor([0.0, 1.0]), plait.tensor([1.0, 3.0]))
    0.35914087 : f32[]
    """

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = bool(log_input), bool(full), self._number("eps", eps, 0)

    def __call__(self, log_input, target):
        """The loss of rates, or their logarithms with log_input, and of counts of the same shape."""
        return _core.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(Loss):
    """The negative log-likelihood of the target under normal distributions with means `input` and variances `var`, which are at
    least eps. A variance without the last axis is that of all its elements.

    >>> plait.nn.GaussianNLLLoss()(plait.tensor([1.0, 2.0]), plait.tensor([2.0, 4.0]), plait.ones(2))
    1.25 : f32[]
    """

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(reduction=reduction)
        self.full, self.eps = bool(full), self._number("eps", eps, 0)

    def __call__(self, input, target, var):
        """The loss of means, targets and variances, which may be one for each sample."""
        input, var = asarray(input), asarray(var)
        if var.ndim == input.ndim - 1 and tuple(var.shape) == tuple(input.shape[:-1]):
            var = _core.expand_dims(var, -1)
        return _core.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(Loss):
    """target (log target - input), where the input has log-probabilities. The sum of it over the samples is the divergence of
    Kullback and Leibler, which reduction="batchmean" averages over the batch.

    >>> loss = plait.nn.KLDivLoss(reduction="batchmean")
    >>> loss(plait.log(plait.tensor([[0.5, 0.5]])), plait.tensor([[1.0, 0.0]]))
    0.6931472 : f32[]
    """

    _reductions = ("none", "batchmean", "mean", "sum")

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = bool(log_target)

    def __call__(self, input, target):
        """The loss of log-probabilities and of probabilities, or with log_target of their logarithms."""
        is_number = self.reduction == "batchmean" and asarray(input).ndim == 0
        return _core.kl_div_loss(input, target, reduction="sum" if is_number else self.reduction, log_target=self.log_target)


class SoftMarginLoss(Loss):
    """log(1 + exp(-target input)), for targets 1 and -1.

    >>> plait.nn.SoftMarginLoss()(plait.tensor([2.0, 0.0]), plait.tensor([1.0, -1.0]))
    0.4100376 : f32[]
    """

    def __call__(self, input, target):
        """The loss of scores and of targets 1 and -1, of the same shape."""
        return _core.soft_margin_loss(input, target, self.reduction)


class _MarginLoss(Loss):
    """A loss with a margin."""

    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.margin = self._number("margin", margin)

    def _expect_margin(self):
        """For losses that are 0 without a margin."""
        if not self.margin > 0:
            raise errors.ValueError(f"nn.{type(self).__name__}: margin is {self.margin}, expected a number above 0")


class HingeEmbeddingLoss(_MarginLoss):
    """The input, a distance, for target 1; max(0, margin - input) for target -1.

    >>> plait.nn.HingeEmbeddingLoss(reduction="none")(plait.tensor([0.25, 0.25]), plait.tensor([1.0, -1.0]))
    [0.25 0.75] : f32[2]
    """

    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction="mean"):
        super().__init__(margin, size_average, reduce, reduction)

    def __call__(self, input, target):
        """The loss of distances and of targets 1 and -1, of the same shape."""
        return _core.hinge_embedding_loss(input, target, self.margin, self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos of the angle between two vectors for target 1; max(0, cos - margin) for target -1.

    >>> plait.nn.CosineEmbeddingLoss()(plait.tensor([[3.0, 4.0]]), plait.tensor([[0.0, 2.0]]), plait.tensor([1]))
    0.19999999 : f32[]
    """

    def __call__(self, input1, input2, target):
        """The loss of two tensors [batch, features] and of targets 1 and -1 [batch]."""
        return _core.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class MarginRankingLoss(_MarginLoss):
    """max(0, margin - target (input1 - input2)): the first should be larger for target 1, the second for -1.

    >>> plait.nn.MarginRankingLoss()(plait.tensor([1.0, 3.0]), plait.tensor([2.0, 2.0]), plait.tensor([1.0, 1.0]))
    0.5 : f32[]
    """

    def __call__(self, input1, input2, target):
        """The loss of two tensors of scores and of targets 1 and -1."""
        return _core.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class TripletMarginLoss(_MarginLoss):
    """max(0, margin + distance of the anchor and the positive - distance of the anchor and the negative), of p-norms. `swap` uses
    the distance of the positive and the negative if it is smaller than the latter.

    >>> anchor, positive, negative = plait.zeros((1, 2)), plait.tensor([[0.0, 1.0]]), plait.tensor([[1.5, 0.0]])
    >>> plait.nn.TripletMarginLoss()(anchor, positive, negative)
    0.5 : f32[]
    """

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
        super().__init__(margin, size_average, reduce, reduction)
        self._expect_margin()
        self.p, self.eps, self.swap = self._number("p", p, 0), self._number("eps", eps, 0), bool(swap)

    def __call__(self, anchor, positive, negative):
        """The loss of three tensors [batch, features]."""
        return _core.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
                                         reduction=self.reduction)


class TripletMarginWithDistanceLoss(_MarginLoss):
    """TripletMarginLoss with a distance of your own: a function of two tensors, or a Module.

    >>> loss = plait.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1 - plait.cosine_similarity(a, b))
    >>> loss(plait.tensor([[1.0, 0.0]]), plait.tensor([[2.0, 0.0]]), plait.tensor([[0.0, 1.0]]))
    0. : f32[]
    """

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(margin, reduction=reduction)
        self._expect_margin()
        if distance_function is not None and not callable(distance_function):
            raise errors.TypeError("nn.TripletMarginWithDistanceLoss: distance_function is not a function")
        self.distance_function = _core.pairwise_distance if distance_function is None else distance_function
        self.swap = bool(swap)

    def __call__(self, anchor, positive, negative):
        """The loss of three tensors [batch, features]."""
        near, far = self.distance_function(anchor, positive), self.distance_function(anchor, negative)
        if self.swap:
            far = _core.minimum(far, self.distance_function(positive, negative))
        return reduced(_core.clip(self.margin + near - far, 0, None), self.reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """TripletMarginWithDistanceLoss of three tensors [batch, features].

    >>> anchor, positive, negative = plait.zeros((1, 2)), plait.tensor([[0.0, 1.0]]), plait.tensor([[1.5, 0.0]])
    >>> plait.nn.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=lambda a, b: plait.sum(plait.abs(a - b), -1))
    0.5 : f32[]
    """
    loss = TripletMarginWithDistanceLoss(distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)
    return loss(anchor, positive, negative)
