"""Measures the errors of special functions against 40 digits, in units in the last place of f64.

Usage: special_functions_oracle.py PATH_OF_ORACLE_TOOL [COUNT [SEED [NAME...]]]. Prints the worst error of each function
and its argument, and exits with 1 if one exceeds the bound given here.
"""

import math
import subprocess
import sys

import mpmath as mp
import numpy as np

SMALLEST = sys.float_info.min


def log_uniform(random, low, high, count):
    return np.exp(random.uniform(math.log(low), math.log(high), count))


class Draws:
    """Arguments: lists of tuples."""

    def __init__(self, random, count):
        self.random, self.count = random, count

    def log_uniform(self, low, high):
        return log_uniform(self.random, low, high, self.count)

    def uniform(self, low, high):
        return self.random.uniform(low, high, self.count)

    def reals(self, *arrays):
        return [(x,) for x in np.concatenate(arrays)]

    def normal(self):
        return self.reals(self.uniform(-8, 8), self.uniform(-38, 8), -self.log_uniform(1e-20, 1))

    def logs_of_normal(self):
        return self.reals(self.uniform(-10, 38), -self.log_uniform(1e-3, 1e8))

    def shares(self):
        return self.reals(self.uniform(0, 1), self.log_uniform(1e-307, 0.5), 1 - self.log_uniform(1e-16, 0.5),
                          0.5 + self.log_uniform(1e-15, 0.1))

    def scaled(self):
        return self.reals(self.uniform(-26, 40), self.log_uniform(1e-20, 1e20))

    def bessel(self):
        return self.reals(self.uniform(-30, 30), self.uniform(-700, 713), self.log_uniform(1e-10, 1))

    def zeta(self):
        below = zip(self.random.integers(2, 9, self.count), self.uniform(-50, 0))
        return list(zip(1 + self.log_uniform(1e-6, 100), self.log_uniform(1e-3, 1e4))) + [(float(x), q) for x, q in below]

    def gamma(self):
        """Shape parameters of all sizes; x of all sizes, and near the shape."""
        small, large = self.log_uniform(1e-3, 60), self.log_uniform(60, 2e3)
        near = [(a, max(1e-300, a + spread * math.sqrt(a) * self.random.normal()))
                for shapes, spread in ((small, 3), (large, 3), (large, 8)) for a in shapes]
        return (list(zip(small, self.log_uniform(1e-4, 1e2))) + list(zip(self.log_uniform(1e-300, 1), self.log_uniform(1e-300, 3)))
                + list(zip(self.log_uniform(1e-3, 2e3), self.log_uniform(1e-3, 2e3))) + near)

    def beta_pairs(self):
        return list(zip(self.log_uniform(1e-5, 1e6), self.log_uniform(1e-5, 1e6))) + list(
            zip(self.log_uniform(1, 40), self.log_uniform(1, 40)))

    def beta(self):
        """Shape parameters of all sizes; x anywhere, and near the mean."""
        drawn = []
        for a, b in zip(np.concatenate([self.log_uniform(1e-2, 1e2), self.log_uniform(1, 3e3)]),
                        np.concatenate([self.log_uniform(1e-2, 1e2), self.log_uniform(1, 3e3)])):
            mean = a / (a + b)
            spread = math.sqrt(mean * (1 - mean) / (a + b + 1))
            near = min(1 - 1e-6, max(1e-6, mean + 3 * spread * self.random.normal()))
            drawn += [(a, b, self.random.uniform(1e-6, 1 - 1e-6)), (a, b, near)]
        return drawn


# ---- The functions in 40 digits.


def zeta(x, q):
    """The first terms, then the Euler-Maclaurin formula: mpmath's zeta has only 40 decimal places."""
    if q < 0:
        x = int(x)
    first = max(0, 40 - int(mp.floor(q)))
    total, far = mp.fsum((q + k) ** -x for k in range(first)), q + first
    total += far ** (1 - x) / (x - 1) + far**-x / 2
    factor = x * far ** (-x - 1)
    for k in range(1, 40):
        total += mp.bernoulli(2 * k) / mp.factorial(2 * k) * factor
        factor *= (x + 2 * k - 1) * (x + 2 * k) / far**2
    return total


def gamma_p(a, x):
    with mp.extradps(20 + int(abs(mp.log10(a)))):
        return mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * mp.hyp1f1(1, a + 1, x)


def gamma_q(a, x):
    if x > a + 1:
        return mp.gammainc(a, x, mp.inf, regularized=True)
    with mp.extradps(40 + int(abs(mp.log10(a)))):
        return 1 - gamma_p(a, x)


