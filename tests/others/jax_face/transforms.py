"""JAX's transforms, implemented by Plait's."""

import functools
import inspect

import plait
from face.values import faced, not_here, tensor_of

from . import trees
from .trees import Forms, spread, tensors, with_face


def named(function, wrapper):
    try:
        functools.update_wrapper(wrapper, function)
    except AttributeError:
        pass
    return wrapper


class Jitted:
    """The result of jit: a jitted function for each structure of the arguments and values of the static ones."""

    def __init__(self, function, static_argnums, static_argnames):
        named(function, self)
        self._function, self._made = function, {}
        self._numbers, self._names = as_tuple(static_argnums), as_tuple(static_argnames)
        try:
            parameters = list(inspect.signature(function).parameters)
            self._names += tuple(parameters[i] for i in self._numbers if i < len(parameters))
            self._numbers += tuple(i for i, name in enumerate(parameters) if name in self._names)
        except (TypeError, ValueError):
            pass

    def __call__(self, *arguments, **given):
        numbers = {i % len(arguments) for i in self._numbers if -len(arguments) <= i < len(arguments)}
        static = {i: each for i, each in enumerate(arguments) if i in numbers}
        static |= {name: each for name, each in given.items() if name in self._names}
        free = [each for i, each in enumerate(arguments) if i not in numbers]
        leaves, form = tensors((free, {name: each for name, each in given.items() if name not in static}))
        key = (form, tuple(sorted(static.items(), key=str)), len(arguments))
        if key not in self._made:
            self._made[key] = plait.jit(self._of_list(form, static, len(arguments)))
        result, found = self._made[key](leaves)
        return with_face(found, result)

    def _of_list(self, form, static, count):
        function = self._function

        def of_list(leaves):
            free, given = with_face(form, leaves)
            free = iter(free)
            arguments = [static[i] if i in static else next(free) for i in range(count)]
            given = given | {name: each for name, each in static.items() if isinstance(name, str)}
            return tensors(function(*arguments, **given))

        return of_list

    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self, owner)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        not_here(f"{name} of a jitted function")


def as_tuple(value):
    return () if value is None else (value,) if isinstance(value, (int, str)) else tuple(value)


def jit(function=None, *, static_argnums=None, static_argnames=None, **options):
    for name in options:
        if name not in ("donate_argnums", "donate_argnames", "inline", "keep_unused"):
            not_here(f"{name}= of jit")
    if function is None:
        return lambda given: jit(given, static_argnums=static_argnums, static_argnames=static_argnames)
    return Jitted(function, static_argnums, static_argnames)


def with_places(function, arguments, places, named_arguments):
    """The function of the arguments at these positions only."""
    def of(*chosen):
        given = list(arguments)
        for place, each in zip(places, chosen):
            given[place] = each
        return function(*given, **named_arguments)

    return of


def value_and_grad(function, argnums=0, has_aux=False, holomorphic=False, allow_int=False, **options):
    if options:
        not_here("options of grad")
    several = isinstance(argnums, (tuple, list))

    def of(*arguments, **given):
        wanted = [number % len(arguments) if -len(arguments) <= number < len(arguments) else number
                  for number in (argnums if several else [argnums])]
        if any(number >= len(arguments) for number in wanted):
            raise ValueError("argnums beyond the arguments")
        leaves, form = tensors([arguments[i] for i in wanted])
        aux = []

        def number(given_leaves):
            result = with_places(function, arguments, wanted, given)(*with_face(form, given_leaves))
            if not has_aux:
                return tensor_of(result)
            result, beside = result
            beside, aux_form = tensors(beside)
            aux.append(aux_form)
            return tensor_of(result), beside

        found, slopes = plait.value_and_grad(number, has_aux=has_aux, holomorphic=holomorphic, allow_int=allow_int)(leaves)
        gradient = with_face(form, slopes)
        gradient = tuple(gradient) if several else gradient[0]
        if has_aux:
            return (faced(found[0]), with_face(aux[0], found[1])), gradient
        return faced(found), gradient

    return named(function, of)


