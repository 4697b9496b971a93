"""The programs of examples: the primitives that a function consists of, and the dtypes that it accepts."""

import re

import numpy as np
import plait

import examples


class Call:
    """A call of a function in an example, with its program."""

    def __init__(self, function, arguments, keywords):
        self.function = function
        # In a vmap, for example, it is recorded for one sample.
        self.is_within = plait._core._is_tracing()
        self.tensors, self.tree = plait.tree.flatten((arguments, keywords))
        self.program = self.recorded(self.tensors)

    def recorded(self, tensors):
        """The program as text; None if it reads numbers, is not an operation, or refuses its arguments."""
        def again(*given):
            arguments, keywords = self.tree.unflatten(given)
            return self.function(*arguments, **keywords)

        try:
            program = plait.trace(lambda: again(*tensors))() if self.is_within else plait.trace(again)(*tensors)
        except Exception:  # noqa: BLE001
            return None
        text = re.sub(r"^plait \d+\n+", "", program.text())
        return re.sub(r" +; [^\n]*$", "", text, flags=re.M).strip()

    def dtypes(self):
        """The dtype of the first result for each dtype of the operands; only operands with numbers vary, if there
        are any."""
        if self.is_within or not self.tensors:
            return {}
        numbers = [each for each in self.tensors if each.dtype.kind in ("floating", "complex")]
        first = (numbers or self.tensors)[0]
        results = {}
        for dtype in plait.dtypes:
            alike = [each.dtype == first.dtype for each in self.tensors]
            # If there are several integer operands, the others may be indices.
            choices = [alike, [each is first for each in self.tensors]] if first.dtype.kind == "integer" else [alike]
            for chosen in choices:
                program = self.recorded([plait.Spec(f"{dtype.name}{list(each.shape)}") if is_chosen else each
                                         for each, is_chosen in zip(self.tensors, chosen)])
                result = re.search(r"-> (?:<[^>]*> )?\((\w+)", program or "")
                if result:
                    results.setdefault(dtype, result[1])
        return results


class _Watched:
    """Notes the calls of one function in a module of plait."""

    def __init__(self, module, names, calls):
        self._module, self._names, self._calls = module, names, calls

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if name != self._names[0]:
            return found
        if len(self._names) > 1:
            return _Watched(found, self._names[1:], self._calls)

        def call(*arguments, **keywords):
            self._calls.append(Call(found, arguments, keywords))
            return found(*arguments, **keywords)

        return call


def calls_in(example):
    """The calls in an example of the function that it documents; a primitive is called through plait.apply."""
    calls = []
    path = example.name if examples.function_of(example.name) else "apply"
    scope = {"plait": _Watched(plait, path.split("."), calls), "np": np}
    for statement in example.statements():
        examples.printed_by(statement, scope)
    return calls


def programs_of(calls):
    """The programs of calls as text, without duplicates and programs without instructions."""
    return [text for text in dict.fromkeys(call.program for call in calls) if text and instructions_of(text)]


def instructions_of(text):
    """The names of the instructions of a program."""
    return re.findall(r"^ +(?:[%<][^=\n]*= )?(\w+)(?= |$)", text, flags=re.M)
