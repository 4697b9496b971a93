"""What was meant by a name that is not there."""

import difflib


def nearest(name, names):
    """The one of the names that looks most like it, or None."""
    found = difflib.get_close_matches(name, names, 1)
    return found[0] if found else None
