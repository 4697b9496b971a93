"""Groups of weights with numbers and options of their own, chosen by patterns over paths."""

from plait import _core, errors
from plait.inside.help.names import in_words, of_assignment
from plait.inside.optimizers.numbers import ABOVE_ONE, TINY, is_known, number
from plait.inside.trees.module import Module
from plait.inside.trees.patterns import as_patterns, chosen, matches

INF = float("inf")
LIMITS = {"betas": (0.0, 1.0), "alpha": (-INF, INF), "dampening": (-INF, INF), "t0": (-INF, INF), "ns_coefficients": (-INF, INF),
          "beta2_decay": (-INF, TINY), "rho": (0.0, ABOVE_ONE), "momentum": (0.0, ABOVE_ONE)}  # the others: 0 or more
OF_CLASSES = {("RMSprop", "alpha"): (0.0, 1.0), ("Adafactor", "d"): (1.0, INF)}
LENGTHS = {"betas": 2, "etas": 2, "step_sizes": 2, "ns_coefficients": 3}  # lengths of tuples
ORDERS = {"etas": (lambda less, more: 0 < less < 1 < more, "a number from 0 to 1, and one above 1"),
          "step_sizes": (lambda least, most: least <= most, "the least one, then the greatest one")}


def as_numbers(kind, name, value, label=None):
    """The value of an attribute that has a number, or several, as tensors and schedules: of optimizers of a class, or of their groups. `label` names
    it in errors."""
    label = label or f"{kind.__name__}: {name}"
    limits = next((OF_CLASSES[key] for key in ((each.__name__, name) for each in kind.__mro__) if key in OF_CLASSES), LIMITS.get(name, (0.0, INF)))
    if name not in kind._lengths:
        return number(label, value, *limits)
    length = kind._lengths[name]
    if not isinstance(value, (list, tuple)) or len(value) != length:
        raise errors.TypeError(f"{label} is {in_words(value)}, expected {'two' if length == 2 else 'three'} numbers")
    made = tuple(each if each is None and name == "eps" else number(f"{label}[{i}]", each, *limits) for i, each in enumerate(value))
    is_ordered, expected = ORDERS.get(name, (None, ""))
    if is_ordered is not None and all(isinstance(each, _core.Tensor) and is_known(each) for each in made) and not is_ordered(*map(_item, made)):
        raise errors.ValueError(f"{label} is {in_words(value)}, expected {expected}")
    return made


def _item(x):
    return x.item()


def is_zero(value):
    """True if a number is 0 in the Python code."""
    if hasattr(value, "item") and not isinstance(value, _core.Tensor) and not getattr(value, "shape", ()):
        value = value.item()  # NumPy's
    return isinstance(value, (int, float)) and value == 0


class Group(Module):
    """The weights whose paths match the patterns `params`, and the numbers and options in which they differ from the others."""

    _zeros = ()
    _known = {"params"}  # with the numbers and options of all optimizers

    def __init__(self, given, optimizer, what):
        object.__setattr__(self, "_of_optimizer", type(optimizer))
        _keep_zeros(self, [name for name in self._optional
                           if (is_zero(given[name]) if name in given else name in optimizer._zeros)])
        for name, value in given.items():
            self._assign(name, value, f"{what}: {name}")

    def __setattr__(self, name, value):
        self._assign(name, value, f"{self._of_optimizer.__name__}: the group's {name}")

    def _assign(self, name, value, label):
        """Assigns what the optimizer's own attribute of this name may be."""
        kind = self._of_optimizer
        if name == "params":
            patterns = as_patterns(label, value)
            value = value if isinstance(value, str) else patterns
        elif name in kind._numbers:
            set_zero(label, self, name, value)
            value = as_numbers(kind, name, value, label)
        elif name in kind._options:
            kind._expect_option(name, value, label)
        else:
            raise of_assignment(self, name, ("params", *kind._numbers, *kind._options))
        super().__setattr__(name, value)

    def __repr__(self):
        return f"Group({', '.join(f'{name}={_shown(value)}' for name, value in vars(self).items() if not name.startswith('_'))})"

    @property
    def _optional(self):
        return self._of_optimizer._optional

    def patterns(self):
        return as_patterns("the group", self.params)


