"""The table of primitives: what every operation is made of."""

import dataclasses

from . import _core


@dataclasses.dataclass(frozen=True)
class Primitive:
    """A row of the table.

    >>> "partials" in plait.ops()["sin"].rules
    True
    """

    name: str
    summary: str
    least_operands: int
    most_operands: int | None  # None: any number
    takes: tuple  # dtypes of its operands
    attributes: dict  # by name: the default as text, or None where it must be given
    elementwise: str  # the dtype of the result: "same", "truth" or "real"; "no" for what is not elementwise
    has_signature: bool
    has_body: bool  # what the loops of the signature compute; without it they only move elements
    rules: tuple  # of "partials", "transposes", "tangents", "batching", "collective", "not_differentiable"
    not_differentiable: str  # why it has no derivative; "" where it has one
    has_effects: bool  # by its attributes and operands: it may fail, print, draw
    communicates: bool  # along named axes
    oracle: str  # what it is checked against

    def __call__(self, *operands, **attributes):
        return _core.apply(self.name, operands, **attributes)


def ops():
    """The primitives by name: what each one takes, which rules it has, what it is checked against.

    >>> plait.ops()["reduce_sum"].summary
    'The sum along the axes; 0 of nothing.'
    """
    return {each["name"]: Primitive(**each) for each in _core._primitives()}
