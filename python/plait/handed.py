"""What functions that are transformed are handed: trees made anew. One that is changed, and not given back, would be lost."""

from . import errors
from .host_state import changed_keys, contents_of, containers_below


def handed(arguments, name, prefixes=None):
    """Looks at the containers of these arguments, and gives a function of the result, which raises an error where one has
    been changed and is no part of the result."""
    containers = [(names, each, contents_of(each)) for names, each in containers_below(arguments)]

    def expect_unchanged(result):
        changed = [(names, each) for names, each, before in containers if changed_keys(each, before) != []]
        if not changed:
            return
        given_back = {id(each) for _, each in containers_below(result)}
        for names, each in changed:
            if id(each) not in given_back:
                raise errors.ValueError(
                    f"{name} changes a {type(each).__name__} that it was handed, {_path(names)}, which is a copy: the change would "
                    "be lost\n  hint: give it back as part of the result, or work on a copy of it")

    return expect_unchanged


def _path(names):
    """(0, 1, "weight") for the second argument's weight: arg1.weight."""
    if len(names) < 2:
        return "the arguments"
    kind, first, *rest = names
    return ".".join([f"arg{first}" if kind == 0 else str(first), *map(str, rest)])
