"""Module: objects that are trees of tensors."""

import dataclasses

from . import _core


class Module:
    """A base class for models and their parts: an instance is a tree of its attributes. Attributes that are tensors, or
    trees of tensors and Modules, have names such as "blocks.3.norm1.scale"; all others are static, part of the structure.

        class Linear(plait.Module):
            def __init__(self, key, fan_in, fan_out):
                self.weight = plait.random.normal(key, (fan_in, fan_out)) / fan_in**0.5
                self.bias = plait.zeros(fan_out)

            def __call__(self, x):
                return x @ self.weight + self.bias

    A class with fields (`scale: plait.Tensor`) and without __init__ gets one, as dataclasses do. The gradient with respect
    to a Module is a Module of that class. Transforms pass a copy of the Module: a function that changes it must return it.

    >>> class Scale(plait.Module):
    ...     factor: plait.Tensor
    ...     def __call__(self, x):
    ...         return self.factor * x
    >>> plait.grad(lambda model, x: model(x))(Scale(plait.tensor(2.0)), plait.tensor(5.0)).factor
    5. : f32[]
    """

    def __init_subclass__(cls, **named):
        super().__init_subclass__(**named)
        if cls.__dict__.get("__annotations__") and "__init__" not in cls.__dict__:
            dataclasses.dataclass(cls, repr=False, eq=False)

    def __repr__(self):
        return _shown(self, "")


_core._declare_in_trees("module", Module)


def _shown(value, indent):
    """A tree over several lines, with the dtypes and shapes of its tensors."""
    if isinstance(value, _core.Tensor):
        return f"{value.dtype.name}[{', '.join(map(str, value.shape))}]"
    if hasattr(value, "__array_interface__"):
        return f"array {value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, Module):
        names, (begin, end) = vars(value).items(), (f"{type(value).__name__}(", ")")
    elif isinstance(value, dict):
        names, (begin, end) = value.items(), "{}"
    elif isinstance(value, (list, tuple)) and any(isinstance(each, (Module, _core.Tensor, dict, list, tuple)) for each in value):
        fields = getattr(value, "_fields", range(len(value)))
        names, (begin, end) = zip(fields, value), "[]" if isinstance(value, list) else "()"
    else:
        return getattr(value, "__name__", None) or repr(value)
    lines = [f"{indent}  {name}: {_shown(each, indent + '  ')}\n" for name, each in names]
    return begin + ("\n" + "".join(lines) + indent if lines else "") + end