def gamma_density(a, x):
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def gamma_p_da(a, x):
    with mp.extradps(60 + 2 * int(abs(mp.log10(a)))):
        step = a * mp.mpf(10) ** -25
        if x < a + 30 or x < 60:
            return (gamma_p(a + step, x) - gamma_p(a - step, x)) / (2 * step)
        return (gamma_q(a - step, x) - gamma_q(a + step, x)) / (2 * step)


def betainc_value(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def beta_share_by_shape(a, b, x):
    with mp.extradps(60):
        step = a * mp.mpf(10) ** -25
        if x < a / (a + b):
            return (betainc_value(a + step, b, x) - betainc_value(a - step, b, x)) / (2 * step)
        return (betainc_value(b, a - step, 1 - x) - betainc_value(b, a + step, 1 - x)) / (2 * step)


def log_beta(a, b):
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def quantile(result, p):
    """One step of Newton's method from the result, which is close."""
    x = mp.mpf(result)
    return x - (mp.erfc(-x / mp.sqrt(2)) / 2 - p) * mp.sqrt(2 * mp.pi) * mp.exp(x * x / 2)


def log_share(x):
    return mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2) if x > 0 else mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)


def scaled_erfc(x):
    if x < 1e4:
        return mp.exp(x * x) * mp.erfc(x)
    return mp.fsum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(8)) / (x * mp.sqrt(mp.pi))


# Name: arguments, the function, and the most ulp allowed.
FUNCTIONS = {
    "ndtr": (Draws.normal, lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, 1),
    "log_ndtr": (Draws.logs_of_normal, log_share, 1),
    "ndtri": (Draws.shares, None, 1),
    "erfcx": (Draws.scaled, scaled_erfc, 1),
    "i0": (Draws.bessel, lambda x: mp.besseli(0, x), 1),
    "i1": (Draws.bessel, lambda x: mp.besseli(1, x), 1),
    "i0e": (Draws.bessel, lambda x: mp.besseli(0, x) * mp.exp(-abs(x)), 1),
    "i1e": (Draws.bessel, lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), 1),
    "zeta": (Draws.zeta, zeta, 1),
    "betaln": (Draws.beta_pairs, log_beta, 1),
    "gammainc": (Draws.gamma, gamma_p, 1),
    "gammaincc": (Draws.gamma, gamma_q, 1),
    "gamma_density": (Draws.gamma, gamma_density, 1),
    "gammainc_grad_a": (Draws.gamma, gamma_p_da, 1.5),
    "random_gamma_grad": (Draws.gamma, lambda a, x: -gamma_p_da(a, x) / gamma_density(a, x), 1),
    "betainc": (Draws.beta, betainc_value, 1),
    "betainc_grad_a": (Draws.beta, beta_share_by_shape, 8),
    "betainc_grad_b": (Draws.beta, lambda a, b, x: -beta_share_by_shape(b, a, 1 - x), 8),
    "beta_density": (Draws.beta, lambda a, b, x: mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) - log_beta(a, b)), 2),
}


def ulps(result, exact):
    """The error of a result in ulp; nothing if the exact number is denormal or not an f64."""
    nearest = abs(float(exact))
    if not SMALLEST <= nearest < math.inf:
        return 0
    return float(abs(mp.mpf(result) - exact) / mp.mpf(math.ulp(nearest))) if math.isfinite(result) else math.inf


def worst_of(tool, name, count, seed):
    draw, function, _ = FUNCTIONS[name]
    points = [tuple(map(float, point)) for point in draw(Draws(np.random.default_rng(seed), count))]
    questions = "\n".join(" ".join([name, *map(float.hex, point)]) for point in points)
    answers = subprocess.run([tool, "apply"], input=questions, capture_output=True, check=True, text=True).stdout.split()
    worst = (-1.0, None, None)
    for point, answer in zip(points, map(float.fromhex, answers)):
        exact = quantile(answer, mp.mpf(point[0])) if function is None else function(*map(mp.mpf, point))
        worst = max(worst, (ulps(answer, exact), point, answer), key=lambda each: each[0])
    return worst


def main():
    tool, count, seed, *names = sys.argv[1:] + ["20", "1"][max(0, len(sys.argv) - 2):]
    mp.mp.dps = 40
    failures = 0
    for name in names or FUNCTIONS:
        most, point, answer = worst_of(tool, name, int(count), int(seed))
        print(f"{name}: {most:.2f} ulp at {point}", flush=True)
        if most > FUNCTIONS[name][2]:
            failures += 1
            print(f"{name}{point} is {answer!r}, {most:.2f} ulp away")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
