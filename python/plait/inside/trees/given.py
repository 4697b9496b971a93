"""Checks of the arguments that transforms and optimizers pass to functions: they must be trees, and must not be
changed."""

import functools
import sys
import types

from plait import _core, errors
from plait.inside.jit.host_code import is_library, module_of
from plait.inside.jit.host_constants import PLAIN
from plait.inside.trees.buffers import Names, of_structure
from plait.inside.trees.module import Module, holds_module, modules_in
from plait.inside.trees.outside import note_handed
from plait.inside.trees.roles import is_parameter
from plait.inside.trees.unmade import Unmade
from plait.tree import leaves_with_paths, structure


def expect_tree(what, tree, form=None):
    """TypeError if something in the tree is not a tree, but holds tensors that could be trained: an object, or a function.
    They would count as constants."""
    _Keepers(tree).expect_none(what, _core._flatten(tree)[1] if form is None else form)


def expect_made(what, form):
    """ValueError if the weights of a layer in the tree are not made yet."""
    for path, value in form._objects():
        if type(value) is Unmade:
            raise value.refused(f"{what}.{path}")


class _Keepers:
    """Constants of a tree that hold tensors."""

    def __init__(self, tree):
        self._tree, self._own, self._seen = tree, None, []

    def expect_none(self, what, form, only_weights=False):
        """Refuses objects that hold tensors. With `only_weights`, as in a function, other tensors are like literals in the code."""
        for path, value in form._objects():
            if type(value) is Names or any(value is each for each in self._seen):
                continue
            self._seen.append(value)
            place = f"{what}{path and '.' + path}"
            if type(value) is Unmade:
                raise value.refused(place)
            kept = kept_by_function(value)
            if kept is not None:
                self._expect_no_weights(place, value, kept)
            elif not only_weights:
                self._expect_no_tensors(place, value)

    def _expect_no_tensors(self, place, value):
        inside, name = _attributes(value), type(value).__name__
        names = [path for path, leaf in leaves_with_paths(inside) if _is_trainable(leaf)]
        if names:
            raise errors.TypeError(f"{place} is a {name}, which is not a tree: its tensors ({_listed(names)}) would count as constants\n"
                                   f"  hint: write class {name}(plait.Module) or plait.tree.register({name}), or keep it outside of the model")
        self.expect_none(place, structure(inside))

    def _expect_no_weights(self, place, function, kept):
        leaves, form = _core._flatten(kept)
        names = [path for path, leaf, is_weight in zip(form.paths, leaves, self._in_modules(kept)) if is_weight or self._is_weight(leaf)]
        if not names:
            return self.expect_none(place, form, only_weights=True)
        name = getattr(function, "__name__", type(function).__name__)
        if hasattr(function, "__self__") and isinstance(kept["self"], Module):
            what, hint = f"is the method {name} of a {type(kept['self']).__name__}", f"call self.{name} in __call__ instead of storing it"
            names = [each.removeprefix("self.") for each in names]
        else:
            what = f"is the function {name}"
            hint = ("write a method instead, or functools.partial(f, layer), which is a tree; an attribute plait.nn.Buffer(layer) is "
                    "not trained")
        raise errors.TypeError.with_hint(f"{place} {what}: the weights that it holds ({_listed(names)}) would count as constants, and not be "
                                         "trained", hint)

    @staticmethod
    def _in_modules(kept):
        """For each leaf that a function holds, whether a Module trains it."""
        found = []
        for value in kept.values():
            leaves, form = _core._flatten(value)
            is_model = holds_module(value)
            found += [is_model and _is_trainable(leaf) and not is_buffer for leaf, is_buffer in zip(leaves, of_structure(form))]
        return found

    def _is_weight(self, leaf):
        """True if it is part of the tree, or is known to an optimizer."""
        if self._own is None:
            self._own = {id(each) for each in _core._flatten(self._tree)[0]}
        return _is_trainable(leaf) and (id(leaf) in self._own or is_parameter(leaf))


