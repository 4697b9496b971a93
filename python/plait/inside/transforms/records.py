"""Records: values that consist of arrays and of further records, which may be absent, so that trees and lists are
data. They can be used like tensors: in recursive functions, programs and their derivatives."""

import collections
import typing

from plait import _core, errors
from plait.inside.arrays.interop import asarray


class Record:
    """The base of classes that `record` makes. For transforms, a record is one tensor, whatever it contains."""

    __slots__ = ("_tensor",)

    def __init__(self, *values, **named):
        cls = type(self)
        given = dict(zip(cls._types, values))
        if len(values) > len(cls._types):
            raise errors.TypeError(f"{cls.__name__} has {len(cls._types)} fields, but {len(values)} are given")
        for name in named:
            if name not in cls._types or name in given:
                wrong = "given twice" if name in given else f"not a field of {cls.__name__}"
                raise errors.TypeError(f"{name} is {wrong}")
        given.update(named)
        fields = [_field(cls, name, kind, given.get(name)) for name, kind in cls._types.items()]
        self._tensor = _core._make_record(cls._record_name, fields)

    @classmethod
    def none(cls):
        """An absent record."""
        return cls._of(_core._no_record(cls._record_name))

    @classmethod
    def _of(cls, tensor):
        made = cls.__new__(cls)
        made._tensor = tensor
        return made

    def is_there(self):
        """A bool[]: false if the record is absent and has no fields."""
        return _core._is_record_there(self._tensor)

    def fields(self):
        """All fields together, by name; ValueError if the record is absent."""
        cls = type(self)
        values = _core._fields_of_record(self._tensor)
        return cls._Fields(*[kind._of(value) if isinstance(kind, type) else value
                             for kind, value in zip(cls._types.values(), values)])

    def __repr__(self):
        cls = type(self)
        if not isinstance(self._tensor, _core.Tensor) or _core._is_traced(self._tensor):
            return f"{cls.__name__}(...)"
        if not self.is_there():
            return f"{cls.__name__}.none()"
        return f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in self.fields()._asdict().items())})"


_core._declare_in_trees("record", Record)


def _field(cls, name, kind, value):
    if isinstance(kind, type):
        value = kind.none() if value is None else value
        if not isinstance(value, kind):
            raise errors.TypeError(f"{cls.__name__}.{name} is a {type(value).__name__}, expected a {kind.__name__}")
        return value._tensor
    if value is None:
        raise errors.TypeError(f"{cls.__name__}: {name} is missing; expected {kind}")
    return value if isinstance(value, _core.Tensor) else asarray(value, _core.DType(kind.split("[")[0]))


def _kind_of(cls, name, kind):
    if isinstance(kind, str) or (isinstance(kind, type) and issubclass(kind, Record)):
        return kind
    raise errors.TypeError(f"record: {cls.__name__}.{name} is {kind!r}, expected a type as written in the IR, such as \"f32[3]\", "
                           "or a record class")


def record(cls):
    """A class whose fields are arrays, with types written as in the IR, and records that may be absent (None).

        @plait.record
        class Tree:
            value: "f64[2]"
            left: "Tree"
            right: "Tree"

    `tree.is_there()` is a bool[], `tree.value` a field of a present record. A tree of records is one leaf for transforms:
    one function handles trees of any shape, and the gradient with respect to a tree is a tree.

    >>> @plait.record
    ... class List:
    ...     value: "f32[]"
    ...     rest: "List"
    >>> plait.grad(lambda chain: chain.value * chain.rest.value)(List(3.0, List(4.0)))
    List(value=4. : f32[], rest=List(value=3. : f32[], rest=List.none()))
    """
    if not isinstance(cls, type):
        raise errors.TypeError(f"record: expected a class, not {type(cls).__name__}")
    notes = typing.cast(dict, cls.__dict__.get("__annotations__", {}))
    if not notes:
        raise errors.TypeError(f"record: {cls.__name__} has no fields")
    made = type(cls.__name__, (Record,), {
        **{name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")},
        "__slots__": (), "_record_name": cls.__name__})
    types = {name: _kind_of(cls, name, made if kind == cls.__name__ else kind) for name, kind in notes.items()}
    made._types = types
    made._Fields = collections.namedtuple(cls.__name__ + "Fields", types)
    _core._declare_record(cls.__name__, [f"@{kind._record_name}?" if isinstance(kind, type) else kind
                                         for kind in types.values()])
    for name in types:
        setattr(made, name, property(lambda self, name=name: getattr(self.fields(), name)))
    return made
