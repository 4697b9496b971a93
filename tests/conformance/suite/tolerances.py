"""The allowed error of a result, in units in the last place of its dtype (half a unit is correct rounding). The
oracle computes in a wider dtype where there is one, so these are the errors of Plait."""

ULPS = {
    # class: (f64, f32, f16 and narrower)
    "exact": (0, 0, 0),  # integers, comparisons, primitives that only move elements
    "rounded": (0.5, 0.5, 0.5),  # one operation of IEEE 754
    "twice": (1.5, 1.5, 1),  # two of them
    "function": (2, 2, 0.6),  # exp, sine, …
    "power": (2, 1, 0.6),
    "special": (4, 1, 0.6),  # erf, gamma, …
    "complex": (8, 8, 8),  # relative to the larger part
    "sum": (4, 4, 1),  # relative to the sum of magnitudes
    "sum of rounded": (5, 5, 1),  # whose terms were rounded too
    "product": (16, 16, 2),  # many factors, each rounded
    "complex product": (32, 16, 16),  # four products and two sums per factor; in c128 the oracle has errors of the same size
    "normalised": (32, 16, 2),  # differences from a mean, exponentials divided by their sum
    "factorisation": (64, 64, 64),
}


def ulps(tolerance, dtype):
    column = {"f64": 0, "c128": 0, "f32": 1, "c64": 1}.get(dtype.name, 2)
    if dtype.kind == "complex" and tolerance == "product":
        tolerance = "complex product"
    elif dtype.kind == "complex" and tolerance in ("rounded", "twice", "function", "power", "special", "sum"):
        tolerance = "complex"
    return ULPS[tolerance][column]
