"""Trees of tensors on devices."""

import collections.abc

from plait import _core
from plait.inside.arrays.devices import moved
from plait.inside.arrays.interop import asarray

_NOT_NUMBERS = "OUSMm"  # kinds of NumPy's arrays that stay as they are: objects, texts, times


def to_device(tree, device):
    """A tree, such as a model, the state of an optimizer or a batch, with its tensors on a device; arrays of NumPy and of other libraries become
    tensors there. A tensor that is there already stays itself. Gradients move back.

    >>> plait.to_device({"w": plait.ones(2), "mask": np.ones(2)}, "cpu")["mask"].device
    plait.Device('cpu')
    """
    name = _core._device_name(device)
    leaves, structure = _core._flatten(tree)
    if any(hasattr(value, "__dlpack__") for _, value in structure._objects()):  # arrays that are not leaves, such as PyTorch's
        leaves, structure = _core._flatten(with_tensors(tree, name))
    made = {id(leaf): _leaf_on(leaf, name) for leaf in leaves}  # tied tensors stay one
    return structure.unflatten([made[id(leaf)] for leaf in leaves])


def _leaf_on(leaf, name):
    if isinstance(leaf, _core.Tensor):
        return _core._record_on(leaf, name) if _core._is_record(leaf) and not leaf.is_traced else moved(leaf, name)
    return leaf if _is_of_no_numbers(leaf) else asarray(leaf, device=name)


def _is_of_no_numbers(array):
    return getattr(getattr(array, "dtype", None), "kind", "f") in _NOT_NUMBERS


def is_array(value):
    """True for tensors, and for arrays and scalars of any library."""
    return isinstance(value, _core.Tensor) or hasattr(value, "__array_interface__") or hasattr(value, "__dlpack__")


def with_tensors(tree, device=None):
    """The tree of dicts, lists and tuples with its arrays of numbers, of any library, as tensors."""
    if isinstance(tree, collections.abc.Mapping):
        return like_mapping(tree, {key: with_tensors(value, device) for key, value in tree.items()})
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(with_tensors(each, device) for each in tree))
    if isinstance(tree, (list, tuple)):
        return (list if isinstance(tree, list) else tuple)(with_tensors(each, device) for each in tree)
    return asarray(tree, device=device) if is_array(tree) and not _is_of_no_numbers(tree) else tree


def like_mapping(first, made):
    """A dict as a mapping of the class of the first."""
    if type(first) is dict:
        return made
    try:
        return type(first)(made)
    except TypeError:  # a class that is made otherwise
        return made
