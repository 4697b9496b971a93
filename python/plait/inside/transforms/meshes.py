"""Meshes, specs of how they divide arrays, and shard_map: one function on all places of a mesh."""

import functools

from plait import _core, errors
from plait.inside.help.names import in_words
from plait.inside.transforms.applied import Applied, How, is_tree
from plait.inside.transforms.derivatives import _tensors, _with_numbers, _with_tensors
from plait.inside.transforms.recording import Recording, named
from plait.inside.trees.given import Handed, expect_no_leaks
from plait.inside.trees.sharing import distinct_pairs
from plait.tree import flatten


class P(tuple):
    """How an array is divided along its dimensions: for each the name of an axis of a mesh, a tuple of names, the first of which makes the
    largest parts, or None. It is the same along all other axes. Dimensions at the end may be left out.

    >>> plait.P("data", None, ("rows", "columns"))
    P('data', None, ('rows', 'columns'))
    """

    __slots__ = ()

    def __new__(cls, *dimensions):
        for each in dimensions:
            names = each if isinstance(each, tuple) else () if each is None else (each,)
            if not all(isinstance(name, str) for name in names):
                raise errors.TypeError(f"P: expected a name, a tuple of names or None for each dimension, not {in_words(each)}")
        return super().__new__(cls, dimensions)

    def __repr__(self):
        return f"P({', '.join(map(repr, self))})"

    def _names(self):
        return tuple(each if isinstance(each, tuple) else () if each is None else (each,) for each in self)


PartitionSpec = P


def sizes_of(function, axes):
    """(name, size) of each axis that is given to a function as a dict."""
    if not isinstance(axes, dict):
        raise errors.TypeError.with_hint(f"{function}: axes is {in_words(axes)}, expected a dict of sizes by name", f'{function}({{"data": 4}})')
    for name, size in axes.items():
        if not isinstance(name, str) or type(size) is not int:
            raise errors.TypeError(f"{function}: axes: expected a name and a size, not {in_words(name)} and {in_words(size)}")
    return list(axes.items())


class Mesh:
    """Named axes with their sizes. Those of a Mesh are lanes, which this process computes together, as vmap does;
    plait.distributed.mesh makes one of the ranks of a group.

    >>> plait.Mesh({"data": 4, "model": 2})
    Mesh(data=4, model=2)
    """

    def __init__(self, axes):
        self._axes = [(name, size, None) for name, size in sizes_of("Mesh", axes)]

    @classmethod
    def _of_ranks(cls, axes):
        mesh = cls({})
        mesh._axes = axes
        return mesh

    @property
    def shape(self):
        """The sizes by name."""
        return {name: size for name, size, _ in self._axes}

    @property
    def axis_names(self):
        """The names in order."""
        return tuple(name for name, *_ in self._axes)

    def __repr__(self):
        return f"Mesh({', '.join(f'{name}={size}' for name, size in self.shape.items())})"


def _specs_of(what, specs, tree):
    """The spec of each leaf of the tree: a P, or a tree of them that is a prefix of the tree."""
    if isinstance(specs, P):
        return [specs._names() for _ in flatten(tree)[0]]
    node, others = _core._children(tree), _core._children(specs)
    if node is None or others is None or [name for name, _ in node] != [name for name, _ in others]:
        raise errors.ValueError.with_hint(f"shard_map: {what}={specs!r} differs in structure from {flatten(tree)[1]}",
                                          'P() says that a value is the same at all places, P("data") that its first dimension is divided')
    return [spec for (_, child), (_, below) in zip(node, others) for spec in _specs_of(what, below, child)]


def shard_map(function=None, /, *, mesh, in_specs, out_specs, check=True):
    """A function that runs at all places of a mesh, each with its own part of the arguments, which it may combine with those of others:
    all_reduce_sum(x, "data") and so on.

    The specs are P, or trees of them, as the arguments (a tuple) and the result are. Along axes of lanes arguments and results are the whole; along
    axes of ranks (plait.distributed.mesh) each rank passes its own part, and receives its own. A result whose spec says that it is the same
    along an axis must not differ, unless check=False, which takes that of the first lane, or of the own rank. Derivatives may be taken
    inside and around; the gradient by an argument that is the same at all places is the sum of theirs.

    >>> mesh = plait.Mesh({"data": 2})
    >>> centred = plait.shard_map(lambda x: x - plait.all_reduce_mean(x, "data"), mesh=mesh, in_specs=plait.P("data"), out_specs=plait.P("data"))
    >>> centred(plait.tensor([1.0, 2.0, 5.0, 6.0]))
    [-2. -2.  2.  2.] : f32[4]
    """
    if not isinstance(mesh, Mesh):
        raise errors.TypeError.with_hint(f"shard_map: mesh is {in_words(mesh)}", 'plait.Mesh({"data": 4}), or plait.distributed.mesh({"data": 4})')
    options = {"mesh": mesh, "in_specs": tuple(in_specs) if isinstance(in_specs, list) else in_specs, "out_specs": out_specs, "check": bool(check)}
    if function is None:
        return lambda given: shard_map(given, **options)
    if is_tree(function):
        return Applied(function, How("shard_map", _shard_map_of_tree, options))

    @functools.wraps(function)
    def at_all_places(*arguments, **keywords):
        return _shard_map(function, arguments, keywords, **options)

    return at_all_places


def _shard_map_of_tree(tree, arguments, keywords, in_specs, **options):
    """The tree is the same at all places."""
    specs = (P(), *(in_specs if not isinstance(in_specs, P) else [in_specs] * len(arguments)))
    return _shard_map(lambda tree, *arguments, **keywords: tree(*arguments, **keywords), (tree, *arguments), keywords, in_specs=specs, **options,
                      of_tree=tree)


def _shard_map(function, arguments, keywords, mesh, in_specs, out_specs, check, of_tree=None):
    """With `of_tree`, the function calls it; it is the first argument, which is not the user's."""
    arguments = _with_tensors(arguments)
    leaves, structure = _tensors(arguments)
    once, structures = distinct_pairs(leaves, _specs_of("in_specs", in_specs, arguments)), []

    def of_list(given):
        handed = Handed(structure, once.spread(given))
        result = _with_numbers(function(*handed.tree, **keywords))
        handed.expect_unchanged("shard_map", result)
        expect_no_leaks("shard_map", result)
        results, found = _tensors(result)
        structures.append((found, _specs_of("out_specs", out_specs, result)))
        return results

    with Recording("shard_map", [function if of_tree is None else of_tree], named(arguments, keywords, of_tree)):
        results = _core._shard_map(of_list, [leaf for leaf, _ in once.values], mesh._axes, [spec for _, spec in once.values],
                                   lambda: structures[0][1], check)
    return structures[0][0].unflatten(results)
