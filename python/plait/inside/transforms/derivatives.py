"""Derivatives of Python functions on trees of tensors. The functions run as written: host code in them may read
values and branch."""

import functools
import operator

from plait import _core, errors
from plait.inside.arrays.interop import asarray, tensors_beside
from plait.inside.arrays.items import Item
from plait.inside.help.warning import warn
from plait.inside.settings.scopes import Scope
from plait.inside.transforms.applied import is_tree
from plait.inside.trees.buffers import expect_frozen_at_all_places, of_structure as _buffers
from plait.inside.trees.given import Handed, expect_tree
from plait.inside.trees.module import holds_module
from plait.inside.trees.roles import mark_gradients
from plait.inside.trees.sharing import Distinct, distinct_pairs
from plait.tree import flatten


def _tensors(tree):
    """The leaves as tensors, and the structure."""
    if isinstance(tree, (float, complex)):
        tree = asarray(tree)
    leaves, structure = flatten(tree)
    return tensors_beside(leaves), structure


def _with_numbers(tree):
    """With tensors instead of Python numbers, in lists, tuples and dicts: fields of other classes are not changed."""
    if type(tree) in (bool, int, float, complex, Item):
        return asarray(tree)
    if isinstance(tree, dict):
        return {name: _with_numbers(each) for name, each in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*map(_with_numbers, tree))
    return type(tree)(map(_with_numbers, tree)) if type(tree) in (list, tuple) else tree


def _results(tree):
    """The leaves of a result, and its structure. A number counts as a result with a zero tangent."""
    return _tensors(_with_numbers(tree))


def _with_floats(tree):
    """With tensors instead of Python floats, in lists, tuples and dicts: they are differentiated too."""
    if type(tree) in (float, complex, Item) and isinstance(tree, (float, complex)):
        return asarray(tree)
    if type(tree) is dict:
        return {name: _with_floats(each) for name, each in tree.items()}
    return type(tree)(_with_floats(each) for each in tree) if type(tree) in (list, tuple) else tree


def _tied(leaves, made):
    """Results for leaves, where equal tensors get one result."""
    first = {}
    return [first.setdefault(id(leaf), each) for leaf, each in zip(leaves, made)]


class _Begun:
    """A tree whose tensors a level follows from here on, each once, except buffers."""

    def __init__(self, level, leaves, structure, kinds, buffers):
        self.once = distinct_pairs(leaves, list(zip(kinds, buffers)))
        self._is_buffer = [is_buffer for _, (_, is_buffer) in self.once.values]
        self._given = [leaf for leaf, _ in self.once.values]
        self.leaves = [leaf for leaf, is_buffer in zip(self._given, self._is_buffer) if not is_buffer]  # those that are followed
        self._begun = [leaf._share() if is_buffer else level.begin(leaf) for leaf, is_buffer in zip(self._given, self._is_buffer)]
        self._handed, self._paths = Handed(structure, self.once.spread(self._begun)), structure.paths
        self.tree = self._handed.tree

    def expect_unchanged(self, name, result):
        self._handed.expect_unchanged(name, result)
        for i, place in enumerate(self.once.places):
            if self._is_buffer[place] and not _core._is_same(self._begun[place], self._given[place]):
                raise errors.TypeError.with_hint(f"{name}: the function assigns into the buffer {self._paths[i]}, which would not change the "
                                                 "caller's buffer", "self.buffer = self.buffer.at[index].set(value), and let it return "
                                                 "the model")

    def replaced(self):
        """The caller's buffers for which the function has assigned others to its copy of the tree."""
        if self._handed.is_unchanged():
            return []
        leaves, structure = flatten(self.tree)
        if structure.paths != self._paths:
            return []
        return [self._given[place] for place, leaf in zip(self.once.places, leaves) if self._is_buffer[place] and leaf is not self._begun[place]]

    def spread(self, found):
        """The results for all followed tensors, at all their places, and None for buffers."""
        found = iter(found)
        return self.once.spread([None if is_buffer else next(found) for is_buffer in self._is_buffer])


