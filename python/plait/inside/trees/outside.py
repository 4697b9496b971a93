"""Modules that a function changes without having received them: the recording, and the trees that the function received, are told of
each attribute that is assigned to."""

import threading
import weakref


class _Innermost(threading.local):
    recording = None  # a Recording (transforms/recording.py)

    def __init__(self):
        self.handed = []  # weak references to trees that functions received (trees/given.py), outermost first


innermost = _Innermost()


def note_handed(tree):
    """Called when a function receives a tree, until it is freed."""
    innermost.handed = [each for each in innermost.handed if each() is not None]
    innermost.handed.append(weakref.ref(tree))


def note_change(module, name):
    """Called before an attribute of a Module is assigned to or deleted."""
    if innermost.recording is not None:
        innermost.recording.note(module, vars(module))
    if name in module._buffers:
        for each in reversed(innermost.handed):
            tree = each()
            if tree is not None and tree.note(module, name):
                return
