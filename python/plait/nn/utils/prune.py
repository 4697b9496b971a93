"""Pruning, with the names of torch.nn.utils.prune: functions that return the model with weights that are weight_orig times weight_mask. They
take a model and the name of a weight, "0.weight", or a pattern of names, "*.weight"."""

from plait.inside.help.names import of_public_module as _of_public_module
from plait.inside.models.pruning import (  # noqa: F401
    custom_from_mask, global_unstructured, identity, is_pruned, l1_unstructured, ln_structured, random_structured, random_unstructured, remove)

__getattr__, __dir__, __all__ = _of_public_module(globals())