class _Followed:
    """A function that was run in reverse mode: its arguments and its results as lists, and their structures. A
    tensor at several places of an argument is one variable, unless told otherwise."""

    def __init__(self, name, function, arguments, has_aux, shares=True):
        self.level = _core._Pullback()
        try:
            arguments = _with_floats(tuple(arguments))
            leaves, self.structure = _tensors(arguments)
            expect_tree(f"{name}: an argument", arguments, self.structure)
            kinds = _argument_of_each(arguments) if shares else range(len(leaves))
            handed = _Begun(self.level, leaves, self.structure, kinds, _buffers(self.structure))
            self.leaves, self.spread = handed.leaves, handed.spread
            given = function(*handed.tree)
            handed.expect_unchanged(name, given)
            given, aux = _with_aux(name, given) if has_aux else (given, None)
            results, self.result_structure = _results(given)
            self.results = [self.level.finish(result) for result in results]
            self._tied = _tied(results, self.results)
            self.aux = _passed(self.level, aux)
        finally:
            self.level.close()

    def value(self):
        return self.result_structure.unflatten(self._tied)


def vjp(function, *arguments, has_aux=False):
    """The result of function(*arguments), and its pullback: a function from the cotangent of the result to the tuple of
    the arguments' cotangents.

    With has_aux the function returns (result, aux), and vjp returns (result, pull, aux). A cotangent of None is zero;
    integers and booleans have the cotangent None.

    >>> value, pull = plait.vjp(lambda x, y: x * y, plait.tensor(2.0), plait.tensor(3.0))
    >>> pull(plait.tensor(1.0))
    (3. : f32[], 2. : f32[])
    """
    followed = _Followed("vjp", function, arguments, has_aux)
    result_structure = followed.result_structure

    def pull(cotangent):
        like = result_structure.unflatten([_core.zeros(())] * len(result_structure))
        cotangents = _tangents(like, cotangent, "vjp: the cotangents", f"the result, {result_structure}")
        return followed.structure.unflatten(followed.spread(followed.level.pull(cotangents, True)))

    return (followed.value(), pull, followed.aux) if has_aux else (followed.value(), pull)


def _with_tensors(arguments):
    """Numbers that are arguments themselves become tensors."""
    return tuple(asarray(each) if isinstance(each, (float, complex)) else each for each in arguments)


def _argument_of_each(arguments):
    """For each leaf the index of its argument: tensors are tied within an argument, not between arguments."""
    return [number for number, each in enumerate(arguments) for _ in flatten(each)[0]]


def _with_aux(name, result):
    return pair_of(result, f"{name}: with has_aux, expected a function that returns (result, aux)")


def pair_of(result, expected):
    """The two results of a user's function: a tensor, whose rows could be mistaken for them, is refused."""
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        what = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
        raise errors.TypeError(f"{expected}, not {what}")
    return result


def _passed(level, tree):
    leaves, structure = _tensors(tree)
    return structure.unflatten(_tied(leaves, [level.passed(leaf) for leaf in leaves]))


def jvp(function, primals, tangents, has_aux=False):
    """The result of function(*primals) and its tangent. A tangent of None is zero; so are those of buffers and frozen
    weights of Modules, whatever is given.

    >>> plait.jvp(plait.square, (plait.tensor(3.0),), (plait.tensor(1.0),))
    (9. : f32[], 6. : f32[])
    """
    level = _core._Pushforward()
    try:
        if not isinstance(primals, (list, tuple)) or not isinstance(tangents, (list, tuple)):
            raise errors.TypeError("jvp: primals and tangents must be tuples, with one entry per argument\n  hint: write jvp(f, (x,), (tangent,))")
        primals, tangents = _with_floats(tuple(primals)), tuple(tangents)
        leaves, structure = _tensors(primals)
        for number, (primal, tangent) in enumerate(zip(primals, tangents) if structure._objects() else ()):
            if tangent is not None:
                expect_tree(f"jvp: argument {number}", primal)
        buffers = _buffers(structure)
        given = [None if is_buffer else tangent for tangent, is_buffer in zip(_tangents(primals, tangents), buffers)]
        once = Distinct(list(zip(leaves, given, structure.paths, buffers)), [(id(leaf), id(tangent)) for leaf, tangent in zip(leaves, given)])
        begun = [leaf._share() if is_buffer else level.begin(leaf, tangent, path) for leaf, tangent, path, is_buffer in once.values]
        handed = Handed(structure, once.spread(begun))
        result = function(*handed.tree)
        handed.expect_unchanged("jvp", result)
        result, aux = _with_aux("jvp", result) if has_aux else (result, None)
        results, result_structure = _results(result)
        pairs = _tied(results, [level.finish(each) for each in results])
        aux_leaves, aux_structure = _tensors(aux)
        aux = aux_structure.unflatten(_tied(aux_leaves, [level.finish(each)[0] for each in aux_leaves]))
    finally:
        level.close()
    value, tangent = (result_structure.unflatten(each) for each in (zip(*pairs) if pairs else ((), ())))
    return (value, tangent, aux) if has_aux else (value, tangent)


