"""Learning-rate schedules with PyTorch's names. The first argument is the rate, instead of the optimizer; a schedule is a value that is
called with a step: SGD(model, lr=plait.optim.lr_scheduler.StepLR(0.1, 30)) uses it in each update."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.optimizers.lr_schedulers import (  # noqa: F401
    SWALR, ChainedScheduler, ConstantLR, CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, ExponentialLR, LambdaLR, LinearLR,
    MultiplicativeLR, MultiStepLR, OneCycleLR, PolynomialLR, SequentialLR, StepLR)
from plait.inside.optimizers.plateau import ReduceLROnPlateau  # noqa: F401

__getattr__, __dir__, __all__ = _of_public_module(globals())
