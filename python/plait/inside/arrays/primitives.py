"""The table of primitives, of which all operations are composed."""

import dataclasses

from plait import _core


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
    attributes: dict  # by name: the default as text, or None if it is required
    elementwise: str  # the dtype of the result: "same", "truth" or "real"; "no" for primitives that are not elementwise
    accuracy: str  # accuracy of an elementwise one: "exact", "rounded", "twice", "function", "power" or "special", by units in the last place; else ""
    domain: tuple  # domain of an elementwise one: for each operand (low, high), where it is defined and smooth, and tests draw numbers
    precision: str  # in mixed precision: "given" (the dtype of its operands), "narrow" or "wide"
    has_signature: bool
    has_body: bool  # the body of the signature's loops; without it they only move elements
    rules: tuple  # among "partials", "transposes", "tangents", "batching", "collective", "not_differentiable"
    not_differentiable: str  # the reason why it has no derivative; "" if it has one
    has_effects: bool  # depending on its attributes and operands it may fail, print or draw
    communicates: bool  # along named axes
    runs_on: tuple  # kinds of device with a kernel of their own; for others the host computes it, on copies
    oracle: str  # the function that it is compared with

    def __call__(self, *operands, **attributes):
        return _core.apply(self.name, operands, **attributes)


def ops():
    """The primitives by name, with their operand dtypes, rules and oracles.

    >>> plait.ops()["reduce_sum"].summary
    'The sum along the axes; 0 for no elements.'
    """
    return {each["name"]: Primitive(**each) for each in _core._primitives()}
