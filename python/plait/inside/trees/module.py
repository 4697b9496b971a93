"""Module: objects that are trees of tensors."""

import dataclasses

from plait import _core, errors
from plait.inside.arrays.methods import place_and_dtype
from plait.inside.help.names import of_object as _of_object
from plait.inside.help.unused import expect_used
from plait.inside.settings.memory_tag import memory_tag
from plait.inside.transforms.applied import Applied
from plait.inside.trees.buffers import FROZEN, NONE, delete_attribute, set_attribute  # noqa: F401
from plait.inside.trees.computed import PRUNED, computed, is_computed
from plait.inside.trees.moving import to_device


class Module:
    """A base class for models and their parts: an instance is a tree of its attributes. Attributes that are tensors, or
    trees of tensors and Modules, have names such as "blocks.3.norm1.scale"; all others are static, part of the structure.

        class Linear(plait.Module):
            def __init__(self, key, fan_in, fan_out):
                self.weight = plait.random.normal(key, (fan_in, fan_out)) / fan_in**0.5
                self.bias = plait.zeros(fan_out)

            def __call__(self, x):
                return x @ self.weight + self.bias

    A class that has fields (`scale: plait.Tensor`) and no __init__ gets one as dataclasses do. The gradient by a Module
    is a Module of that class. Transforms pass a copy of a Module: a function that changes it must return it.
    Tensors are its weights, except those that are marked: self.mask = plait.nn.Buffer(mask). NumPy arrays are
    buffers, too.

    >>> class Scale(plait.Module):
    ...     factor: plait.Tensor
    ...     def __call__(self, x):
    ...         return self.factor * x
    >>> plait.grad(lambda model, x: model(x))(Scale(plait.tensor(2.0)), plait.tensor(5.0)).factor
    5. : f32[]
    """

    _buffers = _frozen = NONE
    training = True  # set by train() and eval()

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        _expect_no_weights_in_class(cls)
        if "forward" in cls.__dict__ and not any("__call__" in vars(each) for each in cls.__mro__):
            cls.__call__ = _call_of_forward
        if cls.__dict__.get("__annotations__") and "__init__" not in cls.__dict__:
            dataclasses.dataclass(cls, repr=False, eq=False)
            if cls.__module__.startswith("plait."):  # lines of the package are in its files, for the locations of errors
                cls.__init__.__code__ = cls.__init__.__code__.replace(co_filename=__file__)

    __setattr__ = set_attribute
    __delattr__ = delete_attribute

    def __getattr__(self, name):
        if is_computed(self, name):
            return computed(self, name)
        raise _of_object(self, name)

    def __repr__(self):
        return _shown(self, "")

    def train(self, mode=True):
        """The model in training mode, or with False in evaluation mode: with `training` set in it and in all Modules in
        it. Dropout and normalisations read it. The model itself is not changed: model = model.train().

        >>> plait.nn.Dropout(0.5).train(False)(plait.ones(3))
        [1. 1. 1.] : f32[3]
        """
        expect_used("train", "model = model.train()")
        return _with_training(self, bool(mode))

    def eval(self):
        """The model in evaluation mode: train(False).

        >>> plait.nn.Dropout(0.5).eval()(plait.ones(3))
        [1. 1. 1.] : f32[3]
        """
        expect_used("eval", "model = model.eval()")
        return _with_training(self, False)

    def to(self, *where, device=None, dtype=None, non_blocking=False):
        """The model on a device, with its floating-point numbers in a dtype, or both. On a device, arrays of NumPy are
        tensors. The model itself is not changed.

        >>> plait.nn.Linear(2, 3).to("cpu", plait.bf16).weight.dtype
        plait.bf16
        """
        expect_used("to", "model = model.to(...)")
        return _moved(self, *place_and_dtype(where, device, dtype))

    def cpu(self):
        """The model on the CPU: to("cpu")."""
        expect_used("cpu", "model = model.cpu()")
        return _moved(self, "cpu", None)

    def cuda(self, device=None):
        """The model on a GPU, the first one by default: to("cuda")."""
        expect_used("cuda", "model = model.cuda()")
        return _moved(self, "cuda" if device is None else device, None)

    def _refuse_arithmetic(self, _other):
        raise errors.TypeError.with_hint(f"{type(self).__name__} is a tree of tensors, which has no arithmetic of its own",
                                         "model = plait.optim.apply_updates(model, plait.tree.map(lambda g: -0.1 * g, gradient))")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse_arithmetic


