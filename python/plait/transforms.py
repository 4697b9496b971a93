"""Derivatives of Python functions on trees of tensors, as they run: host code inside may read values and branch."""

import functools
import itertools
import operator

from . import _core, errors
from .given import Handed, expect_tree
from .interop import asarray
from .roles import mark_gradients
from .scopes import Scope
from .sharing import Distinct, distinct, distinct_pairs
from .tree import flatten


def _tensors(tree):
    """The leaves as tensors, and the structure."""
    if isinstance(tree, (float, complex)):
        tree = asarray(tree)
    leaves, structure = flatten(tree)
    return [leaf if type(leaf) is _core.Tensor else asarray(leaf) for leaf in leaves], structure


def vjp(function, *arguments, has_aux=False):
    """The result of function(*arguments), and a function from its cotangent to those of the arguments, a tuple.

    With has_aux the function gives (result, aux), and vjp gives (result, pull, aux).

    >>> value, pull = plait.vjp(lambda x, y: x * y, plait.tensor(2.0), plait.tensor(3.0))
    >>> pull(plait.tensor(1.0))
    (3. : f32[], 2. : f32[])
    """
    level = _core._Pullback()
    try:
        arguments = _with_tensors(arguments)
        leaves, structure = _tensors(arguments)
        expect_tree("vjp: an argument", arguments, structure)
        once = distinct_pairs(leaves, _argument_of_each(arguments))
        handed = Handed(structure, once.spread([level.begin(leaf) for leaf, _ in once.values]))
        given = function(*handed.tree)
        handed.expect_unchanged("vjp", given)
        given, aux = _with_aux("vjp", given) if has_aux else (given, None)
        results, result_structure = _tensors(given)
        results = [level.finish(result) for result in results]
        aux = _passed(level, aux)
    finally:
        level.close()

    def pull(cotangent):
        cotangents, found = _cotangents(cotangent, result_structure)
        if not found:
            raise errors.ValueError(f"vjp: the cotangent is {cotangent!r}, the result another tree")
        return structure.unflatten(once.spread(level.pull(cotangents, True)))

    value = result_structure.unflatten(results)
    return (value, pull, aux) if has_aux else (value, pull)


def _with_tensors(arguments):
    """Numbers among the arguments themselves count as tensors."""
    return tuple(asarray(each) if isinstance(each, (float, complex)) else each for each in arguments)


def _argument_of_each(arguments):
    """For each leaf the number of its argument: tensors are one within an argument, and derivatives by two are two."""
    return [number for number, each in enumerate(arguments) for _ in flatten(each)[0]]


def _cotangents(tree, structure):
    leaves, own = flatten(asarray(tree) if isinstance(tree, (float, complex)) else tree)
    return leaves, own == structure


def _with_aux(name, result):
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise errors.TypeError(f"{name}: with has_aux the function gives (result, aux), not {type(result).__name__}")
    return result


def _passed(level, tree):
    leaves, structure = _tensors(tree)
    return structure.unflatten([level.passed(leaf) for leaf in leaves])


def jvp(function, primals, tangents, has_aux=False):
    """The result of function(*primals) and its tangent. A tangent of None is zero.

    >>> plait.jvp(plait.square, (plait.tensor(3.0),), (plait.tensor(1.0),))
    (9. : f32[], 6. : f32[])
    """
    level = _core._Pushforward()
    try:
        primals, tangents = _with_tensors(primals), tuple(tangents)
        leaves, structure = _tensors(primals)
        given = _tangents(primals, tangents)
        once = Distinct(list(zip(leaves, given, structure.paths)), [(id(leaf), id(tangent)) for leaf, tangent in zip(leaves, given)])
        handed = Handed(structure, once.spread([level.begin(*each) for each in once.values]))
        result = function(*handed.tree)
        handed.expect_unchanged("jvp", result)
        result, aux = _with_aux("jvp", result) if has_aux else (result, None)
        results, result_structure = _tensors(result)
        pairs = [level.finish(each) for each in results]
        aux_leaves, aux_structure = _tensors(aux)
        aux = aux_structure.unflatten([level.finish(each)[0] for each in aux_leaves])
    finally:
        level.close()
    value, tangent = (result_structure.unflatten(each) for each in (zip(*pairs) if pairs else ((), ())))
    return (value, tangent, aux) if has_aux else (value, tangent)


