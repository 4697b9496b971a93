"""The tensors of a model by name: reading, loading and freezing them."""

from plait import _core, errors
from plait.inside.arrays.interop import asarray
from plait.inside.help.names import in_words, nearest
from plait.inside.help.unused import expect_model_used
from plait.inside.optimizers.numbers import is_known
from plait.inside.trees.buffers import MARK, Names, of_structure
from plait.inside.trees.given import expect_tree
from plait.inside.trees.module import FROZEN, Module, copy_of
from plait.inside.trees.patterns import as_patterns, chosen, expect_distinct, matches
from plait.inside.trees.renaming import renamed
from plait.inside.trees.sharing import distinct
from plait.tree import flatten


def state(model, *, buffers=True, frozen=True):
    """The tensors of a model by name, weights and buffers: {"0.weight": …}. Without buffers those are left out, and without frozen the
    weights that are frozen; both give the weights that are trained.

    >>> model = plait.nn.Sequential(plait.nn.Linear(2, 3), plait.nn.BatchNorm1d(3))
    >>> list(plait.nn.state(model))
    ['0.weight', '0.bias', '1.weight', '1.bias', '1.running_mean', '1.running_var', '1.num_batches_tracked']
    >>> list(plait.nn.state(plait.nn.freeze(model, "0.*"), buffers=False, frozen=False))
    ['1.weight', '1.bias']
    """
    leaves, structure = flatten(model)
    expect_tree("nn.state: the model", model, structure)
    expect_distinct("nn.state", structure.paths)
    left_out = of_structure(structure, (*(() if buffers else (MARK,)), *(() if frozen else (FROZEN,))))
    return {path: asarray(leaf) for path, leaf, is_left_out in zip(structure.paths, leaves, left_out) if not is_left_out}


def load_state(model, state, *, rename=None, missing=(), superfluous=()):
    """The model with the tensors of a state, {name: tensor or array}, converted to its dtypes. Numbers that a dtype does not have are an
    error: fractions in integers, and what is above the largest number. Floating-point numbers are rounded.

    Names and shapes must agree: otherwise an error lists what is missing, superfluous or of another shape, and nothing
    is loaded. `rename` maps the names of the state to those of the model: a function, or a dict of patterns,
    {"transformer.*": "*"}, where None drops a tensor. Names that match the patterns of `missing` may be missing from the state, and
    keep their tensors; those that match `superfluous` may be absent from the model. A pattern that matches no name of the model, or of
    the state, is an error.

    >>> layer = plait.nn.Linear(2, 1)
    >>> layer = plait.nn.load_state(layer, {"fc.weight": [[1.0, 2.0]], "fc.bias": [3.0]}, rename={"fc.*": "*"})
    >>> layer(plait.ones(2))
    [6.] : f32[1]
    """
    leaves, structure = flatten(model)
    expect_tree("nn.load_state: the model", model, structure)
    expect_distinct("nn.load_state", structure.paths)
    missing, superfluous = as_patterns("nn.load_state", missing), as_patterns("nn.load_state", superfluous)
    names = renamed("nn.load_state", list(_expect_state(state)), rename)
    chosen("nn.load_state: missing", missing, structure.paths, "name of the model")
    chosen("nn.load_state: superfluous", superfluous, [name for name in names.values() if name is not None], "name of the state")
    given, wanted = {names[name]: value for name, value in state.items() if names[name] is not None}, dict(zip(structure.paths, leaves))
    tied = _tied_names(structure.paths, leaves)
    absent = [name for name in wanted if not any(each in given for each in tied[name]) and not matches(name, missing)]
    further = [name for name in given if name not in wanted and not matches(name, superfluous)]
    given = {name: _own(name, value) for name, value in given.items() if name in wanted}
    shapes = [name for name, value in given.items() if tuple(value.shape) != tuple(wanted[name].shape)]
    if absent or further or shapes:
        raise _mismatch(wanted, given, absent, further, shapes)
    loaded = {}
    for name in structure.paths:
        values = [given[each] for each in tied[name] if each in given]
        _expect_equal(tied[name], values)
        loaded[name] = loaded[tied[name][0]] if name != tied[name][0] else _loaded(name, wanted[name], values[-1] if values else None)
    expect_model_used("nn.load_state")
    return structure.unflatten([loaded[name] for name in structure.paths])


