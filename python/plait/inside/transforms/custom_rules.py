"""Functions with custom derivatives: custom_vjp, custom_jvp."""

import functools
import inspect

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.transforms.changing_bodies import Bodies
from plait.inside.transforms.derivatives import _chosen, _tangents, _tensors, _with_tensors, pair_of
from plait.inside.trees.given import Copies, place_of_argument

_LEAF = _core.zeros((), device="cpu")  # represents a tensor where only the structure matters


class _Custom:
    """A function with a custom derivative with respect to its arguments, except those at `nondiff_argnums`."""

    def __init__(self, function, nondiff_argnums=()):
        functools.update_wrapper(self, function)
        self._function = function
        if not hasattr(self, "__name__"):  # a partial or a Module has no name
            self.__name__ = type(function).__name__
        self._fixed = (nondiff_argnums,) if isinstance(nondiff_argnums, int) else tuple(nondiff_argnums)
        defaults = getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)
        self._has_defaults = any(defaults)

    def __call__(self, *arguments, **keywords):
        if keywords or self._has_defaults:
            bound = inspect.signature(self._function).bind(*arguments, **keywords)
            bound.apply_defaults()
            arguments = bound.args
            if bound.kwargs:
                raise errors.TypeError(f"{self.__name__}: {', '.join(bound.kwargs)} must be passed by keyword, but a function with "
                                       "a custom rule takes positional arguments only")
        fixed = dict.fromkeys(_chosen("custom rule", self._fixed, len(arguments))[0])
        for i in fixed:
            fixed[i] = arguments[i]
        arguments = _with_tensors(each for i, each in enumerate(arguments) if i not in fixed)
        leaves, structure = _tensors(arguments)
        leaves = list(_core._vary_together(leaves))
        if _core._is_recorded(leaves):
            return self._ruled(leaves, structure, fixed, self._record)
        if not _core._is_followed(leaves):
            return self._copies(structure, fixed).call(self._function, leaves, lambda tree: _with_fixed(tree, fixed))
        return self._ruled(leaves, structure, fixed, self._follow)

    def _on_leaves(self, structure, fixed, structures):
        """The function on lists of leaves; notes the structure of its result."""
        copies = self._copies(structure, fixed)

        def of_list(leaves):
            results, found = _tensors(copies.call(self._function, leaves, lambda tree: _with_fixed(tree, fixed)))
            structures.append(found)
            return results

        return of_list

    def _copies(self, structure, fixed):
        count = len(structure.unflatten([_LEAF] * len(structure))) + len(fixed)
        numbers = [i for i in range(count) if i not in fixed]
        return Copies(f"{type(self).__name__} {self.__name__}", "a function with a custom rule", structure, place_of_argument(numbers))

    def _rule(self, name):
        rule = vars(self).get(name)
        if rule is None:
            raise errors.ValueError(f"{self.__name__} has no rule for its derivative yet: define {self.__name__}."
                                    f"{self._how_to_define_it}")
        return rule


def _with_fixed(arguments, fixed):
    """The arguments, with the nondifferentiated ones inserted at their positions."""
    if not fixed:
        return arguments
    others = iter(arguments)
    return tuple(fixed[i] if i in fixed else next(others) for i in range(len(arguments) + len(fixed)))


