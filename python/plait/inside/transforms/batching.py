"""vmap: functions of one sample as functions of many."""

import functools

from plait import _core, errors
from plait.inside.transforms.applied import Applied, How, is_tree
from plait.inside.transforms.derivatives import _tensors, _with_numbers, _with_tensors
from plait.inside.transforms.recording import Recording, named
from plait.inside.trees.given import Handed, expect_no_leaks
from plait.inside.trees.sharing import distinct_pairs
from plait.tree import flatten


def _axes_of(what, axes, tree):
    """The axis of each leaf of the tree: `axes` is an integer or None, or a tree of them that is a prefix of the tree."""
    if axes is None or isinstance(axes, int):
        return [axes for _ in flatten(tree)[0]]
    node, others = _core._children(tree), _core._children(axes)
    if node is None or others is None or [name for name, _ in node] != [name for name, _ in others]:
        raise errors.ValueError(f"vmap: {what}={axes!r} differs in structure from {flatten(tree)[1]}")
    return [axis for (_, child), (_, below) in zip(node, others) for axis in _axes_of(what, below, child)]


def vmap(function, in_axes=0, out_axes=0, size=None, axis_name=None):
    """A function of one sample as a function of many, which are along an axis and are computed together.

    The axes are integers, None for arguments that are the same for all samples, or trees of both, as the arguments (a tuple) and
    the result are. `size` is the number of samples, needed if no argument has an axis. The function is recorded once,
    for one sample: its tensors have no values then. Along a named axis it may combine the values of all
    samples: all_reduce_sum(x, "batch"), axis_index("batch") and so on. Keyword arguments are the same for all
    samples, and so is a Module that is passed as the function: vmap of it is a tree, of the Module.

    >>> plait.vmap(plait.dot, in_axes=(0, None))(plait.tensor([[1.0, 2.0], [3.0, 4.0]]), plait.tensor([1.0, 1.0]))
    [3. 7.] : f32[2]
    """
    options = {"in_axes": tuple(in_axes) if isinstance(in_axes, list) else in_axes, "out_axes": out_axes, "size": size, "axis_name": axis_name}
    if is_tree(function):
        return Applied(function, How("vmap", _vmap_of_tree, options))

    @functools.wraps(function)
    def of_many(*arguments, **keywords):
        return _vmap(function, arguments, keywords, **options)

    return of_many


def _vmap_of_tree(tree, arguments, keywords, in_axes, **options):
    """The tree is the same for all samples."""
    axes = (None, *(in_axes if isinstance(in_axes, tuple) else [in_axes] * len(arguments)))
    return _vmap(lambda tree, *arguments, **keywords: tree(*arguments, **keywords), (tree, *arguments), keywords, axes, **options, of_tree=tree)


def _vmap(function, arguments, keywords, in_axes, out_axes, size, axis_name, of_tree=None):
    """With `of_tree`, the function calls it; it is the first argument, which is not the user's."""
    arguments = _with_tensors(arguments)
    _expect_no_axes(keywords)
    leaves, structure = _tensors(arguments)
    axes = _axes_of("in_axes", in_axes, arguments)
    _expect_axes(leaves, axes, structure.paths, size, len(arguments), own=int(of_tree is not None))
    once, structures = distinct_pairs(leaves, axes), []

    def of_list(given):
        handed = Handed(structure, once.spread(given))
        result = _with_numbers(function(*handed.tree, **keywords))
        handed.expect_unchanged("vmap", result)
        expect_no_leaks("vmap", result)
        results, found = _tensors(result)
        once_found = distinct_pairs(results, _axes_of("out_axes", out_axes, result))
        results = once_found.take()
        structures.append((found, once_found, [axis for _, axis in results]))
        return [leaf for leaf, _ in results]

    with Recording("vmap", [function if of_tree is None else of_tree], named(arguments, keywords, of_tree)):
        results = _core._vmap(of_list, [leaf for leaf, _ in once.values], [axis for _, axis in once.values],
                              lambda: structures[0][2], size, axis_name)
    found, once_found, _ = structures[0]
    return found.unflatten(once_found.spread(results))


def _expect_no_axes(keywords):
    """Keyword arguments are the same for all samples. JAX maps them along the first axis, PyTorch does not."""
    for name, value in keywords.items():
        if any(len(leaf.shape) for leaf in flatten(value)[0]):
            raise errors.TypeError.with_hint(
                f"vmap: {name} is a keyword argument with axes: JAX maps it along the first one, PyTorch passes all of it "
                "to each sample", "pass it by position, with its axis in in_axes: in_axes=(0, None) passes all of the second to each sample")


def _expect_axes(leaves, axes, paths, size, count, own):
    """The number of samples is the same for all leaves; sizes that are recorded are compared later."""
    samples, first, tree = size if type(size) is int else None, "the given size", None  # an argument of many leaves
    for leaf, axis, path in zip(leaves, axes, paths):
        if axis is None:
            continue
        place, _, rest = path.partition(".")
        who = f"argument {int(place) - own}{rest and f', {rest}'}"
        if not -leaf.ndim <= axis < leaf.ndim:
            raise errors.IndexError.with_hint(f"vmap: axis {axis} is out of range for {who}, a {_form(leaf)}",
                                              f"in_axes={_with_none(int(place), count, own)} passes all of it to each sample")
        here = leaf.shape[axis]
        if type(here) is not int:
            continue
        if samples is None:
            samples, first, tree = here, who, int(place) if rest else None
        elif here != samples:
            whole = int(place) if tree is None else tree
            raise errors.ShapeError.with_hint(
                f"vmap: {first} has {samples} samples, but {who}, {_form(leaf)}, has {here}",
                f"in_axes={_with_none(whole, count, own)} passes all of argument {whole - own} to each sample")


def _form(leaf):
    return f"{leaf.dtype.name}[{', '.join(map(str, leaf.shape))}]"


def _with_none(place, count, own):
    return tuple(None if i == place else 0 for i in range(own, count))