_core._declare_in_trees("module", Module)


def holds_module(tree):
    return isinstance(tree, Module) or any(holds_module(child) for _, child in _core._children(tree) or ())


def attribute_of(module, name):
    """The attribute of a Module, computed or not; None if it has none of that name."""
    return computed(module, name) if is_computed(module, name) else vars(module).get(name)


def modules_in(tree):
    """The Modules in a tree, itself included."""
    if isinstance(tree, Module):
        yield tree
    for _, child in _core._children(tree) or ():
        yield from modules_in(child)


def copy_of(tree):
    """A tree of the same tensors, whose nodes are new."""
    leaves, structure = _core._flatten(tree)
    return structure.unflatten(leaves)


def _moved(model, device, dtype):
    leaves, structure = _core._flatten(model)
    with memory_tag("weights"):
        if dtype is not None:
            dtype = _core.DType(dtype)
            leaves = [each.astype(dtype) if _is_inexact(each) and each.dtype != dtype else each for each in leaves]
        moved = structure.unflatten(leaves)
        return moved if device is None else to_device(moved, device)


def _is_inexact(leaf):
    return isinstance(leaf, _core.Tensor) and leaf.dtype.kind in ("floating", "complex")


def _with_training(model, mode):
    made = copy_of(model)
    for each in modules_in(made):
        if type(each).training != mode:
            object.__setattr__(each, "training", mode)
        else:
            vars(each).pop("training", None)
    return made


def _expect_no_weights_in_class(cls):
    """TypeError if an attribute of the class holds tensors: instances do not have them, so they would not be trained."""
    fields = cls.__dict__.get("__annotations__", {})
    for name, value in list(cls.__dict__.items()):
        if name in fields or name.startswith("__"):
            continue
        if any(isinstance(leaf, _core.Tensor) and leaf.dtype.kind in ("floating", "complex") for leaf in _core._flatten(value)[0]):
            raise errors.TypeError.with_hint(
                f"{cls.__name__}.{name} holds tensors, and is an attribute of the class: it is not part of the models, and would not be trained",
                f"set it in __init__: self.{name} = … for a weight, self.{name} = plait.nn.Buffer(…) for a constant")


def _call_of_forward(self, *arguments, **named):
    raise errors.TypeError.with_hint(f"a {type(self).__name__} has forward, but no __call__", "name it __call__ instead of forward")


_NOT_SHOWN = ("_buffers", FROZEN, PRUNED, "_keys", "_zeros", "_of_optimizer")


def _shown_name(module, name):
    return f"{name} (buffer)" if name in module._buffers else f"{name} (frozen)" if name in module._frozen else name


def _shown(value, indent):
    """A tree over several lines, with the dtypes and shapes of its tensors."""
    if isinstance(value, _core.Tensor):
        place = f" on {value.device}" if value.is_cuda else ""
        return f"{value.dtype.name}[{', '.join(map(str, value.shape))}]{place}"
    if hasattr(value, "__array_interface__"):
        return f"array {value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, Module):
        shown = [(_shown_name(value, name), each) for name, each in vars(value).items() if name not in _NOT_SHOWN]
        names, (begin, end) = shown, (f"{type(value).__name__}(", ")")
    elif isinstance(value, Applied):
        return f"{value.how.name}({_shown(value.function, indent)})"
    elif isinstance(value, dict):
        names, (begin, end) = value.items(), "{}"
    elif isinstance(value, (list, tuple)) and any(isinstance(each, (Module, Applied, _core.Tensor, dict, list, tuple)) for each in value):
        fields = getattr(value, "_fields", range(len(value)))
        names, (begin, end) = zip(fields, value), "[]" if isinstance(value, list) else "()"
    else:
        return getattr(value, "__name__", None) or repr(value)
    lines = [f"{indent}  {name}: {_shown(each, indent + '  ')}\n" for name, each in names]
    return begin + ("\n" + "".join(lines) + indent if lines else "") + end
