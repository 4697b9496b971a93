"""Records programs and their operands, which plait_gpu_check replays on a GPU and on the CPU.

    record_cases.py FILE.safetensors [FAMILY]   of one family of the conformance suite, or of all

For each primitive and dtype: its first samples, the smallest sizes, and the gradient of one sample."""

import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "conformance"))
import plait  # noqa: E402
from suite import cases, derivatives, tolerances  # noqa: E402

SAMPLES, SMALL_SAMPLES, GRADIENTS = 2, 1, 2  # the first two for each dtype, gradients for each primitive
MOST_ELEMENTS = 20_000
GRADIENT_UNITS = 1e6  # units of f64, as the suite compares gradients on devices


class Recorded:
    """Tensors by name, "12.program" and "12.0", and a line of metadata for each case."""

    def __init__(self):
        self.tensors, self.lines = {}, {}

    def add(self, label, function, operands, units, by_largest):
        program = plait.trace(function)(*map(plait.borrow, operands))
        number = str(len(self.lines))
        self.tensors[f"{number}.program"] = np.frombuffer(program.bytes(), np.uint8)
        for place, operand in enumerate([*operands, *program.hidden_inputs]):
            self.tensors[f"{number}.{place}"] = operand
        self.lines[number] = f"{units:g} {int(by_largest)} {label}"

    def save(self, path):
        plait.io.save_safetensors(path, self.tensors, self.lines)


def samples_of(case, dtype):
    usual = [each for each in case.samples if not each.large][:SAMPLES]
    return usual + [sample for sample, _ in cases.small_samples(case, dtype)][:SMALL_SAMPLES]


def is_refused(case, operands, attributes):
    try:
        plait.apply(case.primitive.name, list(map(plait.borrow, operands)), **attributes)
    except plait.Error:
        return True
    return False


def record_values(recorded, case):
    random = np.random.default_rng(5)
    for dtype in case.dtypes:
        for sample in samples_of(case, dtype):
            operands = case.operands_of(sample, dtype, random)
            if sum(x.size for x in operands) > MOST_ELEMENTS or is_refused(case, operands, sample.attributes):
                continue

            def function(*given, attributes=sample.attributes):
                return plait.apply(case.primitive.name, list(given), **attributes)

            recorded.add(f"{case.primitive.name} {dtype} ({sample})", function, operands, 2 * tolerances.ulps(case.tolerance, dtype),
                         case.scale is not None)


class OfOperands(derivatives.Smooth):
    """The same function, whose operands and weights are all given to it."""

    def __init__(self, smooth, operands, weights):
        vars(self).update(vars(smooth), kept=operands, weights=weights)

    def given(self):
        return list(self.kept)


def record_gradients(recorded, case):
    for number, (sample, smooth) in enumerate(derivatives._samples(case, quick=True)):
        if number == GRADIENTS:
            return
        weights = [None if x is None else x.numpy() for x in smooth.weights]

        def function(*given, smooth=smooth, weights=weights):
            operands, others = list(given[:len(smooth.operands)]), iter(given[len(smooth.operands):])
            there = OfOperands(smooth, operands, [None if x is None else next(others) for x in weights])
            return derivatives._gradient(there, *[operands[i] for i in smooth.moving])

        recorded.add(f"grad {case.primitive.name} ({sample})", function, [*smooth.operands, *(x for x in weights if x is not None)],
                     GRADIENT_UNITS, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("family", nargs="?")
    options = parser.parse_args()
    recorded = Recorded()
    for case in cases.load(options.family):
        if not case.repeatable or case.family == "effects" or any("device" in sample.attributes for sample in case.samples):
            continue
        record_values(recorded, case)
        record_gradients(recorded, case)
    recorded.save(options.file)
    print(f"{len(recorded.lines)} cases in {options.file}")


if __name__ == "__main__":
    main()
