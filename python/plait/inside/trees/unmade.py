"""Weights that wait for the first input of a layer."""

from plait import errors


class Unmade:
    """Stands in a lazy layer for its weights, and has the arguments that make them."""

    __slots__ = ("layer", "arguments", "named")

    def __init__(self, layer, arguments, named):
        self.layer, self.arguments, self.named = layer, arguments, named

    def __repr__(self):
        return "weights made at the first call"

    def refused(self, place=None):
        """The error for a transform that meets the layer."""
        place = place and place.removesuffix("_unmade").removesuffix(".")
        where = f"{place} is an nn.{self.layer} whose weights" if place else f"nn.{self.layer}: its weights"
        return errors.ValueError.with_hint(f"{where} are made at its first call, which must not be in a transform",
                                           "call the model once before, on an input of the right size")
