"""Results that a caller does not use."""

import opcode
import sys

from plait import errors

_POP, _CACHE = opcode.opmap["POP_TOP"], opcode.opmap.get("CACHE")


def expect_used(name, hint):
    """TypeError if the code that calls the calling method discards its result: the statement would have no effect."""
    frame = sys._getframe(2)
    code, place = frame.f_code.co_code, frame.f_lasti + 2
    while place < len(code) and code[place] == _CACHE:
        place += 2
    if place < len(code) and code[place] == _POP:
        raise errors.TypeError.with_hint(f"{name}() returns a model, and does not change the one that it is called on: the result is not used",
                                         hint)
