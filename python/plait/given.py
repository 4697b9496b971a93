"""What functions under transforms and optimizers are given: trees, and nothing that only looks like one."""

import functools
import sys
import types

from . import _core, errors
from .host_code import module_of
from .tree import leaves_with_paths, structure


def expect_tree(what, tree, form=None):
    """TypeError where an object that is no tree keeps tensors that could be trained: they would count as constants."""
    _expect_tree(what, _core._flatten(tree)[1] if form is None else form, [])


def _expect_tree(what, form, seen):
    for path, value in form._objects():
        if any(value is each for each in seen):
            continue
        seen.append(value)
        inside, name = _attributes(value), type(value).__name__
        place = f"{what}{path and '.' + path}"
        names = [path for path, leaf in leaves_with_paths(inside)
                 if isinstance(leaf, _core.Tensor) and leaf.dtype.kind in ("floating", "complex")]
        if names:
            raise errors.TypeError(f"{place} is a {name}, which is no tree: its tensors ({', '.join(names[:4])}"
                                   f"{', ...' if len(names) > 4 else ''}) would count as constants\n"
                                   f"  hint: write class {name}(plait.Module) or plait.tree.register({name}), or keep it outside of the model")
        _expect_tree(place, structure(inside), seen)


def expect_no_leaks(what, result):
    """TypeError where an object that is no tree keeps tensors of what is recorded, which mean nothing when that is over."""
    if type(result) is not _core.Tensor:
        _expect_no_leaks(what, "the result", result, set())


def _expect_no_leaks(what, path, value, seen, holder=None):
    if isinstance(value, _core.Tensor):
        if holder is not None and value.is_traced and not _core._is_known(value):
            place, name, hint = holder
            raise errors.TypeError(f"{what}: {place} is a {name}, which is no tree: it keeps a tensor that is being recorded ({path}), and means "
                                   f"nothing afterwards\n  hint: {hint}")
        return
    if type(value) in _PLAIN or id(value) in seen:
        return
    seen.add(id(value))
    children = _core._children(value)
    if children is None:
        children = _held_by(value)
        holder = holder or (path, type(value).__name__, _way_out(value))
    for name, child in children:
        _expect_no_leaks(what, f"{path}.{name}", child, seen, holder)


_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None), type))


def _held_by(value):
    """(name, value) of what an object, a function or a set holds."""
    value = value.__wrapped__ if isinstance(value, _core._Boundary) else value
    if isinstance(value, types.FunctionType):
        cells = [(name, cell) for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()) if cell != types.CellType()]
        return [*((name, cell.cell_contents) for name, cell in cells), *enumerate(value.__defaults__ or ())]
    if isinstance(value, types.MethodType):
        return [("__self__", value.__self__)]
    if isinstance(value, functools.partial):
        return [("func", value.func), *enumerate(value.args), *value.keywords.items()]
    found = dict(getattr(value, "__dict__", ())) if module_of(type(value)).startswith("plait.") else _attributes(value)
    return enumerate(found) if isinstance(found, list) else found.items()


def _way_out(value):
    name = type(value).__name__
    if isinstance(value, (set, frozenset)):
        return "give a list or a tuple"
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return "give the tensors themselves, and make the function of them outside"
    return f"write class {name}(plait.Module) or plait.tree.register({name}), or give a tuple"


class Handed:
    """A tree as a function is given it, made anew of these leaves: what the function changes in its lists, dicts and objects
    would be lost, unless it gives them back."""

    def __init__(self, form, leaves):
        self._structure, self._leaves = form, leaves
        self.tree = form.unflatten(leaves)

    def expect_unchanged(self, what, result):
        """ValueError where it is another tree by now, in a node that is none of the result's."""
        if self._structure._is_of(self.tree, self._leaves):
            return
        given_back = {id(node) for node in _nodes(result)}
        for path, node in _changed(self.tree, self._structure.unflatten(self._leaves), "the arguments"):
            if id(node) not in given_back:
                raise errors.ValueError(f"{what}: the function changes {path}, a {type(node).__name__}, which would be lost: what it is given "
                                        "is a copy\n  hint: let it return what it changes")


def _nodes(tree):
    children = _core._children(tree)
    if children is not None:
        yield tree
        for _, child in children:
            yield from _nodes(child)


def _changed(now, before, path):
    """(path, node) for each node that has other entries than before."""
    ours, theirs = _core._children(now), _core._children(before)
    if [name for name, _ in ours] != [name for name, _ in theirs]:
        yield path, now
        return
    for (name, child), (_, earlier) in zip(ours, theirs):
        if type(child) is type(earlier) and _core._children(child) is not None:
            yield from _changed(child, earlier, f"{path}.{name}")
        elif child is not earlier and (isinstance(child, _core.Tensor) or structure(child) != structure(earlier)):
            yield path, now
            return


def _attributes(value):
    """What an object of a user's class keeps, by name, or the elements of a set."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    module = module_of(type(value))
    if isinstance(value, types.ModuleType) or not module or module.split(".")[0] in _OTHERS:
        return {}
    found = dict(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        found |= {name: getattr(value, name) for name in names if name not in found and hasattr(value, name)}
    return found


_OTHERS = sys.stdlib_module_names | {"plait", "numpy"}