def _is_trainable(leaf):
    return isinstance(leaf, _core.Tensor) and leaf.dtype.kind in ("floating", "complex")


def _listed(names):
    return f"{', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"


def kept_by_function(value):
    """The values that a function holds besides its code, by name: its closure and its defaults, and the object of a method. None
    if it is not a function."""
    value = getattr(value, "__wrapped__", value) if isinstance(value, _core._Boundary) else value
    if isinstance(value, types.MethodType) or getattr(type(value), "_is_bound", False):
        owner = value.__self__
        return {"self": owner if _core._children(owner) is not None or isinstance(owner, _core.Tensor) else _attributes(owner)}
    if getattr(type(value), "_is_jitted", False):
        return kept_by_function(value._called) or {}
    if isinstance(value, types.FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or ())
        defaults = enumerate(value.__defaults__ or ())
        return ({name: cell.cell_contents for name, cell in cells if _is_filled(cell)} | {f"default {i}": each for i, each in defaults}
                | dict(value.__kwdefaults__ or {}))
    if callable(value) and module_of(type(value)).split(".")[0] == "plait":
        return {name: each for name, each in vars(value).items() if callable(each)} if hasattr(value, "__dict__") else {}
    return None


def _is_filled(cell):
    try:
        cell.cell_contents
    except ValueError:  # a variable without a value yet
        return False
    return True


def expect_no_leaks(what, result):
    """TypeError if an object that is not a tree holds recorded tensors, which are invalid after the recording."""
    if type(result) is not _core.Tensor:
        _expect_no_leaks(what, "the result", result, set())


def _expect_no_leaks(what, path, value, seen, holder=None):
    if isinstance(value, _core.Tensor):
        if holder is not None and value.is_traced and not _core._is_known(value):
            place, name, hint = holder
            raise errors.TypeError(f"{what}: {place} is a {name}, which is not a tree: it holds a tensor that is being recorded ({path}), which "
                                   f"is invalid afterwards\n  hint: {hint}")
        return
    if type(value) in _PLAIN or id(value) in seen:
        return
    seen.add(id(value))
    children = _core._children(value)
    if children is None:
        children = _held_by(value)
        holder = holder or (path, type(value).__name__, _hint_for(value))
    for name, child in children:
        _expect_no_leaks(what, f"{path}.{name}", child, seen, holder)


_PLAIN = frozenset((*PLAIN, type))


def _held_by(value):
    """(name, value) of the contents of an object, a function or a set."""
    value = value.__wrapped__ if isinstance(value, _core._Boundary) else value
    if isinstance(value, types.FunctionType):
        cells = [(name, cell) for name, cell in zip(value.__code__.co_freevars, value.__closure__ or ()) if cell != types.CellType()]
        return [*((name, cell.cell_contents) for name, cell in cells), *enumerate(value.__defaults__ or ())]
    if isinstance(value, types.MethodType):
        return [("__self__", value.__self__)]
    if isinstance(value, functools.partial):
        return [("func", value.func), *enumerate(value.args), *value.keywords.items()]
    found = dict(getattr(value, "__dict__", ())) if module_of(type(value)).split(".")[0] == "plait" else _attributes(value)
    return enumerate(found) if isinstance(found, list) else found.items()


def _hint_for(value):
    name = type(value).__name__
    if isinstance(value, (set, frozenset)):
        return "return a list or a tuple"
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return "return the tensors themselves, and create the function from them outside"
    return f"write class {name}(plait.Module) or plait.tree.register({name}), or return a tuple"


def place_of(root, *replaced):
    """The text of a path in what a function receives: it begins with `root`, and not with the names in `replaced`."""
    def text(path):
        path = tuple(map(str, path))
        return ".".join((root, *(path[len(replaced):] if path[:len(replaced)] == replaced else path)))

    return text


def place_of_argument(numbers):
    """The same for some of the arguments, which have these numbers."""
    return lambda path: ".".join(map(str, ("the arguments", *(() if not path else (numbers[int(path[0])], *path[1:])))))


