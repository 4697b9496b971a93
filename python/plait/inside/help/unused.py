"""Results that a caller does not use."""

import opcode
import sys

from plait import errors

_POP, _CACHE = opcode.opmap["POP_TOP"], opcode.opmap.get("CACHE")


def expect_used(name, hint, returned="a model", depth=2):
    """TypeError if the code that calls the calling function discards its result: the statement would have no effect. The depth is the number
    of frames to that code."""
    frame = sys._getframe(depth)
    code, place = frame.f_code.co_code, frame.f_lasti + 2
    while place < len(code) and code[place] == _CACHE:
        place += 2
    if place < len(code) and code[place] == _POP:
        raise errors.TypeError.with_hint(f"{name}() returns {returned}, and changes nothing in place: the result is not used", hint)


def expect_model_used(what, depth=2):
    """The same for a function plait.`what`(model, ...) that returns a changed model."""
    expect_used(what.rpartition(".")[2], f"model = plait.{what}(model, ...)", depth=depth + 1)
