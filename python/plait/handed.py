"""What functions that are transformed are handed: trees made anew. A change to one that is not given back would be lost."""

from . import errors
from .host_state import changed_keys, containers_below, contents_of


def handed(arguments, name):
    """Looks at the containers of these arguments, by name, and gives a function of the result, which raises an error where
    one has been changed and is no part of the result."""
    containers = [(names, each, contents_of(each)) for path, value in arguments.items()
                  for names, each in containers_below(value, (path,))]

    def expect_unchanged(result):
        changed = [(names, each) for names, each, before in containers if changed_keys(each, before) != []]
        if not changed:
            return
        given_back = {id(each) for _, each in containers_below(result)}
        for names, each in changed:
            if id(each) not in given_back:
                raise errors.ValueError(
                    f"{name} changes a {type(each).__name__} that it was handed, {'.'.join(map(str, names))}, which is a copy: the "
                    "change would be lost\n  hint: give it back as part of the result, or change a copy of your own")

    return expect_unchanged