def _shown(value):
    """A value as Python shows it. A number that is being recorded is not read for this."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return f"{value.dtype.name}[]" if isinstance(value, _core.Tensor) and value.is_traced else repr(value)


def set_zero(label, holder, name, value, is_made=True):
    """Notes an optional number that is 0 in the Python code when the optimizer is made. It stays 0, as there is no state for it."""
    if name not in holder._optional:
        return
    if not is_made:
        _keep_zeros(holder, [*holder._zeros, *([name] if is_zero(value) else [])])
    elif name in holder._zeros and not is_zero(value):
        raise errors.ValueError.with_hint(f"{label} was 0 when the optimizer was made, which has no state for it",
                                          f"pass {name}= to the class; {name}=plait.tensor(0.0) may be set to another number later")


def _keep_zeros(holder, names):
    if tuple(names) != holder._zeros:
        object.__setattr__(holder, "_zeros", tuple(names))


def groups_from(optimizer, given, names):
    """The groups of an optimizer, checked. `names` are those of each weight: several if it is at several places."""
    name, numbers = type(optimizer).__name__, optimizer._numbers
    if not isinstance(given, (list, tuple)):
        raise errors.TypeError.with_hint(f"{name}: groups is {in_words(given)}, expected a list", _EXAMPLE)
    made, paths = [], [path for several in names.values() for path in several]
    for i, each in enumerate(given):
        what = f"{name}: groups[{i}]"
        expect_group(what, each, (*numbers, *optimizer._options), paths)
        made.append(Group(each, optimizer, what))
    group_of(name, made, names)
    return made


def expect_matches(name, groups, paths):
    """ValueError for a pattern of a group that matches no path, as one that was assigned."""
    for i, group in enumerate(groups):
        chosen(f"{name}: groups[{i}].params", group.patterns(), paths)


_EXAMPLE = 'groups=[{"params": "*.bias", "weight_decay": 0.0}]'


def expect_model(name, params):
    """TypeError for the groups of another library instead of a model."""
    if isinstance(params, (list, tuple)) and params and all(isinstance(each, dict) and "params" in each for each in params):
        if any(isinstance(each["params"], str) or each.keys() & Group._known - {"params"} for each in params):
            raise errors.TypeError.with_hint(f"{name}: the first argument is a list of groups, expected the model", 'groups are named by '
                                             f'patterns: {name}(model, groups=[{{"params": "0.*", "lr": 1e-2}}])')


def expect_group(what, given, allowed, paths):
    """Errors for a group that is not a dict, has patterns that match nothing, or unknown options."""
    if not isinstance(given, dict) or "params" not in given:
        raise errors.TypeError.with_hint(f"{what} is {in_words(given)}, expected a dict with 'params'", _EXAMPLE)
    chosen(what, as_patterns(f"{what}: params", given["params"]), paths, "weight")
    for each in given.keys() - {"params", *allowed}:
        raise errors.TypeError(f"{what}: unknown option {each!r}; the options are {', '.join(allowed)}")


def group_of(name, groups, names):
    """{path: the index of its group}, None for weights that are in no group. A weight is in a group if one of its names is."""
    patterns, found = [group.patterns() for group in groups], {}
    for path, several in names.items():
        matching = [i for i, each in enumerate(patterns) if any(matches(one, each) for one in several)]
        if len(matching) > 1:
            also = f", as {' and '.join(several[1:])}," if len(several) > 1 else ""
            raise errors.ValueError(f"{name}: {path}{also} is in two groups: groups[{matching[0]}] and groups[{matching[1]}]")
        found[path] = matching[0] if matching else None
    return found