def _tied_names(names, leaves):
    """For each name, those of the same tensor, which stays one."""
    groups = {}
    for name, leaf in zip(names, leaves):
        groups.setdefault(id(leaf) if isinstance(leaf, _core.Tensor) else name, []).append(name)
    return {name: group for group in groups.values() for name in group}


def _expect_equal(names, values):
    """ValueError if a state has other numbers for one place of a tensor than for another one."""
    for value in values[1:]:
        if value is values[0] or value.is_traced or values[0].is_traced:
            continue
        if not _core.all(_core.logical_or(_core.equal(value, values[0]), _core.not_equal(value, value))).item():
            raise errors.ValueError.with_hint(f"nn.load_state: {' and '.join(names)} are one tensor in the model, but differ in the state",
                                              f"rename={{{names[-1]!r}: None}} leaves one of them out")


def _own(name, value):
    """A tensor that shares no memory with arrays of other libraries, which they may write to."""
    if isinstance(value, _core.Tensor):
        return value
    try:
        return asarray(value, copy=True)
    except (errors.TypeError, errors.ValueError):
        raise errors.TypeError(f"nn.load_state: {name} is {in_words(value)} in the state, expected a tensor, or an array of numbers") from None


def _loaded(name, before, value):
    if value is None:
        return before
    if value.dtype.kind == "complex" and asarray(before).dtype.kind != "complex":
        raise errors.TypeError.with_hint(f"nn.load_state: {name} is {value.dtype.name} in the state, {asarray(before).dtype.name} in the model, which would "
                                         "lose the imaginary parts", "plait.real(x) takes the real parts")
    device = before.device if isinstance(before, _core.Tensor) and not before.is_traced else None
    made = _core.astype(value, asarray(before).dtype, device=device)
    _expect_kept(name, value, made)
    return made


def _expect_kept(name, value, made):
    """ValueError for numbers that the dtype of the model does not have, other than by rounding. Values that are recorded are not compared."""
    if value.dtype == made.dtype or value.is_traced or made.is_traced:
        return
    value = _core.astype(value, value.dtype, device=made.device)
    is_exact = made.dtype.kind in ("integer", "boolean")
    kept = _core.equal(_core.astype(made, value.dtype), value) if is_exact else _core.logical_or(_core.isfinite(made), ~_core.isfinite(value))
    kept = _core.all(kept)
    if is_known(kept) and not kept.item():
        lost = "fractions, or numbers out of its range" if is_exact else "numbers above its largest one"
        dtypes = f"{value.dtype.name} in the state, {made.dtype.name} in the model"
        raise errors.ValueError.with_hint(f"nn.load_state: {name} is {dtypes}, which would lose {lost}",
                                          f"plait.astype(state[{name!r}], plait.{made.dtype.name}) converts it; rename={{{name!r}: None}}, "
                                          f"missing={name!r} keeps the tensor of the model")


def _expect_state(state):
    if hasattr(state, "items") and not hasattr(state, "state_dict"):
        for name in state:
            if not isinstance(name, str):
                raise errors.TypeError(f"nn.load_state: the state has the name {in_words(name)}, expected strings")
        return state
    raise errors.TypeError.with_hint(f"nn.load_state: the state is a {type(state).__name__}, expected a dict of tensors by name",
                                     "pass theirs.state_dict()" if hasattr(state, "state_dict") else "plait.nn.state(model) makes one")


_MOST = 8  # names that an error lists


def _mismatch(wanted, given, absent, further, shapes):
    lines = []
    for names, what, others in (absent, "missing from the state", further), (further, "in the state, but not in the model", absent):
        for name in names[:_MOST]:
            near = nearest(name, others or [])
            lines.append(f"{name} is {what}" + (f"; did you mean {near}?" if near else ""))
        if len(names) > _MOST:
            lines.append(f"{len(names) - _MOST} more are {what}")
    lines += [f"{name} is {list(wanted[name].shape)} in the model, {list(given[name].shape)} in the state" for name in shapes[:_MOST]]
    if len(shapes) > _MOST:
        lines.append(f"{len(shapes) - _MOST} more have another shape")
    hints = ["rename={\"theirs.*\": \"ours.*\"} maps names; missing=[…] and superfluous=[…] name what may differ"] if absent or further else []
    if shapes:
        part = shapes[0].rpartition(".")[0]
        pattern = f"{part}.*" if part else shapes[0]
        hints.append(f'rename={{"{pattern}": None}}, missing="{pattern}" keeps the tensors of the model there')
    return errors.ValueError.with_hint("nn.load_state: the state does not fit the model, and nothing is loaded:\n    " + "\n    ".join(lines),
                                       "; ".join(hints))