def grad(function, argnums=0, has_aux=False, **options):
    both = value_and_grad(function, argnums, has_aux, **options)

    def of(*arguments, **given):
        value, gradient = both(*arguments, **given)
        return (gradient, value[1]) if has_aux else gradient

    return named(function, of)


def same_form(what, form, other):
    if form != other:
        raise TypeError(f"{what}: the trees {form} and {other} differ")


def tangent(value, like):
    """JAX's zero tangents of integers have a dtype of their own."""
    if getattr(value, "dtype", None) is not None and value.dtype.name == "void":
        return plait.zeros_like(like)
    value = tensor_of(value)
    if tuple(value.shape) != tuple(like.shape):
        raise ValueError("a tangent or cotangent of another shape")
    return plait.astype(value, like.dtype) if like.dtype.kind in ("floating", "complex") else plait.zeros_like(like)


def tangents_of(tree, form, like, what):
    leaves, own = trees.flatten(tree)
    same_form(what, form, own)
    return [tangent(*each) for each in zip(leaves, like)]


def jvp(function, primals, tangents, has_aux=False):
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp: primals and tangents are tuples or lists")
    leaves, form = trees.tensors(list(primals))
    forms, aux = Forms(), Forms()

    def of_list(given):
        result = function(*with_face(form, given))
        result, beside = result if has_aux else (result, None)
        result, found = trees.tensors(result)
        forms.note(found)
        beside, found = trees.tensors(beside)
        aux.note(found)
        return (result, beside) if has_aux else result

    along = tangents_of(list(tangents), form, leaves, "jvp")
    along = [each if each.dtype.kind in ("floating", "complex") else None for each in along]
    found = plait.jvp(of_list, (leaves,), (along,), has_aux=has_aux)
    out = (forms.tree(found[0]), forms.tree(found[1]))
    return (*out, aux.tree(found[2])) if has_aux else out


