"""Names of tensors that are changed by a function or by patterns."""

import collections

from plait import errors
from plait.inside.help.names import in_words, nearest

_MOST = 8  # names that an error lists


def renamed(what, names, rename):
    """The new name for each name, None for those that are dropped. `rename` is a function, or a dict of patterns, {"transformer.*": "*"}.
    ValueError if two get one name."""
    if rename is None:
        return {name: name for name in names}
    if not isinstance(rename, dict) and not callable(rename):
        raise errors.TypeError(f"{what}: rename is {in_words(rename)}, expected a dict of patterns, or a function of names")
    of = _of_patterns(what, rename, names) if isinstance(rename, dict) else rename
    made = {name: of(name) for name in names}
    twice = [name for name, count in collections.Counter(made.values()).items() if count > 1 and name is not None]
    if twice:
        raise errors.ValueError(f"{what}: rename gives the name {twice[0]!r} to {[name for name in made if made[name] == twice[0]]}")
    return made


def _of_patterns(what, patterns, names):
    """A function of names: the first pattern that matches applies, and its * stands for the same text in the new name."""
    import re

    rules = [(re.compile("(.*)".join(map(re.escape, pattern.split("*"))) + r"\Z"), new) for pattern, new in patterns.items()]
    for pattern, (rule, _) in zip(patterns, rules):
        if not any(map(rule.match, names)):
            near = nearest(pattern, names, 0.3)
            raise errors.ValueError.with_hint(f"{what}: no name of the state matches {pattern!r} of rename", f"did you mean {near}?" if near
                                              else f"there are {', '.join(names[:_MOST]) or 'none'}")

    def renamed(name):
        for rule, new in rules:
            found = rule.match(name)
            if found:
                parts = iter(found.groups())
                return new if new is None else "".join(next(parts, "") if each == "*" else each for each in re.split(r"(\*)", new))
        return name

    return renamed