# ---- Frozen weights.


def freeze(model, *patterns):
    """The model whose weights with names that match one of the patterns are frozen: no gradient is computed for them, and
    an optimizer that is made of the model has no state for them. One that was made before goes on with the others, and keeps
    what it has for the frozen ones until they are trained again. Without patterns all are. A tensor at several places (tied
    weights) is frozen at all of them; one that is tied to another place later must be frozen there, too.

    >>> model = plait.nn.Sequential(plait.nn.Linear(2, 2), plait.nn.Linear(2, 1))
    >>> model = plait.nn.freeze(model, "0.*")
    >>> gradient = plait.grad(lambda model: plait.sum(model(plait.ones((1, 2)))))(model)
    >>> gradient[0].weight, gradient[1].bias
    (None, [1.] : f32[1])
    """
    return _marked("freeze", model, patterns, lambda before, names: before | names)


def unfreeze(model, *patterns):
    """The model whose weights with names that match one of the patterns are trained again; without patterns all. Buffers stay
    buffers. A tensor at several places (tied weights) is trained again at all of them.

    >>> layer = plait.nn.unfreeze(plait.nn.freeze(plait.nn.Linear(2, 1)), "weight")
    >>> gradient = plait.grad(lambda layer: plait.sum(layer(plait.ones((1, 2)))))(layer)
    >>> gradient.weight, gradient.bias
    ([[1. 1.]] : f32[1, 2], None)
    """
    return _marked("unfreeze", model, patterns, lambda before, names: before - names)


def _marked(what, model, patterns, change):
    made = copy_of(model)
    leaves, structure = flatten(made)
    tied, by_owner = _tied_names(structure.paths, leaves), {}
    named = chosen(f"nn.{what}", as_patterns(f"nn.{what}", patterns or "*"), structure.paths)
    for path in dict.fromkeys(each for path in named for each in tied[path]):
        owner, name = owner_of(what, made, path)
        by_owner.setdefault(id(owner), (owner, []))[1].append(name)
    for owner, names in by_owner.values():
        left = Names(change(getattr(owner, FROZEN), set(names)))
        object.__setattr__(owner, FROZEN, left) if left else vars(owner).pop(FROZEN, None)
    expect_model_used(f"nn.{what}", depth=3)
    return made


def freeze_in(module, name):
    """Freezes a weight of a Module, in place."""
    object.__setattr__(module, FROZEN, Names(getattr(module, FROZEN) | {name}))


def owner_of(what, tree, path):
    """The innermost Module that has a leaf, and the leaf's path in it."""
    found, rest = None, path
    while rest:
        if isinstance(tree, Module):
            found = tree, rest
        child = next(((str(name), child) for name, child in _core._children(tree) or ()
                      if rest == str(name) or rest.startswith(f"{name}.")), None)
        if child is None:
            break
        tree, rest = child[1], rest[len(child[0]) + 1:]
    if found is None:
        raise errors.TypeError.with_hint(f"nn.{what}: {path} is not in a Module", "put it into a plait.Module, or leave it out of what is trained")
    return found


# ---- Calls that change a model.


def call(model, *arguments, **keywords):
    """(model(*arguments), the model after the call), which has the running statistics that the call has computed. The model
    itself is not changed.

    >>> norm = plait.nn.BatchNorm1d(2)
    >>> output, after = plait.nn.call(norm, plait.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> norm.running_mean, after.running_mean
    ([0. 0.] : f32[2], [0.2 0.3] : f32[2])
    """
    leaves, structure = flatten(model)
    once = distinct(leaves)  # copies: the layers may assign into their buffers
    made = structure.unflatten(once.spread([leaf._share() if isinstance(leaf, _core.Tensor) else leaf for leaf in once.values]))
    return made(*arguments, **keywords), made
