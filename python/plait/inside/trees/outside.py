"""Modules that a function changes while it is recorded, without having received them: the recording is told of each attribute that is
assigned to."""

import threading


class _Innermost(threading.local):
    recording = None  # a Recording (transforms/recording.py)


innermost = _Innermost()


def note_change(module):
    """Called before an attribute of a Module is assigned to or deleted."""
    if innermost.recording is not None:
        innermost.recording.note(module, vars(module))
