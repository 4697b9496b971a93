"""The role of tensors in training, so that swapped arguments are noticed: gradients, and parameters that an
optimizer has seen. It is stored for the tensor objects themselves, as long as they live."""

import weakref

from plait import errors

_gradients, _parameters = weakref.WeakValueDictionary(), weakref.WeakValueDictionary()
_replaced = {}  # the id of a gradient: a reference to it, and to the buffers that its function has replaced


def mark_gradients(tensors, replaced=()):
    """`replaced` are the buffers of the model for which the function of the gradients has computed others."""
    tensors = [tensor for tensor in tensors if tensor is not None]
    _gradients.update((id(tensor), tensor) for tensor in tensors)
    if replaced:
        buffers = [weakref.ref(buffer) for buffer in replaced]
        for tensor in tensors:
            _replaced[id(tensor)] = weakref.ref(tensor, lambda _, key=id(tensor): _replaced.pop(key, None)), buffers


def replaced_buffers(gradients):
    """The ids of the buffers for which the function of these gradients has computed others."""
    found = [(_replaced.get(id(gradient)), gradient) for gradient in gradients]
    return {id(buffer()) for entry, gradient in found if entry is not None and entry[0]() is gradient for buffer in entry[1] if buffer() is not None}


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
