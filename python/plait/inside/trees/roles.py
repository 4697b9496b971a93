"""The role of tensors in training, so that swapped arguments are noticed: gradients, and parameters that an
optimizer has seen. It is stored for the tensor objects themselves, as long as they live."""

import weakref

from plait import errors

_gradients, _parameters = weakref.WeakValueDictionary(), weakref.WeakValueDictionary()


def mark_gradients(tensors):
    _gradients.update((id(tensor), tensor) for tensor in tensors if tensor is not None)


def mark_parameters(tensors):
    _parameters.update((id(tensor), tensor) for tensor in tensors)


def is_parameter(tensor):
    return _parameters.get(id(tensor)) is tensor


def _has(role, tensors):
    return any(role.get(id(tensor)) is tensor for tensor in tensors)


def expect_in_place(name, parameters, gradients):
    """TypeError if gradients were passed as parameters, or parameters as gradients."""
    are_swapped = (_has(_gradients, parameters) and not _has(_gradients, gradients)
                   or _has(_parameters, gradients) and not _has(_parameters, parameters))
    if are_swapped:
        raise errors.TypeError(f"{name}.update: the model and its gradient are swapped\n"
                               "  hint: update(model, gradient)")