def linearize(function, *primals):
    """The result, and what is linear there: tangents to the result's tangent, without running the function again.

    >>> value, along = plait.linearize(plait.square, plait.tensor(3.0))
    >>> value, along(plait.tensor(1.0))
    (9. : f32[], 6. : f32[])
    """
    level = _core._Pullback()
    try:
        primals = _with_tensors(primals)
        leaves, structure = _tensors(primals)
        handed = Handed(structure, [level.begin(leaf) for leaf in leaves])
        given = function(*handed.tree)
        handed.expect_unchanged("linearize", given)
        results, result_structure = _tensors(given)
        results = [level.finish(result) for result in results]
    finally:
        level.close()

    def linear(*tangents):
        return result_structure.unflatten(level.push(_tangents(primals, tangents)))

    return result_structure.unflatten(results), linear


def linear_transpose(function, *arguments):
    """The transpose of a linear function: from the cotangent of its result to those of its arguments, a tuple. Of the
    arguments the types matter only. ValueError where the function is not linear; in a trace that is not seen.

    >>> plait.linear_transpose(lambda x: plait.stack([x, 2 * x]), plait.tensor(0.0))(plait.tensor([1.0, 1.0]))
    (3. : f32[],)
    """
    leaves, structure = _tensors(_with_tensors(arguments))
    zeros = structure.unflatten([_core.zeros_like(leaf) for leaf in leaves])
    _, pull = vjp(function, *zeros)
    if not _core._is_tracing():
        place = structure.unflatten([_core._numbers_like(leaf) for leaf in leaves])
        values, derivatives = _tensors(function(*place))[0], _tensors(linearize(function, *zeros)[1](*place))[0]
        _core._check_linear(values, derivatives)
    return pull


