"""Modules that are imported on first use: most take longer to import than all of Plait."""

import importlib


class Later:
    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)
        return value
