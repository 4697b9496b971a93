"""Groups of weights with numbers and options of their own, chosen by patterns over paths."""

from plait import _core, errors
from plait.inside.help.names import in_words, of_assignment
from plait.inside.optimizers.numbers import ABOVE_ONE, TINY, is_schedule, number
from plait.inside.trees.module import Module
from plait.inside.trees.patterns import as_patterns, chosen, matches

INF = float("inf")
LIMITS = {"betas": (0.0, 1.0), "alpha": (-INF, INF), "dampening": (-INF, INF), "t0": (-INF, INF), "ns_coefficients": (-INF, INF),
          "beta2_decay": (-INF, TINY), "rho": (0.0, ABOVE_ONE), "momentum": (0.0, ABOVE_ONE), "RMSprop: alpha": (0.0, 1.0)}  # the others: 0 or more
LENGTHS = {"betas": 2, "etas": 2, "step_sizes": 2, "ns_coefficients": 3}  # lengths of tuples
STATIC = ("params", "ns_steps")  # integers that are part of the structure


def as_numbers(what, name, value, lengths=LENGTHS):
    """The value of an attribute that has a number, or several, as tensors and schedules."""
    limits = LIMITS.get(f"{what}: {name}", LIMITS.get(name, (0.0, INF)))
    if name not in lengths:
        return number(f"{what}: {name}", value, *limits)
    if not isinstance(value, (list, tuple)) or len(value) != lengths[name]:
        raise errors.TypeError(f"{what}: {name} is {value!r}, expected {'two' if lengths[name] == 2 else 'three'} numbers")
    return tuple(each if each is None and name == "eps" else number(f"{what}: {name}[{i}]", each, *limits) for i, each in enumerate(value))


def _is_numeric(value):
    if isinstance(value, (list, tuple)):
        return all(each is None or _is_numeric(each) for each in value)
    return isinstance(value, (int, float, _core.Tensor)) and not isinstance(value, bool) or is_schedule(value)


def is_zero(value):
    """True if a number is 0 in the Python code."""
    return isinstance(value, (int, float)) and value == 0


class Group(Module):
    """The weights whose paths match the patterns `params`, and the numbers and options in which they differ from the others."""

    _zeros = ()
    _known = {"params"}  # with the numbers and options of all optimizers

    def __init__(self, given, optimizer):
        object.__setattr__(self, "_of_optimizer", type(optimizer))
        _keep_zeros(self, [name for name in self._optional
                           if (is_zero(given[name]) if name in given else name in optimizer._zeros)])
        for name, value in given.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name not in self._known:
            raise of_assignment(self, name, self._known)
        if name not in STATIC and _is_numeric(value):
            set_zero("the group", self, name, value)
            value = as_numbers("the group", name, value, {name: len(value)} if isinstance(value, (list, tuple)) else {})
        super().__setattr__(name, value)

    def __repr__(self):
        return f"Group({', '.join(f'{name}={_shown(value)}' for name, value in vars(self).items() if not name.startswith('_'))})"

    @property
    def _optional(self):
        return self._of_optimizer._optional

    def matches(self, path):
        return matches(path, as_patterns("the group", self.params))


def _shown(value):
    """A value as Python shows it. A number that is being recorded is not read for this."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return f"{value.dtype.name}[]" if isinstance(value, _core.Tensor) and value.is_traced else repr(value)


def set_zero(what, holder, name, value, is_made=True):
    """Notes an optional number that is 0 in the Python code when the optimizer is made. It stays 0, as there is no state for it."""
    if name not in holder._optional:
        return
    if not is_made:
        _keep_zeros(holder, [*holder._zeros, *([name] if is_zero(value) else [])])
    elif name in holder._zeros and not is_zero(value):
        raise errors.ValueError.with_hint(f"{what}: {name} was 0 when the optimizer was made, which has no state for it",
                                          f"pass {name}= to the class; {name}=plait.tensor(0.0) may be set to another number later")


def _keep_zeros(holder, names):
    if tuple(names) != holder._zeros:
        object.__setattr__(holder, "_zeros", tuple(names))


def groups_from(optimizer, given, paths):
    """The groups of an optimizer, checked."""
    name, numbers = type(optimizer).__name__, optimizer._numbers
    if not isinstance(given, (list, tuple)):
        raise errors.TypeError.with_hint(f"{name}: groups is {in_words(given)}, expected a list", _EXAMPLE)
    made = []
    for i, each in enumerate(given):
        what = f"{name}: groups[{i}]"
        expect_group(what, each, (*numbers, *optimizer._options), paths)
        for option in each.keys() & set(numbers):
            as_numbers(what, option, each[option], optimizer._lengths)
        made.append(Group({**each, "params": each["params"] if isinstance(each["params"], str) else tuple(each["params"])}, optimizer))
    group_of(name, made, paths)
    return made


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


def group_of(name, groups, paths):
    """{path: the index of its group}, None for weights that are in no group."""
    found = {}
    for path in paths:
        matching = [i for i, group in enumerate(groups) if group.matches(path)]
        if len(matching) > 1:
            raise errors.ValueError(f"{name}: {path} is in two groups: groups[{matching[0]}] and groups[{matching[1]}]")
        found[path] = matching[0] if matching else None
    return found