class Linear:
    """The results of vjp and linearize; JAX's have programs and saved values as attributes."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *arguments):
        return self._function(*arguments)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        not_here(f"{name} of what vjp and linearize give")


def vjp(function, *primals, has_aux=False, **options):
    if options:
        not_here("options of vjp")
    leaves, form = tensors(list(primals))
    forms, aux = Forms(), Forms()

    def of_list(given):
        result = function(*with_face(form, given))
        result, beside = result if has_aux else (result, None)
        result, found = tensors(result)
        forms.note(found)
        beside, found = tensors(beside)
        aux.note(found)
        return (result, beside) if has_aux else result

    found = plait.vjp(of_list, leaves, has_aux=has_aux)

    def pull(cotangent):
        given = tangents_of(cotangent, forms.form, found[0], "vjp")
        (slopes,) = found[1]([plait.Tensor() if each.dtype.kind in ("integer", "boolean") else each for each in given])
        return tuple(with_face(form, slopes))

    value, pull = forms.tree(found[0]), Linear(pull)
    return (value, pull, aux.tree(found[2])) if has_aux else (value, pull)


def linearize(function, *primals, has_aux=False):
    if has_aux:
        not_here("has_aux= of linearize")
    leaves, form = tensors(list(primals))
    forms = Forms()
    value, push = plait.linearize(forms.of(function, form), leaves)

    def along(*given):
        return forms.tree(push(tangents_of(list(given), form, leaves, "linearize")))

    return forms.tree(value), Linear(along)


def linear_transpose(function, *primals, reduce_axes=()):
    shapes, form = trees.flatten(list(primals))
    leaves = [plait.zeros(tuple(each.shape), plait.DType(each.dtype.name)) if hasattr(each, "dtype") else tensor_of(each)
              for each in shapes]
    forms = Forms()
    pull = plait.linear_transpose(forms.of(function, form), leaves)

    def transposed(cotangent):
        given, _ = tensors(cotangent)
        return tuple(with_face(form, pull(given)[0]))

    return transposed


def jacobian(way):
    def of(function, argnums=0, has_aux=False, holomorphic=False, allow_int=False):
        if has_aux or allow_int:
            not_here("options of jacobians")

        def at(*arguments, **given):
            places = list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
            leaves, form = tensors([arguments[i] for i in places])
            forms = Forms()

            def of_one(place):
                def alone(x):
                    now = [x if i == place else leaf for i, leaf in enumerate(leaves)]
                    result, found = tensors(with_places(function, arguments, places, given)(*with_face(form, now)))
                    forms.note(found)
                    return result
                return alone

            rows = []
            count = len(of_one(0)(leaves[0]))
            for k in range(count):
                columns = [way(lambda x, _i=i, _k=k: of_one(_i)(x)[_k], holomorphic=holomorphic)(leaf) for i, leaf in enumerate(leaves)]
                tree = with_face(form, columns)
                rows.append(tuple(tree) if isinstance(argnums, (tuple, list)) else tree[0])
            return forms.form.unflatten(rows)

        return named(function, at)

    of.__name__ = way.__name__
    return of


jacfwd, jacrev = jacobian(plait.jacfwd), jacobian(plait.jacrev)


def hessian(function, argnums=0, has_aux=False, holomorphic=False):
    return jacfwd(jacrev(function, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def vmap(function, in_axes=0, out_axes=0, axis_name=None, axis_size=None, **options):
    if options:
        not_here("options of vmap")

    def of(*arguments, **given):
        leaves, form = tensors((list(arguments), given))
        axes = spread(list(in_axes) if isinstance(in_axes, (tuple, list)) else in_axes, trees.structure(list(arguments)))
        axes += [0] * (len(leaves) - len(axes))
        forms = Forms()

        def of_list(given_leaves):
            chosen, by_name = with_face(form, given_leaves)
            result, found = tensors(function(*chosen, **by_name))
            forms.note(found)
            return result

        results = plait.vmap(of_list, in_axes=(axes,), size=axis_size, axis_name=axis_name)(leaves)
        outs = spread(out_axes, forms.form)
        return forms.tree([x[0] if axis is None else plait.moveaxis(x, 0, axis) for x, axis in zip(results, outs)])

    return named(function, of)


def checkpoint(function=None, *, prevent_cse=True, policy=None, static_argnums=(), concrete=False):
    if function is None:
        return lambda given: checkpoint(given, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums)
    numbers = as_tuple(static_argnums)

    def of(*arguments, **given):
        places = {i % len(arguments) for i in numbers} if arguments else set()
        free, form = tensors(([each for i, each in enumerate(arguments) if i not in places], given))
        forms = Forms()

        def of_list(leaves):
            chosen, by_name = with_face(form, leaves)
            chosen = iter(chosen)
            all_of_them = [arguments[i] if i in places else next(chosen) for i in range(len(arguments))]
            result, found = tensors(function(*all_of_them, **by_name))
            forms.note(found)
            return result

        return forms.tree(plait.remat(of_list, **policy_of(policy))(free))

    return named(function, of)


def policy_of(policy):
    if policy is None:
        return {}
    if not isinstance(policy, dict):
        not_here("policy of remat that is a function")
    return policy


class Policies:
    """jax.checkpoint_policies."""

    nothing_saveable = {"policy": "nothing"}
    everything_saveable = {"policy": "everything"}
    dots_saveable = checkpoint_dots = {"policy": "dots"}

    @staticmethod
    def save_only_these_names(*names):
        return {"policy": "names", "names": names}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **options: not_here(f"policy {name} of remat")


class Custom:
    """The common base of custom_jvp and custom_vjp."""

    def __init__(self, function, nondiff_argnums=(), nondiff_argnames=()):
        named(function, self)
        self._function, self._static = function, tuple(sorted(as_tuple(nondiff_argnums)))
        if nondiff_argnames:
            parameters = list(inspect.signature(function).parameters)
            self._static = tuple(sorted({*self._static, *(parameters.index(name) for name in as_tuple(nondiff_argnames))}))

    def _bound(self, arguments, given):
        """All arguments by position, with defaults."""
        if not given and len(arguments) >= 1:
            try:
                parameters = inspect.signature(self._function).parameters.values()
                if all(each.default is inspect.Parameter.empty for each in parameters):
                    return arguments
            except (TypeError, ValueError):
                return arguments
        bound = inspect.signature(self._function).bind(*arguments, **given)
        bound.apply_defaults()
        if bound.kwargs:
            not_here("arguments by name alone of a custom rule")
        return bound.args

    def __call__(self, *arguments, **given):
        arguments = self._bound(arguments, given)
        static = [arguments[i] for i in self._static]
        free, form = tensors([each for i, each in enumerate(arguments) if i not in self._static])
        forms = Forms()

        def all_of(leaves):
            rest, held = iter(with_face(form, leaves)), iter(static)
            return [next(held) if i in self._static else next(rest) for i in range(len(arguments))]

        def of_list(leaves):
            result, found = tensors(self._function(*all_of(leaves)))
            forms.note(found)
            return result

        return forms.tree(self._with_rule(of_list, static, all_of, form, forms)(free))

    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self, owner)


class custom_jvp(Custom):
    def defjvp(self, rule, symbolic_zeros=False):
        if symbolic_zeros:
            not_here("symbolic zeros in custom rules")
        self._rule = rule
        return rule

    def defjvps(self, *rules):
        def rule(primals, tangents):
            result = self(*primals)
            parts = [each(t, result, *primals) for each, t in zip(rules, tangents) if each is not None]
            return result, functools.reduce(lambda a, b: trees.map(lambda x, y: x + y, a, b), parts)

        self._rule = rule

    def _with_rule(self, of_list, static, all_of, form, forms):
        if not hasattr(self, "_rule"):
            raise AttributeError("no JVP defined for custom_jvp function")

        def rule(primals, tangents):
            result = self._rule(*static, tuple(with_face(form, primals[0])), tuple(with_face(form, tangents[0])))
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError("a rule gives a pair")
            value, found = tensors(result[0])
            forms.note(found)
            return value, tangents_of(result[1], found, value, "custom_jvp")

        return plait.custom_jvp(of_list).defjvp(rule)


class custom_vjp(Custom):
    def defvjp(self, forward, backward, symbolic_zeros=False, optimize_remat=False):
        if symbolic_zeros:
            not_here("symbolic zeros in custom rules")
        self._forward, self._backward = forward, backward

    def _with_rule(self, of_list, static, all_of, form, forms):
        if not hasattr(self, "_forward"):
            raise AttributeError("No VJP defined for custom_vjp function")
        kept_forms = []

        def forward(leaves):
            value, kept = self._forward(*all_of(leaves))
            value, found = tensors(value)
            forms.note(found)
            kept, kept_form = tensors(kept)
            kept_forms.append(kept_form)
            return value, (kept, leaves)

        def backward(kept, cotangents):
            kept, leaves = kept
            found = self._backward(*static, with_face(kept_forms[-1], kept), forms.tree(cotangents))
            if not isinstance(found, (tuple, list)):
                raise TypeError("the backward function gives a tuple")
            given = spread_none(list(found), form, leaves)
            return (given,)

        return plait.custom_vjp(of_list).defvjp(forward, backward)


def spread_none(found, form, leaves):
    """The cotangents of the leaves; None represents zeros of a whole subtree."""
    def look(tree, form):
        if tree is None and form.node is not None and form.node[0] is not type(None) or tree is None and form.node is None:
            return [None] * form.num_leaves
        if form.node is None:
            return [tree]
        node = trees.children_of(tree)
        if node is None or len(node[2]) != len(form.node[2]):
            raise TypeError("Custom VJP bwd rule must produce an output with the same structure as the arguments")
        return [leaf for below, child in zip(form.node[2], node[2]) for leaf in look(child, below)]

    return [plait.zeros_like(like) if each is None else tangent(each, like) for each, like in zip(look(found, form), leaves)]