def linearize(function, *primals, has_aux=False):
    """The result, and the linearisation there: a function from tangents to the result's tangent, which does not run the
    function again. Tangents of buffers and frozen weights of Modules count as zero.

    With has_aux the function returns (result, aux), and linearize returns (result, linear, aux).

    >>> value, along = plait.linearize(plait.square, plait.tensor(3.0))
    >>> value, along(plait.tensor(1.0))
    (9. : f32[], 6. : f32[])
    """
    primals = _with_floats(tuple(primals))
    followed = _Followed("linearize", function, primals, has_aux, shares=False)
    level, result_structure = followed.level, followed.result_structure

    def linear(*tangents):
        given = zip(_tangents(primals, tangents), _buffers(followed.structure))
        return result_structure.unflatten(level.push([tangent for tangent, is_buffer in given if not is_buffer]))

    return (followed.value(), linear, followed.aux) if has_aux else (followed.value(), linear)


def linear_transpose(function, *arguments):
    """The transpose of a linear function: from the cotangent of its result to the tuple of its arguments' cotangents.
    Only the types of the arguments matter. ValueError if the function is not linear; in a trace this is not detected.

    >>> plait.linear_transpose(lambda x: plait.stack([x, 2 * x]), plait.tensor(0.0))(plait.tensor([1.0, 1.0]))
    (3. : f32[],)
    """
    leaves, structure = _tensors(_with_tensors(arguments))
    zeros = structure.unflatten([_core.zeros_like(leaf) for leaf in leaves])
    _, pull = vjp(function, *zeros)
    if not _core._is_tracing():
        place = structure.unflatten([_core._numbers_like(leaf) for leaf in leaves])
        values, derivatives = _results(function(*place))[0], _tensors(linearize(function, *zeros)[1](*place))[0]
        _core._check_linear(values, derivatives)
    return pull


def _tangents(primals, tangents, given="jvp: the tangents", wanted=""):
    """For each leaf of the primals its tangent; None may represent a whole subtree."""
    if tangents is None:
        return [None for _ in flatten(primals)[0]]
    node, others = _core._children(primals), _core._children(tangents)
    if node is None and others is None:
        return [asarray(tangents)] if flatten(primals)[0] else []
    if node is None or others is None or [name for name, _ in node] != [name for name, _ in others]:
        raise errors.ValueError(f"{given}, {tangents!r}, differ in structure from {wanted or f'the primals, {primals!r}'}")
    return [leaf for (_, a), (_, b) in zip(node, others) for leaf in _tangents(a, b, given, wanted)]


