"""Functions whose inner values are computed again for a backward pass."""

import functools

from plait import _core
from plait.inside.transforms.applied import Applied, How, is_tree
from plait.inside.transforms.derivatives import _tensors
from plait.inside.transforms.recording import Recording, named
from plait.inside.trees.given import Handed, expect_made
from plait.inside.trees.sharing import distinct


def remat(function=None, *, policy="nothing", names=()):
    """The function, whose inner values are computed again when a derivative needs them, instead of being kept. Of a
    Module it is a tree, whose weights are those of the Module.

    policy="dots" keeps the results of products, policy="names" the values that checkpoint_name(x, name) marked with one
    of the names, "everything" all values. Operations are recomputed; Python code runs once. What a Module assigns to its
    attributes, such as running statistics, reaches the Module that was passed. Also a decorator.

    >>> plait.grad(plait.remat(lambda x: plait.sum(plait.sin(plait.sin(x)))))(plait.tensor([0.0, 1.0]))
    [1.         0.36003947] : f32[2]
    """
    if function is None:
        return functools.partial(remat, policy=policy, names=names)
    if is_tree(function):
        return Applied(function, How("remat", _remat_of_tree, {"policy": policy, "names": tuple(names)}))

    @functools.wraps(function)
    def rematerialised(*arguments, **keywords):
        return _remat(function, arguments, keywords, policy, names)

    return rematerialised


def _remat_of_tree(tree, arguments, keywords, policy, names):
    return _remat(lambda tree, *arguments, **keywords: tree(*arguments, **keywords), (tree, *arguments), keywords, policy, names, tree)


def _remat(function, arguments, keywords, policy, names, of_tree=None):
    leaves, structure = _tensors(arguments)
    expect_made("remat: an argument", structure)
    once, structures = distinct(leaves), []

    def of_list(given):
        handed = Handed(structure, once.spread(given))
        result = function(*handed.tree, **keywords)
        changes = handed.reassigned("remat", result)
        results, found = _tensors((result, [change.value for change in changes]))
        once_found = distinct(results)
        structures.append((found, once_found, changes))
        return once_found.take()

    with Recording("remat", [function if of_tree is None else of_tree], named(arguments, keywords, of_tree)):
        results = _core._remat(of_list, once.values, policy, list(names))
    found, once_found, changes = structures[0]
    result, values = found.unflatten(once_found.spread(results))
    for change, value in zip(changes, values):
        change.apply(arguments, value)
    return result
