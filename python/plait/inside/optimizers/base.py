"""What all optimizers have in common: update(model, gradient) returns the model and the optimizer of the next step."""

import copy

from plait.inside.optimizers.weights import Weights
from plait.inside.trees.module import Module


class ModelOptimizer(Module):
    """The base of optimizers. `_step(weights, gradients, **extra)` gets both by path and returns the new weights by path; it may
    assign to `self`, which is a copy."""

    def update(self, model, gradient=None, **extra):
        """The model and the optimizer of the next step."""
        weights = Weights(type(self).__name__, model)
        gradients = weights.of_gradient(gradient)
        following = copy.copy(self)
        return weights.model_with(following._step(weights.values, gradients, **self._of_model(weights, extra))), following

    def _of_model(self, weights, extra):
        """The further arguments of `update`, as `_step` takes them."""
        return extra
