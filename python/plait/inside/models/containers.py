"""Layers that hold other layers. Each is an attribute of its container, named as in PyTorch: 0, 1, … or by its key."""

import inspect
import operator
from collections.abc import Iterable

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.transforms.applied import Applied
from plait.inside.trees.module import Module


class _Container(Module):
    _keys = None  # keys, of containers that are made from a dict

    def _names(self):
        return [name for name in vars(self) if name.isdigit()] if self._keys is None else list(self._keys)

    def _held(self):
        return [getattr(self, name) for name in self._names()]

    def _accepted(self, value):
        return value

    def _put(self, name, value):
        setattr(self, name, self._accepted(value))

    def _iterable(self, values):
        if not isinstance(values, Iterable):
            raise errors.TypeError(f"nn.{type(self).__name__}: {values!r} has no parts, expected a list")
        return values

    def __len__(self):
        return len(self._names())


class _List(_Container):
    """The common part of lists: indices, slices, and changes while a model is being built."""

    def __init__(self, values=()):
        self.extend(values)

    def _name(self, index):
        names = self._names()
        try:
            return names[operator.index(index)]
        except IndexError:
            raise errors.IndexError(f"nn.{type(self).__name__}: index {index} is out of range for {len(names)}") from None

    def __iter__(self):
        return iter(self._held())

    def __getitem__(self, index):
        return type(self)._of(self._held()[index]) if isinstance(index, slice) else getattr(self, self._name(index))

    @classmethod
    def _of(cls, values):
        return cls(values)

    def __setitem__(self, index, value):
        self._put(self._name(index), value)

    def __delitem__(self, index):
        names, held = self._names(), self._held()
        del held[index]
        for name in names:
            delattr(self, name)
        self._keys = None
        self.extend(held)

    def append(self, value):
        """Adds one at the end; returns the container."""
        self._put(str(len(self)), value)
        if self._keys is not None:
            self._keys = (*self._keys, str(len(self)))
        return self

    def extend(self, values):
        """Adds several at the end; returns the container."""
        for value in self._iterable(values):
            self.append(value)
        return self

    def insert(self, index, value):
        """Adds one before the index."""
        held = self._held()
        held.insert(index, value)
        for i, each in enumerate(held):
            self._put(str(i), each)

    def __add__(self, other):
        return type(self)._of([*self, *other])


class Sequential(_List):
    """Layers, or other functions, one after another. A dict names them. A random key, model(x, key=key), is split for the layers that take one.

    >>> net = plait.nn.Sequential(plait.nn.Linear(4, 8), plait.relu, plait.nn.Linear(8, 2))
    >>> net(plait.ones((3, 4))).shape, len(net)
    ((3, 2), 3)
    >>> list(plait.nn.state(plait.nn.Sequential({"head": plait.nn.Linear(4, 2)})))
    ['head.weight', 'head.bias']
    """

    def __init__(self, *layers):
        if len(layers) == 1 and type(layers[0]) is not Sequential and isinstance(layers[0], dict):
            self._keys = ()
            for name, layer in layers[0].items():
                self._put(name, layer)
                self._keys = (*self._keys, name)
        else:
            super().__init__(layers)

    @classmethod
    def _of(cls, values):
        return Sequential(*values)

    def _accepted(self, value):
        if not callable(value):
            hint = "pass layers without brackets: plait.nn.Sequential(*layers)" if isinstance(value, (list, tuple)) else "pass a layer"
            raise errors.TypeError.with_hint(f"nn.Sequential: a {type(value).__name__} is not a layer, which can be called", hint)
        return value

    def __call__(self, x, *, key=None):
        """The output of the last layer; key is for the layers that take one, such as Dropout, each of which gets another."""
        layers = self._held()
        keys = [None] * len(layers) if key is None else _core.random.split_key(key, max(len(layers), 1))
        for layer, each in zip(layers, keys):
            x = layer(x) if each is None or not _takes_key(layer) else layer(x, key=each)
        return x


def _takes_key(layer):
    """True if calls of the layer may have a random key: a parameter `key` that can be left out, or can only be named."""
    while isinstance(layer, Applied) and layer.how.name in ("jit", "remat"):
        layer = layer.function
    try:
        found = inspect.signature(layer).parameters.get("key")
    except (TypeError, ValueError):
        return False
    return found is not None and (found.kind is found.KEYWORD_ONLY or found.default is not found.empty)


class ModuleList(_List):
    """A list of layers, which a Module calls as it likes. A plain Python list in a Module does the same.

    >>> layers = plait.nn.ModuleList(plait.nn.Linear(2, 2) for _ in range(3))
    >>> len(layers), list(plait.nn.state(layers))[:2]
    (3, ['0.weight', '0.bias'])
    """

    def __init__(self, modules=()):
        super().__init__(() if modules is None else modules)


class ParameterList(_List):
    """A list of tensors that are trained.

    >>> plait.nn.ParameterList([1.0, plait.ones(2)])[1]
    [1. 1.] : f32[2]
    """

    def _accepted(self, value):
        return asarray(value)


class _Dict(_Container):
    _keys = ()

    def __init__(self, values=None):
        self.update({} if values is None else values)

    def __getitem__(self, key):
        if key not in self._keys:
            raise errors.KeyError(f"nn.{type(self).__name__} has no {key!r}; it has {list(self._keys)}")
        return getattr(self, key)

    def __setitem__(self, key, value):
        if not isinstance(key, str) or not key or "." in key or (key not in self._keys and hasattr(type(self), key)):
            raise errors.ValueError.with_hint(f"nn.{type(self).__name__}: {key!r} cannot be a name",
                                              "names are strings without dots, and not those of its methods")
        self._put(key, value)
        if key not in self._keys:
            self._keys = (*self._keys, key)

    def __delitem__(self, key):
        self[key]
        delattr(self, key)
        self._keys = tuple(each for each in self._keys if each != key)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return list(self._keys)

    def values(self):
        """The values, in the order of keys()."""
        return self._held()

    def items(self):
        """(name, value) of each."""
        return list(zip(self._keys, self._held()))

    def pop(self, key):
        """Removes one, and returns it."""
        value = self[key]
        del self[key]
        return value

    def update(self, values):
        """Adds all of a dict, or of (name, value) pairs."""
        for each in values.items() if hasattr(values, "items") else self._iterable(values):
            if not isinstance(each, (tuple, list)) or len(each) != 2:
                raise errors.TypeError(f"nn.{type(self).__name__}: {each!r} is not a pair, expected a dict, or pairs of a name and a value")
            self[each[0]] = each[1]


class ModuleDict(_Dict):
    """Layers by name. A plain dict in a Module does the same.

    >>> heads = plait.nn.ModuleDict({"a": plait.nn.Linear(2, 3), "b": plait.nn.Linear(2, 4)})
    >>> heads["b"](plait.ones((1, 2))).shape
    (1, 4)
    """

    def __init__(self, modules=None):
        super().__init__(modules)


class ParameterDict(_Dict):
    """Tensors that are trained, by name.

    >>> plait.nn.ParameterDict({"scale": 2.0})["scale"]
    2. : f32[]
    """

    def __init__(self, parameters=None):
        super().__init__(parameters)

    def _accepted(self, value):
        return value if isinstance(value, _core.Tensor) else asarray(value)
