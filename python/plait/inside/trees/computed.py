"""Attributes of Modules that are computed each time they are read: parametrizations, and pruned weights, which are
weight_orig * weight_mask, the names of PyTorch."""

from plait import _core

PARAMETRIZATIONS = "parametrizations"  # the attribute of a Module that has those
PRUNED = "_pruned"  # that of the names of its pruned weights


def original_of(name):
    return f"{name}_orig"


def mask_of(name):
    return f"{name}_mask"


def _parametrizations(module):
    held = vars(module).get(PARAMETRIZATIONS)
    return () if held is None else held


def is_pruned(module, name):
    return name in vars(module).get(PRUNED, ())


def is_computed(module, name):
    return is_pruned(module, name) or name in _parametrizations(module)


def computed(module, name):
    """The value of an attribute that is_computed."""
    if not is_pruned(module, name):
        return _parametrizations(module)[name].get()
    original, mask = getattr(module, original_of(name)), getattr(module, mask_of(name))
    if mask is None:  # a gradient, which is masked already
        return original
    return original * (mask if mask.dtype == original.dtype else _core.astype(mask, original.dtype))


def set_computed(module, name, value):
    """Assigns tensors that the value is computed from: a pruned weight keeps its mask."""
    if is_pruned(module, name):
        setattr(module, original_of(name), value)
    else:
        _parametrizations(module)[name].set(value)


def forget_pruning(module, name):
    """Removes the tensors of a pruned weight."""
    names = vars(module)[PRUNED]
    left = type(names)(names - {name})
    object.__setattr__(module, PRUNED, left) if left else object.__delattr__(module, PRUNED)
    delattr(module, original_of(name))
    delattr(module, mask_of(name))
