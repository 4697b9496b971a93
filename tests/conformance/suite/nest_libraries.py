"""The libraries for which nests of transforms (suite/nest_parts.py) are written, with the same names: Plait, Plait with
every transform unrolled, differences in place of derivatives, and JAX.

A function takes one array and returns one; `x` is the point of evaluation."""

import itertools

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import plait as pl

jax.config.update("jax_enable_x64", True)


def array_of(shape, salt):
    """Numbers of magnitude about 1, without symmetries; determined by the salt."""
    count = int(np.prod(shape, dtype=np.int64))
    return np.cos(salt + 1.3 * np.arange(count) + 0.2 * np.arange(count) ** 2).reshape(shape)


class Ours:
    """Plait's own transforms."""

    np = pl
    grad, jacfwd, jacrev, hessian = map(staticmethod, (pl.grad, pl.jacfwd, pl.jacrev, pl.hessian))
    vmap, jit, remat = map(staticmethod, (pl.vmap, pl.jit, pl.remat))
    scan, cond, switch, while_loop, for_loop, map = map(
        staticmethod, (pl.scan, pl.cond, pl.switch, pl.while_loop, pl.for_loop, pl.map))

    def array(self, values):
        return pl.asarray(np.asarray(values))

    def counter(self):
        return pl.asarray(0)

    def is_inexact(self, x):
        return x.dtype.kind in ("floating", "complex")

    def is_complex(self, x):
        return x.dtype.kind == "complex"

    def recursion(self, f, depth):
        @pl.recursive
        def halved(n, x):
            return pl.cond(n <= 0, lambda n, x: f(x), lambda n, x: 0.5 * halved(n - 1, 0.9 * x), n, x)

        return lambda x: halved(pl.asarray(depth), x)

    def primitive(self, base, operands):
        results = pl.apply(base.case.primitive.name, operands, **base.attributes)
        return results if isinstance(results, tuple) else (results,)

    def jvp(self, f, x, tangent):
        return pl.jvp(f, (x,), (tangent,))[1]

    def vjp(self, f, x):
        value, pull = pl.vjp(f, x)
        return value, lambda cotangent: pull(cotangent)[0]

    def linearize(self, f, x):
        return pl.linearize(f, x)

    def traced(self, f):
        return lambda x: pl.trace(f)(x)(x)

    def taped(self, f):
        """The gradient by a tape."""
        def gradient(x):
            with pl.Tape() as tape:
                begun = tape.watch(x)
                return tape.gradient(f(begun) + 0 * pl.sum(begun), begun)  # the result must depend on x

        return gradient

    def backward(self, f):
        def gradient(x):
            leaf = x.requires_grad()
            (f(leaf) + 0 * pl.sum(leaf)).backward(create_graph=True)
            return leaf.grad

        return gradient

    def custom_vjp(self, f):
        return pl.custom_vjp(f).defvjp(lambda x: (f(x), x), lambda x, cotangent: (self.vjp(f, x)[1](cotangent),))

    def custom_jvp(self, f):
        return pl.custom_jvp(f).defjvp(lambda at, along: pl.jvp(f, at, along))