class custom_vjp(_Custom):
    """`@custom_vjp`, then `f.defvjp(forward, backward)`: forward(*args) returns (result, kept), and backward(kept,
    cotangent) the tuple of the arguments' cotangents, with None for an argument that has none. Also serves forward mode
    and every order.

    >>> @plait.custom_vjp
    ... def clipped(x):
    ...     return plait.clip(x, 0, 1)
    >>> _ = clipped.defvjp(lambda x: (plait.clip(x, 0, 1), ()), lambda kept, cotangent: (cotangent,))
    >>> plait.grad(clipped)(plait.tensor(5.0))
    1. : f32[]
    """

    _how_to_define_it = "defvjp(forward, backward)"
    _follow, _record = staticmethod(_core._follow_vjp), staticmethod(_core._record_vjp)

    def defvjp(self, forward, backward):
        self._forward, self._backward = forward, backward
        return self

    def _ruled(self, leaves, structure, fixed, run):
        run_forward, run_backward = self._rule("_forward"), self._rule("_backward")
        copies, plain, structures = self._copies(structure, fixed), [], []
        wrong = f"{self.__name__}: expected a forward function that returns (result, kept)"

        def forward(leaves):
            result, kept = copies.call(lambda *given: pair_of(run_forward(*given), wrong), leaves, lambda tree: _with_fixed(tree, fixed),
                                       lambda pair: pair[0])
            (results, of_result), (residuals, of_kept) = _tensors(result), _tensors(kept)
            structures[:] = of_result, of_kept
            return results, residuals

        def backward(residuals, cotangents):
            of_result, of_kept = structures
            found = run_backward(*fixed.values(), of_kept.unflatten(residuals), of_result.unflatten(cotangents))
            return _tangents(structure.unflatten([_LEAF] * len(structure)), found if isinstance(found, tuple) else (found,),
                             f"{self.__name__}: the cotangents that its backward function returns", f"its arguments, {structure}")

        results = Bodies(self.__name__, (self._function, run_forward, run_backward)).expect_steady(
            lambda: run(leaves, self._on_leaves(structure, fixed, plain), forward, backward))
        return plain[-1].unflatten(results) if plain else structures[0].unflatten(results)


class custom_jvp(_Custom):
    """`@custom_jvp`, then `f.defjvp(rule)`: rule(primals, tangents) returns (result, tangent), where the tangent is
    linear in the tangents. Also serves reverse mode and every order.

    >>> @plait.custom_jvp
    ... def clipped(x):
    ...     return plait.clip(x, 0, 1)
    >>> _ = clipped.defjvp(lambda primals, tangents: (plait.clip(*primals, 0, 1), tangents[0]))
    >>> plait.grad(clipped)(plait.tensor(5.0))
    1. : f32[]
    """

    _how_to_define_it = "defjvp(rule)"
    _follow, _record = staticmethod(_core._follow_jvp), staticmethod(_core._record_jvp)

    def defjvp(self, rule):
        self._along = rule
        return self

    def defjvps(self, *rules):
        """One rule per argument: rule(tangent, result, *primals) returns the contribution of this argument to the
        result's tangent; None instead of a rule if there is no contribution.

        >>> @plait.custom_jvp
        ... def f(x, y):
        ...     return plait.sin(x) * y
        >>> _ = f.defjvps(lambda dx, result, x, y: plait.cos(x) * dx * y, lambda dy, result, x, y: plait.sin(x) * dy)
        >>> plait.grad(f, argnums=(0, 1))(0.0, 2.0)
        (2. : f32[], 0. : f32[])
        """
        if self._fixed:
            raise errors.ValueError("defjvps: with nondiff_argnums there is one rule\n  hint: use defjvp")

        def rule(primals, tangents):
            result = self(*primals)
            terms = [each(tangent, result, *primals) for each, tangent in zip(rules, tangents) if each is not None]
            leaves = [_tensors(each)[0] for each in terms] or [[None for _ in _tensors(result)[0]]]
            totals = [functools.reduce(_core.add, column) for column in zip(*leaves)]
            return result, _tensors(result)[1].unflatten(totals)

        return self.defjvp(rule)

    def _ruled(self, leaves, structure, fixed, run):
        rule = self._rule("_along")
        copies, found = self._copies(structure, fixed), []
        wrong = f"{self.__name__}: expected a rule that returns (result, tangent)"

        def along(at, tangents):
            value, tangent = copies.call(lambda *primals: pair_of(rule(*fixed.values(), primals, structure.unflatten(tangents)), wrong), at,
                                         result_of=lambda pair: pair[0])
            if isinstance(value, (float, complex)):
                value = asarray(value)
            values, own = _tensors(value)
            found.append(own)
            return values, _tangents(value, tangent, f"{self.__name__}: the tangents that its rule returns")

        results = Bodies(self.__name__, (self._function, rule)).expect_steady(lambda: run(leaves, self._on_leaves(structure, fixed, found), along))
        return found[0].unflatten(results)
