"""On a device (PLAIT_CUDA=emulated): results where the operands are, equal to the CPU's, eagerly and under every
transform."""

import numpy as np
import plait

from suite import batching, cases, derivatives, values

DEVICE = "cuda:1"
MOST_SAMPLES = 4  # for each dtype, with --quick


def check_devices(case, quick=False):
    yield from _check_values(case, quick)
    if case.repeatable:
        yield from _check_derivatives(case)


def _check_values(case, quick):
    random = np.random.default_rng(21)
    for dtype in case.dtypes:
        samples = [each for each in case.samples if not each.large]
        small = [sample for sample, _ in cases.small_samples(case, dtype)]
        for sample in samples[:MOST_SAMPLES] + small[:2] if quick else samples + small:
            operands = case.operands_of(sample, dtype, random)
            if sum(x.size for x in operands) > cases.MOST_ELEMENTS:
                continue
            try:
                expected = values.run(case, operands, sample.attributes)
            except plait.Error as error:
                if wrong := _not_refused(case, operands, sample, type(error)):
                    yield f"{dtype} ({sample}): {wrong}"
                continue
            for wrong in _differences(case, operands, sample.attributes, expected):
                yield f"{dtype} ({sample}): {wrong}"


def _apply(case, operands, attributes):
    with plait.Device(DEVICE):  # where results without operands are made
        results = plait.apply(case.primitive.name, [_there(x) for x in operands], **attributes)
    return results if isinstance(results, tuple) else (results,)


def _there(array):
    return plait.borrow(array).to(DEVICE)


def _not_refused(case, operands, sample, kind):
    try:
        for each in _apply(case, operands, sample.attributes):
            each.cpu()
        plait.synchronize(DEVICE)
    except kind:
        return None
    except plait.Error as error:
        return f"{type(error).__name__} in place of {kind.__name__}"
    return f"no {kind.__name__}"


def _differences(case, operands, attributes, expected):
    results = _apply(case, operands, attributes)
    for actual, wanted in zip(results, expected, strict=True):
        if actual.dtype.kind != "key" and actual.device != attributes.get("device", DEVICE):
            yield f"the result is on {actual.device}"
        elif case.repeatable:
            there = actual.cpu().numpy()
            scale = values.scale_of(case, operands, attributes, wanted, values.DTYPE_OF[wanted.dtype])
            if wrong := batching._difference(case, there, wanted, attributes, operands, scale):
                yield wrong


class _OnDevice(derivatives.Smooth):
    """The same function with its operands on the device."""

    def __init__(self, here):
        self.case, self.attributes, self.moving, self.operands = here.case, here.attributes, here.moving, here.operands
        self.kept = [_there(x) for x in here.operands]
        self.points = [x.to(DEVICE) for x in here.points]
        self.directions = [x.to(DEVICE) for x in here.directions]
        self.weights = [None if x is None else x.to(DEVICE) for x in here.weights]

    def given(self):
        return list(self.kept)


def _check_derivatives(case):
    for sample, here in derivatives._samples(case, quick=True):
        if "device" in sample.attributes:
            continue  # the results are not on the device of the operands
        there = _OnDevice(here)
        gradient = derivatives._gradient(here, *here.points)
        ways = {
            "grad": lambda: (derivatives._gradient(there, *there.points), gradient),
            "jvp": lambda: ([derivatives._slope(there, *there.points)], [derivatives._slope(here, *here.points)]),
            "jit of grad": lambda: (_twice(lambda *x: derivatives._gradient(there, *x), there.points), gradient),
        }
        if not case.cannot_batch:
            stacked = [plait.stack([x, x]) for x in there.points]
            ways["vmap of grad"] = lambda: (plait.vmap(lambda *x: derivatives._gradient(there, *x))(*stacked),
                                            [plait.stack([x, x]) for x in gradient])
        for way, found in ways.items():
            made, expected = found()
            elsewhere = {str(x.device) for x in made} - {DEVICE}
            wrong = f"a result is on {elsewhere.pop()}" if elsewhere else derivatives._unlike([x.cpu() for x in made], expected)
            if wrong:
                yield f"{here.operands[here.moving[0]].dtype} ({sample}) {way}: {wrong}"


def _twice(function, arguments):
    """The results of the record."""
    jitted = plait.jit(function)
    jitted(*arguments)
    return jitted(*arguments)