class Unrolled(Ours):
    """Derivatives one direction after the other, in forward mode; loops and branches by the host."""

    def slope(self, f, x, tangent):
        return pl.jvp(f, (x,), (tangent,))[1]

    def columns(self, f, x):
        """The derivative with respect to each element of x, and the value."""
        units = np.eye(x.size).reshape(x.size, *x.shape)
        return [self.slope(f, x, self.array(unit)) for unit in units], f(x)

    def jacfwd(self, f):
        def matrix(x):
            columns, value = self.columns(f, x)
            if not columns:
                return pl.zeros((*value.shape, *x.shape), pl.f64)
            return pl.reshape(pl.stack(columns, -1), (*value.shape, *x.shape))

        return matrix

    jacrev = grad = taped = backward = jacfwd

    def hessian(self, f):
        return self.jacfwd(Unrolled().jacfwd(f))

    def jvp(self, f, x, tangent):
        return self.slope(f, x, tangent)

    def vjp(self, f, x):
        def pull(cotangent):
            columns, _ = self.columns(f, x)
            sums = [pl.sum(cotangent * column) for column in columns]
            return pl.reshape(pl.stack(sums), x.shape) if sums else pl.zeros(x.shape, pl.f64)

        return f(x), pull

    def linearize(self, f, x):
        return f(x), lambda tangent: self.slope(f, x, tangent)

    def vmap(self, f, in_axes=0, out_axes=0):
        def of_many(xs):
            rows = [f(row) for row in _rows(xs, in_axes)]
            if rows:
                return pl.stack(rows, out_axes)
            return pl.moveaxis(pl.zeros((0, *f(pl.zeros(_rows_shape(xs, in_axes), pl.f64)).shape), pl.f64), 0, out_axes)

        return of_many

    def jit(self, f):
        return f

    traced = custom_vjp = custom_jvp = jit

    def recursion(self, f, depth):
        return lambda x: 0.5**depth * f(0.9**depth * x)

    def remat(self, f, policy=None):
        return f

    def scan(self, body, carry, xs):
        given = []
        for row in _rows(xs, 0):
            carry, each = body(carry, row)
            given.append(each)
        if given:
            return carry, pl.stack(given)
        return carry, pl.zeros((0, *body(carry, pl.zeros(xs.shape[1:], pl.f64))[1].shape), pl.f64)

    def cond(self, predicate, then, otherwise, *operands):
        return (then if bool(predicate) else otherwise)(*operands)

    def switch(self, index, branches, *operands):
        return branches[int(index)](*operands)

    def while_loop(self, test, body, carry):
        while bool(test(carry)):
            carry = body(carry)
        return carry

    def for_loop(self, first, end, body, carry):
        for i in range(first, end):
            carry = body(i, carry)
        return carry

    def map(self, f, xs):
        return pl.stack([f(row) for row in _rows(xs, 0)])


def _rows(xs, axis):
    return [pl.moveaxis(xs, axis, 0)[i] for i in range(xs.shape[axis])]


def _rows_shape(xs, axis):
    return tuple(size for i, size in enumerate(xs.shape) if i != axis % xs.ndim)


class Differences(Unrolled):
    """Differences in place of the derivative."""

    def __init__(self, step):
        self.step = step

    def slope(self, f, x, tangent):
        def across(step):
            return f(x + step * tangent) - f(x - step * tangent)

        return (8 * across(self.step) - across(2 * self.step)) / (12 * self.step)


class Jax(Unrolled):
    """JAX, with loops unrolled where JAX has no derivative of them."""

    def __init__(self):
        self.np = jnp
        self.grad = self.taped = self.backward = jax.grad
        self.jacfwd, self.jacrev, self.hessian = jax.jacfwd, jax.jacrev, jax.hessian
        self.vmap, self.linearize, self.jit = jax.vmap, jax.linearize, jax.jit
        self.cond, self.switch, self.scan = jax.lax.cond, jax.lax.switch, jax.lax.scan
        self.map = jax.lax.map

    def array(self, values):
        return self.np.asarray(values)

    def counter(self):
        return 0

    def is_inexact(self, x):
        return self.np.issubdtype(x.dtype, self.np.inexact)

    def is_complex(self, x):
        return self.np.issubdtype(x.dtype, self.np.complexfloating)

    def primitive(self, base, operands):
        results = base.in_jax(*operands)
        return results if isinstance(results, (tuple, list)) else (results,)

    def jvp(self, f, x, tangent):
        return jax.jvp(f, (x,), (tangent,))[1]

    def vjp(self, f, x):
        value, pull = jax.vjp(f, x)
        return value, lambda cotangent: pull(cotangent)[0]

    def remat(self, f, policy=None):
        return jax.checkpoint(f)

    def while_loop(self, test, body, carry):
        for _ in itertools.count():
            if not bool(test(carry)):
                return carry
            carry = body(carry)


def jax_function(base):
    """JAX's function of the same name, if it computes the same; None if there is none."""
    name, operands = base.case.primitive.name, base.operands
    wanted = pl.apply(name, [pl.borrow(x) for x in operands], **base.attributes)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for place in (jnp, jax.scipy.special, jax.nn, jax.lax, jnp.linalg, jnp.fft):
        function = getattr(place, name, None)
        if not callable(function):
            continue

        def called(*given, function=function):
            return function(*given, **base.attributes)

        try:
            found = called(*map(jnp.asarray, operands))
            found = found if isinstance(found, (tuple, list)) else (found,)
            if len(found) == len(wanted) and all(_same(a.numpy(), np.asarray(b)) for a, b in zip(wanted, found)):
                return called
        except Exception:  # other arguments, or another function of that name
            continue
    return None


def _same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