class _Custom:
    """A function with a derivative of its own."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *arguments):
        arguments = _with_tensors(arguments)
        leaves, structure = _tensors(arguments)
        leaves = list(_core._vary_together(leaves))
        arguments = structure.unflatten(leaves)
        if _core._is_recorded(leaves):
            return self._recorded(leaves, structure)
        if not _core._is_followed(leaves):
            return self._function(*arguments)
        return self._followed(arguments, leaves, structure)

    def _on_leaves(self, function, structure, structures):
        """The function of a list; notes the structure of what it gives."""
        def of_list(leaves):
            results, found = _tensors(function(*structure.unflatten(leaves)))
            structures.append(found)
            return results

        return of_list


class custom_vjp(_Custom):
    """`@custom_vjp`, then `f.defvjp(forward, backward)`: forward(*args) gives (result, kept), backward(kept, cotangent)
    the tuple of the arguments' cotangents, None for one that has none. Serves forward mode and every order too.

    >>> @plait.custom_vjp
    ... def clipped(x):
    ...     return plait.clip(x, 0, 1)
    >>> _ = clipped.defvjp(lambda x: (plait.clip(x, 0, 1), ()), lambda kept, cotangent: (cotangent,))
    >>> plait.grad(clipped)(plait.tensor(5.0))
    1. : f32[]
    """

    def defvjp(self, forward, backward):
        self._forward, self._backward = forward, backward
        return self

    def _followed(self, arguments, leaves, structure):
        result, kept = _core._run_forward(leaves, lambda: self._forward(*arguments))
        results, result_structure = _tensors(result)

        residuals, kept_structure = _tensors(kept)

        def pull(residuals, cotangents):
            kept = kept_structure.unflatten(residuals)
            found = self._backward(kept, result_structure.unflatten(cotangents))
            return _tangents(arguments, found if isinstance(found, tuple) else (found,))

        return result_structure.unflatten(_core._follow_vjp(leaves, results, residuals, pull))

    def _recorded(self, leaves, structure):
        plain, both = [], []

        def pull(residuals, cotangents):
            cotangent, kept = both[0].unflatten([*cotangents, *residuals])
            found = self._backward(kept, cotangent)
            return _tangents(structure.unflatten(leaves), found if isinstance(found, tuple) else (found,))

        results = _core._record_vjp(leaves, self._on_leaves(self._function, structure, plain),
                                    self._on_leaves(self._forward, structure, both), pull)
        return plain[0].unflatten(results)


class custom_jvp(_Custom):
    """`@custom_jvp`, then `f.defjvp(rule)`: rule(primals, tangents) gives (result, tangent), the latter linear in the
    tangents. Serves reverse mode and every order too.

    >>> @plait.custom_jvp
    ... def clipped(x):
    ...     return plait.clip(x, 0, 1)
    >>> _ = clipped.defjvp(lambda primals, tangents: (plait.clip(*primals, 0, 1), tangents[0]))
    >>> plait.grad(clipped)(plait.tensor(5.0))
    1. : f32[]
    """

    def defjvp(self, rule):
        self._rule = rule
        return self

    def _followed(self, arguments, leaves, structure):
        pause = _core._pause_levels()
        result = self._function(*arguments)
        del pause
        results, result_structure = _tensors(result)

        def along(at, tangents):
            return self._along(structure, at, tangents)

        return result_structure.unflatten(_core._follow_jvp(leaves, results, along))

    def _along(self, structure, at, tangents):
        value, tangent = self._rule(structure.unflatten(at), structure.unflatten(tangents))
        return _tangents(value, tangent)

    def _recorded(self, leaves, structure):
        plain = []
        results = _core._record_jvp(leaves, self._on_leaves(self._function, structure, plain),
                                    lambda at, tangents: self._along(structure, at, tangents))
        return plain[0].unflatten(results)


def _tangents(primals, tangents):
    """For each leaf of the primals its tangent; None may stand for a whole subtree."""
    if tangents is None:
        return [None for _ in flatten(primals)[0]]
    node = _core._children(primals)
    if node is None:
        return [asarray(tangents)] if flatten(primals)[0] else []
    others = _core._children(tangents)
    if others is None or [name for name, _ in node] != [name for name, _ in others]:
        raise errors.ValueError(f"jvp: the tangents {tangents!r} are another tree than the primals {primals!r}")
    return [leaf for (_, a), (_, b) in zip(node, others) for leaf in _tangents(a, b)]


def value_and_grad(function, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    """A function that gives (value, gradient): by one argument, or a tuple by several.

    With has_aux the function gives (value, aux), and this ((value, aux), gradient).

    >>> plait.value_and_grad(lambda x, y: x * y, argnums=(0, 1))(plait.tensor(2.0), plait.tensor(3.0))
    (6. : f32[], (3. : f32[], 2. : f32[]))
    """
    several = isinstance(argnums, (tuple, list))
    wanted = [operator.index(number) for number in argnums] if several else [operator.index(argnums)]

    @functools.wraps(function)
    def with_gradient(*arguments, **keywords):
        places = [_place(number, len(arguments)) for number in wanted]
        level = _core._Pullback()
        try:
            followed, structures, handed = list(arguments), [], []
            for place in places:
                leaves, structure = _tensors(arguments[place])
                _expect_differentiable(arguments[place], structure, place, allow_int)
                for leaf, path in zip(leaves, structure.paths):
                    _core._check_argument(leaf, path, place, holomorphic, allow_int)
                once = distinct(leaves)
                handed.append(Handed(structure, once.spread([level.begin(leaf) for leaf in once.values])))
                followed[place] = handed[-1].tree
                structures.append((structure, once))
            result = function(*followed, **keywords)
            for each in handed:
                each.expect_unchanged("grad", result)
            value, aux = _with_aux("grad", result) if has_aux else (result, None)
            value = asarray(value)
            _core._check_result(value, holomorphic)
            value = level.finish(value)
            aux = _passed(level, aux)
        finally:
            level.close()
        gradients = level.pull([_core.ones_like(value)], False)
        mark_gradients(gradients)
        gradients = iter(gradients)
        trees = tuple(structure.unflatten(once.spread(list(itertools.islice(gradients, len(once.values)))))
                      for structure, once in structures)
        return (value, aux) if has_aux else value, trees if several else trees[0]

    return with_gradient


def _expect_differentiable(argument, structure, place, allow_int):
    what = f"grad: argument {place}"
    expect_tree(what, argument, structure)
    if len(structure) or allow_int or _core._children(argument) is not None:
        return
    hint = f"write {argument}.0" if type(argument) is int else f"write class {type(argument).__name__}(plait.Module) if it is a model"
    raise errors.TypeError(f"{what} is {argument!r}, of class {type(argument).__name__}, expected a tensor, a float or a tree of tensors\n"
                           f"  hint: {hint}")


def _place(number, count):
    if not -count <= number < count:
        raise errors.ValueError(f"grad: argument {number} of a call with {count}")
    return number % count


def grad(function, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    """A function that gives the gradient of `function`, which gives one real number. With has_aux (gradient, aux).

    >>> plait.grad(lambda x: plait.sum(x**3))(plait.tensor([1.0, 2.0]))
    [ 3. 12.] : f32[2]
    """
    both = value_and_grad(function, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(function)
    def gradient_of(*arguments, **keywords):
        value, gradient = both(*arguments, **keywords)
        return (gradient, value[1]) if has_aux else gradient

    return gradient_of


def gradient(result, inputs, cotangent=None, *, create_graph=False, retain_graph=False, allow_unused=False, stop_at=()):
    """The gradient of a result by a tensor that it was made of, or a list by several (the tape habit).

    >>> x = plait.tensor(3.0).requires_grad()
    >>> plait.gradient(x * x, x)
    6. : f32[]
    """
    several = isinstance(inputs, (list, tuple))
    given = _core._gradient(result, list(inputs) if several else [inputs], cotangent, create_graph,
                            retain_graph, allow_unused, list(stop_at))
    return given if several else given[0]


class Tape:
    """Follows what is computed with tensors that it watches. `with Tape() as tape:`; tapes nest.

    >>> with plait.Tape() as tape:
    ...     x = tape.watch(plait.tensor(3.0))
    ...     y = x * x
    >>> tape.gradient(y, x)
    6. : f32[]
    """

    def __init__(self, persistent=False):
        self._tape = _core._Tape(persistent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def watch(self, tensor):
        """The same tensor, as one whose gradient this tape can tell."""
        return self._tape.watch(asarray(tensor))

    def gradient(self, result, inputs, cotangent=None):
        """The gradient of a result by a tensor, or a list by several."""
        several = isinstance(inputs, (list, tuple))
        given = self._tape.gradient(result, list(inputs) if several else [inputs], cotangent)
        return given if several else given[0]


class no_grad(Scope):
    """`with no_grad():`, or as a decorator: nothing is followed for derivatives that were begun before.

    >>> x = plait.tensor(3.0).requires_grad()
    >>> with plait.no_grad():
    ...     y = x * x
    >>> (x + y).backward()
    >>> x.grad
    1. : f32[]
    """

    def __init__(self):
        super().__init__(_core._no_grad)


def remat(function=None, *, policy="nothing", names=()):
    """The function, whose inner values are computed again when a derivative needs them, instead of being kept.

    policy="dots" keeps the results of products, policy="names" what checkpoint_name(x, name) gave one of the names,
    "everything" all. What is done again are the operations; Python code runs once. Also a decorator.

    >>> plait.grad(plait.remat(lambda x: plait.sum(plait.sin(plait.sin(x)))))(plait.tensor([0.0, 1.0]))
    [1.         0.36003947] : f32[2]
    """
    if function is None:
        return functools.partial(remat, policy=policy, names=names)

    @functools.wraps(function)
    def rematerialised(*arguments, **keywords):
        leaves, structure = _tensors(arguments)
        once, structures = distinct(leaves), []

        def of_list(given):
            handed = Handed(structure, once.spread(given))
            result = function(*handed.tree, **keywords)
            handed.expect_unchanged("remat", result)
            results, found = _tensors(result)
            structures.append((found, distinct(results)))
            return structures[-1][1].values

        results = _core._remat(of_list, once.values, policy, list(names))
        found, once_found = structures[0]
        return found.unflatten(once_found.spread(results))

    return rematerialised


class autocast(Scope):
    """`with autocast():`, or as a decorator: products in bf16 (or f16), sums and exponentials in f32.

    `narrow` and `wide` are the names of the primitives that are, in place of the usual ones.

    >>> with plait.autocast():
    ...     (plait.ones((2, 2)) @ plait.ones((2, 2))).dtype
    plait.bf16
    """

    def __init__(self, dtype=_core.bf16, *, narrow=None, wide=None):
        super().__init__(functools.partial(_core._open_autocast, dtype, narrow, wide))


def _axes_of(what, axes, tree):
    """For each leaf of the tree its axis: `axes` is an integer or None, or a tree of such that the tree begins with."""
    if axes is None or isinstance(axes, int):
        return [axes for _ in flatten(tree)[0]]
    node, others = _core._children(tree), _core._children(axes)
    if node is None or others is None or [name for name, _ in node] != [name for name, _ in others]:
        raise errors.ValueError(f"vmap: {what}={axes!r} is another tree than {flatten(tree)[1]}")
    return [axis for (_, child), (_, below) in zip(node, others) for axis in _axes_of(what, below, child)]


def vmap(function, in_axes=0, out_axes=0, size=None, axis_name=None):
    """A function of one sample as a function of many, which lie along an axis, and are computed all at once.

    The axes are integers, None for what is the same for all samples, or trees of both, as the arguments (a tuple) and
    the result are. `size` is the number of samples, needed where no argument says it. The function is recorded once,
    for one sample: what it computes has no numbers then. Along an axis that has a name it may bring together what the
    samples have: all_reduce_sum(x, "batch"), axis_index("batch") and so on.

    >>> plait.vmap(plait.dot, in_axes=(0, None))(plait.tensor([[1.0, 2.0], [3.0, 4.0]]), plait.tensor([1.0, 1.0]))
    [3. 7.] : f32[2]
    """

    @functools.wraps(function)
    def of_many(*arguments):
        arguments = _with_tensors(arguments)
        leaves, structure = _tensors(arguments)
        axes = _axes_of("in_axes", tuple(in_axes) if isinstance(in_axes, list) else in_axes, arguments)
        once, structures = distinct_pairs(leaves, axes), []

        def of_list(given):
            handed = Handed(structure, once.spread(given))
            result = function(*handed.tree)
            handed.expect_unchanged("vmap", result)
            results, found = _tensors(result)
            structures.append((found, distinct_pairs(results, _axes_of("out_axes", out_axes, result))))
            return [leaf for leaf, _ in structures[-1][1].values]

        results = _core._vmap(of_list, [leaf for leaf, _ in once.values], [axis for _, axis in once.values],
                              lambda: [axis for _, axis in structures[0][1].values], size, axis_name)
        found, once_found = structures[0]
        return found.unflatten(once_found.spread(results))

    return of_many


def _units(like):
    """For each element of a tensor, 1 there and 0 elsewhere."""
    return _core.reshape(_core.eye(like.size, dtype=like.dtype), (like.size, *like.shape))


def jacfwd(function):
    """The derivative of each element of function(x) by each of x, all columns at once: where x is small.

    >>> plait.jacfwd(lambda x: x * x[0])(plait.tensor([2.0, 3.0]))
    [[4. 0.]
     [3. 2.]] : f32[2, 2]
    """

    @functools.wraps(function)
    def matrix_of(x):
        x = asarray(x)
        value, push = linearize(function, x)
        return _core.reshape(vmap(push, out_axes=-1)(_units(x)), (*value.shape, *x.shape))

    return matrix_of


def jacrev(function):
    """The derivative of each element of function(x) by each of x, all rows at once: where function(x) is small.

    >>> plait.jacrev(lambda x: x * x[0])(plait.tensor([2.0, 3.0]))
    [[4. 0.]
     [3. 2.]] : f32[2, 2]
    """

    @functools.wraps(function)
    def matrix_of(x):
        x = asarray(x)
        value, pull = vjp(function, x)
        return _core.reshape(vmap(lambda unit: pull(unit)[0])(_units(value)), (*value.shape, *x.shape))

    return matrix_of


def hessian(function):
    """The second derivatives of a number by a tensor: its shape twice.

    >>> plait.hessian(lambda x: plait.prod(x))(plait.tensor([2.0, 3.0]))
    [[0. 1.]
     [1. 0.]] : f32[2, 2]
    """
    return jacfwd(grad(function))


def hvp(function, primals, tangents):
    """The product of the second derivatives with a vector, without making the matrix; primals and tangents are trees.

    >>> plait.hvp(lambda x: plait.sum(x**3), plait.tensor([1.0, 2.0]), plait.tensor([1.0, 1.0]))
    [ 6. 12.] : f32[2]
    """
    return jvp(grad(function), (primals,), (tangents,))[1]