def value_and_grad(function, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    """A function that returns (value, gradient): with respect to one argument, or a tuple for several.

    With has_aux the function returns (value, aux), and this one ((value, aux), gradient).

    >>> plait.value_and_grad(lambda x, y: x * y, argnums=(0, 1))(plait.tensor(2.0), plait.tensor(3.0))
    (6. : f32[], (3. : f32[], 2. : f32[]))
    """
    @functools.wraps(function)
    def with_gradient(*arguments, **keywords):
        places, several = _chosen("grad", argnums, len(arguments))
        level = _core._Pullback()
        try:
            followed, begun = list(arguments), []
            for place in places:
                leaves, structure = _tensors(_with_floats(arguments[place]))
                _expect_differentiable(arguments[place], structure, place, allow_int)
                buffers = _buffers(structure)
                expect_frozen_at_all_places("grad", leaves, structure, buffers)
                for leaf, path, is_buffer in zip(leaves, structure.paths, buffers):
                    if not is_buffer:
                        _core._check_argument(leaf, path, place, holomorphic, allow_int)
                begun.append((structure, _Begun(level, leaves, structure, [place] * len(leaves), buffers)))
                followed[place] = begun[-1][1].tree
            result = function(*followed, **keywords)
            for _, each in begun:
                each.expect_unchanged("grad", result)
            value, aux = _with_aux("grad", result) if has_aux else (result, None)
            _warn_of_unconnected(value, [arguments[place] for place in places])
            value = _number(value)
            _core._check_result(value, holomorphic)
            value = level.finish(value)
            aux = _passed(level, aux)
        finally:
            level.close()
        gradients = level.pull([_core.ones_like(value)], False)
        mark_gradients(gradients, [buffer for _, each in begun for buffer in each.replaced()])
        gradients = iter(gradients)
        trees = tuple(structure.unflatten(each.spread(gradients)) for structure, each in begun)
        return (value, aux) if has_aux else value, trees if several else trees[0]

    return with_gradient


def _warn_of_unconnected(value, arguments):
    """Warns of a number, and of a result that does not depend on a model. Second derivatives of tensors are often zero."""
    if isinstance(value, _core.Tensor):
        if _core._is_followed([value]) or not holds_module(arguments):
            return
        what = "the result does not depend on the model"
        hint = "detach() and no_grad() cut derivatives, and a model that the function captures, instead of receiving it, is constant"
    elif type(value) in (int, float, complex):
        what, hint = f"the function returns the number {value}", "return a tensor: float() and item() cut derivatives"
    else:
        return
    warn(f"grad: {what}, so the gradient is 0\n  hint: {hint}", errors.UnconnectedWarning)


def _number(value):
    """Checks the result of a function under `grad`: one number, as far as a tree shows."""
    if isinstance(value, _core.Tensor) or not (value is None or isinstance(value, str) or is_tree(value)):
        return asarray(value)
    what = f"grad: the function returns {'None' if value is None else f'a {type(value).__name__}'}, expected one real number"
    if value is None:
        raise errors.TypeError.with_hint(what, "check that it ends in `return`")
    hint = "if it returns (loss, something else), pass has_aux=True" if isinstance(value, (tuple, list)) else "reduce it, by sum or mean"
    raise errors.TypeError.with_hint(what, hint)


def _chosen(name, argnums, count):
    """The indices of the chosen arguments, and whether they were given as a list."""
    several = isinstance(argnums, (tuple, list))
    places = [operator.index(number) for number in argnums] if several else [operator.index(argnums)]
    for number in places:
        if not -count <= number < count:
            raise errors.ValueError(f"{name}: argument {number} is out of range for a call with {count}")
    return [number % count for number in places], several


def _of_chosen(function, places, arguments, keywords):
    """The function of the chosen arguments, with the others fixed."""
    def of_chosen(*given):
        every = list(arguments)
        for place, tree in zip(places, given):
            every[place] = tree
        return function(*every, **keywords)

    return of_chosen


def _expect_differentiable(argument, structure, place, allow_int):
    what = f"grad: argument {place}"
    expect_tree(what, argument, structure)
    if len(structure) or allow_int or _core._children(argument) is not None:
        return
    hint = f"write {argument}.0" if type(argument) is int else f"write class {type(argument).__name__}(plait.Module) if it is a model"
    raise errors.TypeError(f"{what} is {argument!r}, of class {type(argument).__name__}, expected a tensor, a float or a tree of tensors\n"
                           f"  hint: {hint}")


def grad(function, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
    """A function that returns the gradient of `function`, whose result is one real number; with has_aux (gradient,
    aux).

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
    """The gradient of a result with respect to a tensor that it depends on, or a list for several (the tape style).

    >>> x = plait.tensor(3.0).requires_grad()
    >>> plait.gradient(x * x, x)
    6. : f32[]
    """
    several = isinstance(inputs, (list, tuple))
    given = _core._gradient(result, list(inputs) if several else [inputs], cotangent, create_graph,
                            retain_graph, allow_unused, list(stop_at))
    return given if several else given[0]


class Tape:
    """Records operations on the tensors that it watches, for reverse mode. `with Tape() as tape:`; tapes nest.

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
        """The same tensor, as one with respect to which this tape can compute gradients."""
        return self._tape.watch(asarray(tensor))

    def gradient(self, result, inputs, cotangent=None):
        """The gradient of a result with respect to a tensor, or a list for several."""
        several = isinstance(inputs, (list, tuple))
        given = self._tape.gradient(result, list(inputs) if several else [inputs], cotangent)
        return given if several else given[0]


class no_grad(Scope):
    """`with no_grad():`, or as a decorator: operations are not tracked by derivatives that were begun before.

    >>> x = plait.tensor(3.0).requires_grad()
    >>> with plait.no_grad():
    ...     y = x * x
    >>> (x + y).backward()
    >>> x.grad
    1. : f32[]
    """

    _ends_in_any_order = True

    def __init__(self):
        super().__init__(_core._no_grad)