_place_of = place_of("the arguments")


class Handed:
    """A copy of a tree with new leaves, as a function receives it. Changes that the function makes to its lists,
    dicts and objects are lost unless it returns them, and so are those of buffers in copies that it makes of its models."""

    def __init__(self, form, leaves, sees_assignments=False, place=_place_of):
        self._place = place  # the text of a path in messages
        self._structure, self._leaves = form, leaves
        self.tree = form.unflatten(leaves)
        # Contents of the tensors, if assignments into them (x[0] = 1) are looked for.
        self._contents = [(leaf, leaf._share()) for leaf in leaves if isinstance(leaf, _core.Tensor)] if sees_assignments else []
        self._in_copies, self._path_of = [], None
        note_handed(self)

    def expect_unchanged(self, what, result):
        """ValueError if the tree was changed in a node that is not part of the result."""
        for change in self._lost(result):
            raise change.error(what)
        assigned = {id(leaf) for leaf, content in self._contents if not _core._is_same(leaf, content)}
        lost = assigned - {id(leaf) for leaf in _core._flatten(result)[0]} if assigned else ()
        for path, leaf in zip(self._structure.paths, self._leaves):
            if id(leaf) in lost:
                place = self._place(tuple(path.split(".") if path else ()))
                raise errors.TypeError.with_hint(f"{what}: the function assigns into {place}, a copy of the caller's tensor: this would be lost",
                                                 "x = x.at[index].set(value) makes a new tensor, which the function may return")

    def call(self, what, function):
        """function(*tree), checked."""
        result = function(*self.tree)
        self.expect_unchanged(what, result)
        return result

    def reassigned(self, what, result):
        """The changes that are not part of the result, if all of them are attributes of Modules that were assigned to: the caller
        makes them on its own Modules, by `Change.apply`. ValueError if there are others."""
        changes = list(self._lost(result))
        for change in changes:
            if change.name is None or not isinstance(change.node, Module) or isinstance(change, ChangeInCopy):
                raise change.error(what)
        return changes

    def is_unchanged(self):
        """True if the tree has the same nodes and leaves as before; the contents of the tensors are not compared."""
        return self.tree is None or self._structure._is_of(self.tree, self._leaves)

    def note(self, module, name):
        """Called before a buffer is assigned to: True if it is one of the tree, whose changes are found in the end, or of a copy, which
        has the same tensor. Those of a copy count if it is called: a function that makes another model of one assigns, too."""
        if self._path_of is None:
            self._path_of = {id(leaf): path for path, leaf in zip(self._structure.paths, self._leaves)}
            self._own = set(map(id, modules_in(self.tree)))
        path = self._path_of.get(id(vars(module).get(name)))
        if path is not None and id(module) not in self._own and _is_called(module):
            self._in_copies.append(ChangeInCopy(tuple(path.split(".")[:-1]), module, name))
        return path is not None or id(module) in self._own

    def _lost(self, result):
        if self._in_copies:
            leaves, nodes = set(map(id, _core._flatten(result)[0])), list(_nodes(result))
            for change in self._in_copies:
                if not change.is_taken(leaves, nodes):
                    change.place = self._place(change.path)
                    yield change
        if self.is_unchanged():
            return
        nodes = list(_nodes(result))
        for change in _changed(self.tree, self._structure.unflatten(self._leaves), ()):
            if not any(change.is_in(node) for node in nodes):
                change.place = self._place(change.path)
                yield change


