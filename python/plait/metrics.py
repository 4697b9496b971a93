"""Metrics as values: `update` returns the metric with a batch more, `compute` its result, `merge` the metric of two parts of the data.
Their states are counts and sums, so parts merge in any order, within jit, scan and vmap, and a mask leaves out what pads a batch."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.metrics.auroc import AUROC  # noqa: F401
from plait.inside.metrics.metric import Collection, Metric  # noqa: F401
from plait.inside.metrics.classification import Accuracy, ConfusionMatrix, F1, Perplexity, Precision, Recall  # noqa: F401
from plait.inside.metrics.sums import MAE, MSE, R2, Mean, Sum  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
