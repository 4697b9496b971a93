"""Common to all optimizers: update(model, gradient) returns the model and the optimizer of the next step."""

import copy

from plait.inside.help.names import of_assignment
from plait.inside.help.unused import expect_used
from plait.inside.optimizers.weights import Weights, with_states_of_frozen
from plait.inside.settings.memory_tag import memory_tag
from plait.inside.trees.module import Module


class ModelOptimizer(Module):
    """The base of optimizers. `_step(weights, gradients, **extra)` gets both by path and returns the new weights by path; it may
    assign to `self`, which is a copy."""

    def __setattr__(self, name, value):
        own = vars(self)
        is_new = name not in own and not name.startswith("_") and "steps" in own and "state" in own
        if is_new and type(self).__module__.startswith("plait.") and not hasattr(type(self), name):
            raise of_assignment(self, name, (*own, "lr"))
        super().__setattr__(name, value)

    def update(self, model, gradient=None, **extra):
        """The model and the optimizer of the next step."""
        weights = Weights(type(self).__name__, model)
        gradients = weights.of_gradient(gradient)
        following = copy.copy(self)
        if "groups" in vars(self):  # their numbers may be assigned to
            following.groups = [copy.copy(each) for each in self.groups]
        frozen = weights.frozen()
        following._leave_out(frozen)
        with memory_tag("weights and states of optimizers"):
            made = weights.model_with(following._step(weights.values, gradients, **self._of_model(weights, extra)))
        following.state = with_states_of_frozen(self.state, following.state, frozen)
        expect_used("update", "model, optimizer = optimizer.update(model, gradient)", "the model and the optimizer of the next step")
        return made, following

    def _leave_out(self, frozen):
        """Removes the states of weights that were frozen since the optimizer was made."""

    def _of_model(self, weights, extra):
        """The further arguments of `update`, as `_step` takes them."""
        return extra