def _is_called(module):
    """True if a __call__ of the Module is running."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__call__" and code.co_argcount and frame.f_locals.get(code.co_varnames[0]) is module:
            return True
        frame = frame.f_back
    return False


class Copies:
    """Copies of the arguments of a function that is called more or less often than its caller sees, such as one with a custom rule. A
    change that the function makes to them would be lost, and is an error; x[0] = 1 is one even if it returns x."""

    def __init__(self, what, to, form, place=_place_of):
        self._what, self._to, self._form, self._place = what, to, form, place

    def call(self, function, leaves, arguments_of=lambda tree: tree, result_of=lambda returned: returned):
        """function(*arguments_of(tree)), where the tree has these leaves. `result_of`: the part of what it returns that the caller receives."""
        copies = _core._ArgumentCopies(self._to)
        handed = Handed(self._form, [copies.add(leaf) if isinstance(leaf, _core.Tensor) else leaf for leaf in leaves], place=self._place)
        returned = function(*arguments_of(handed.tree))
        handed.expect_unchanged(self._what, result_of(returned))
        return returned


class Change:
    """A node of a tree that was changed: the child `name` was replaced, or children were added or removed (None)."""

    def __init__(self, path, node, name):
        self.path, self.node, self.name, self.place = path, node, name, ""

    @property
    def value(self):
        return dict(_core._children(self.node))[self.name]

    def is_in(self, node):
        """True if a node of the result is the changed one, or another one with the same change: a jitted function returns another model."""
        if node is self.node or self.name is None or type(node) is not type(self.node):
            return node is self.node
        new, theirs = _core._flatten(self.value)[0], dict(_core._children(node)).get(self.name)
        return bool(new) and list(map(id, _core._flatten(theirs)[0])) == list(map(id, new))

    def apply(self, tree, value):
        """Makes the same change in the tree of the caller."""
        for name in self.path:
            tree = dict(_core._children(tree))[name]
        setattr(tree, self.name, value)

    def error(self, what):
        place, kind = self.place, type(self.node).__name__
        if self.name is not None and isinstance(self.node, Module):
            return errors.ValueError(f"{what}: the function changes {place}, a {kind}, whose {self.name} it assigns to: this would be lost, since "
                                     f"the function receives a copy\n  hint: return the model, too: {_how_to_return(what)}")
        return errors.ValueError(f"{what}: the function changes {place}, a {kind}, which would be lost: the function "
                                 "receives a copy\n  hint: return what it changes")


class ChangeInCopy(Change):
    """A buffer that was assigned to in a copy of a model that the function received: model.train()(x), say."""

    def is_taken(self, leaves, nodes):
        """True if the result has the copy, or what it was changed to."""
        return any(node is self.node for node in nodes) or id(vars(self.node).get(self.name)) in leaves

    def error(self, what):
        return errors.ValueError(f"{what}: the function changes a copy of {self.place}, a {type(self.node).__name__}, whose {self.name} it assigns "
                                 f"to: this would be lost\n  hint: {_how_to_return(what)}, where model is the copy; copy.eval() changes nothing")


def _how_to_return(what):
    if what in ("grad", "vjp", "jvp", "linearize"):
        return "return loss, model with has_aux=True"
    if what in ("scan", "while_loop", "for_loop"):
        return "the model is part of the carry that the body returns"
    return "output, model = plait.nn.call(model, x) gives both"


def _nodes(tree):
    children = _core._children(tree)
    if children is not None:
        yield tree
        for _, child in children:
            yield from _nodes(child)


def _changed(now, before, path):
    """The changes of a tree."""
    ours, theirs = _core._children(now), _core._children(before)
    if [name for name, _ in ours] != [name for name, _ in theirs]:
        yield Change(path, now, None)
        return
    for (name, child), (_, earlier) in zip(ours, theirs):
        if type(child) is type(earlier) and _core._children(child) is not None:
            yield from _changed(child, earlier, (*path, name))
        elif child is not earlier and (isinstance(child, _core.Tensor) or structure(child) != structure(earlier)):
            yield Change(path, now, name)


def _attributes(value):
    """The attributes of an object of a user's class, by name, or the elements of a set."""
    if isinstance(value, (set, frozenset)):
        return list(value)
    module = module_of(type(value))
    if isinstance(value, types.ModuleType) or not module or is_library(module):
        return {}
    found = dict(getattr(value, "__dict__", ()))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        found |= {name: getattr(value, name) for name in names if name not in found and hasattr(value, name)}
    return found
