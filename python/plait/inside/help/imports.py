"""The errors of imports of what Plait does not have, as `import plait.nn.functional as F`, with the hints of attributes."""

import sys

from plait import _core, errors


class _Finder:
    """Finds nothing. It is the last that Python asks, so only of what does not exist."""

    @staticmethod
    @_core._boundary
    def find_spec(name, path=None, target=None):
        place, _, last = name.rpartition(".")
        if (place != "plait" and not place.startswith("plait.")) or last.startswith("_"):
            return
        try:
            getattr(sys.modules.get(place), last)
        except errors.AttributeError as error:
            said = str(error)
            if said != f"{place} has no {last!r}":  # there is a hint, or a name that is similar
                refused = errors.ImportError(said)
                refused.name = name
                raise refused from None
        except AttributeError:  # the module has no hints
            return


def add_hints_to_imports():
    sys.meta_path.append(_Finder)
