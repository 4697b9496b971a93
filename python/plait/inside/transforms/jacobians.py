"""Jacobians and Hessians of functions on trees of tensors."""

import functools

from plait import _core, errors
from plait.inside.arrays.dtype_info import isdtype
from plait.inside.transforms.batching import vmap
from plait.inside.transforms.derivatives import _chosen, _Followed, _of_chosen, grad, jvp


def jacfwd(function, argnums=0, has_aux=False, holomorphic=False):
    """The Jacobian in forward mode, with all columns computed together; suitable for small arguments. For each tensor
    of the result it returns the tree of the argument, or a tuple for several arguments; each tensor has the sizes of
    the result, then those of the argument; buffers and frozen weights of Modules have None. With has_aux it returns
    (derivative, aux). Arguments are real; holomorphic takes complex ones, and gives the complex derivative.

    >>> plait.jacfwd(lambda x: x * x[0])(plait.tensor([2.0, 3.0]))
    [[4. 0.]
     [3. 2.]] : f32[2, 2]
    >>> plait.jacfwd(lambda x, y: {"product": x * y}, argnums=(0, 1))(2.0, 3.0)
    {'product': (3. : f32[], 2. : f32[])}
    """

    def columns_by(followed, i):
        leaf = followed.leaves[i]

        def column(unit):
            return followed.level.push([unit if k == i else None for k in range(len(followed.leaves))])

        return column(_core.ones_like(leaf)) if leaf.ndim == 0 else vmap(column, out_axes=-1)(_units(leaf))

    def all_by_result(followed):
        by_leaf = [columns_by(followed, i) for i in range(len(followed.leaves))]
        return [list(row) for row in zip(*by_leaf)] if by_leaf else [[] for _ in followed.results]

    return _jacobian("jacfwd", function, argnums, has_aux, holomorphic, all_by_result)


def jacrev(function, argnums=0, has_aux=False, holomorphic=False):
    """Like jacfwd, in reverse mode, with all rows computed together; suitable for small results, which are real unless holomorphic is given.

    >>> plait.jacrev(lambda x: x * x[0])(plait.tensor([2.0, 3.0]))
    [[4. 0.]
     [3. 2.]] : f32[2, 2]
    >>> plait.jacrev(lambda p: plait.sum(p["w"]) * p["b"])({"w": plait.tensor([1.0, 2.0]), "b": plait.tensor(3.0)})
    {'w': [3. 3.] : f32[2], 'b': 3. : f32[]}
    """

    def rows_of(followed, i):
        result = followed.results[i]

        def row(unit):
            return followed.level.pull([unit if k == i else None for k in range(len(followed.results))], True)

        return row(_core.ones_like(result)) if result.ndim == 0 else vmap(row)(_units(result))

    return _jacobian("jacrev", function, argnums, has_aux, holomorphic,
                     lambda followed: [rows_of(followed, i) for i in range(len(followed.results))])


def hessian(function, argnums=0, has_aux=False, holomorphic=False):
    """The Hessian, forward over reverse: jacfwd of jacrev.

    >>> plait.hessian(lambda x: plait.prod(x))(plait.tensor([2.0, 3.0]))
    [[0. 1.]
     [1. 0.]] : f32[2, 2]
    """
    return jacfwd(jacrev(function, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def hvp(function, primals, tangents):
    """The Hessian-vector product, computed without the matrix; primals and tangents are trees.

    >>> plait.hvp(lambda x: plait.sum(x**3), plait.tensor([1.0, 2.0]), plait.tensor([1.0, 1.0]))
    [ 6. 12.] : f32[2]
    """
    return jvp(grad(function), (primals,), (tangents,))[1]


def _units(like):
    """For each element of a tensor, the unit tensor with a 1 there and 0 elsewhere."""
    return _core.reshape(_core.eye(like.size, dtype=like.dtype), (like.size, *like.shape))


def _expect_inexact(name, what, leaves, structure):
    for leaf, path in zip(leaves, structure.paths):
        if leaf is not None and not isdtype(leaf.dtype, ("real floating", "complex floating")):
            raise errors.TypeError(f"{name}: {what} {path} is {leaf.dtype}, which has no derivative")


_REAL = {"jacfwd": ("argument", "use jacrev, if the results are real"), "jacrev": ("result", "use jacfwd, if the arguments are real")}


def _expect_fields(name, holomorphic, followed):
    """TypeError unless all arguments and results are complex with holomorphic, and else those real that must be."""
    real, alternative = _REAL[name]
    sides = {"argument": (followed.spread(followed.leaves), followed.structure), "result": (followed.results, followed.result_structure)}
    for what, (leaves, structure) in sides.items():
        for leaf, path in zip(leaves, structure.paths):
            if leaf is None or (leaf.dtype.kind == "complex") == holomorphic or what != real and not holomorphic:
                continue
            given = f"{name}: {what}{path and ' '}{path} is {leaf.dtype}[{', '.join(map(str, leaf.shape))}]"
            if holomorphic:
                raise errors.TypeError(f"{given}; with holomorphic, expected complex numbers")
            raise errors.TypeError.with_hint(f"{given}, expected real numbers", f"{alternative}; if the function is holomorphic, holomorphic=True")


def _jacobian(name, function, argnums, has_aux, holomorphic, all_by_result):
    """`all_by_result` returns, for each tensor of the result, the derivatives with respect to each tensor of the
    arguments."""

    @functools.wraps(function)
    def jacobian_of(*arguments, **keywords):
        places, several = _chosen(name, argnums, len(arguments))
        trees = tuple(arguments[place] for place in places)
        followed = _Followed(name, _of_chosen(function, places, arguments, keywords), trees, has_aux)
        _expect_inexact(name, "argument", followed.spread(followed.leaves), followed.structure)
        _expect_inexact(name, "result", followed.results, followed.result_structure)
        _expect_fields(name, holomorphic, followed)
        trees = []
        for result, row in zip(followed.results, all_by_result(followed)):
            shaped = [_core.reshape(each, (*result.shape, *leaf.shape)) for each, leaf in zip(row, followed.leaves)]
            by_argument = followed.structure.unflatten(followed.spread(shaped))
            trees.append(by_argument if several else by_argument[0])
        found = followed.result_structure.unflatten(trees)
        return (found, followed.aux) if has_aux else found

    return jacobian_of
